"""A person keeps a library from the command line: brings things in, finds them, takes them out, takes that back."""

import gzip
import json

import pytest
import trimesh

from studio.__main__ import main


@pytest.fixture(autouse=True)
def library(tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trimesh.creation.box([0.1, 0.1, 0.3]).export(tmp_path / "gizmo.stl")
    told = ["--name", "quibble gizmo", "--caption", "a gizmo with three knobs", "--licence", "CC0"]
    assert main(["library", "add", str(tmp_path / "gizmo.stl"), *told]) == 0
    return tmp_path / "library"


def ids(capsys, *words):
    capsys.readouterr()
    assert main(["library", "search", *words]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_what_was_brought_in_is_found_by_words_size_kind_and_licence(capsys):
    assert ids(capsys, "quib") == ids(capsys, "knobs", "gizmo") == ["gizmo"]
    assert ids(capsys, "gizmo", "--size", "25", "35") == ["gizmo"] == ids(capsys, "gizmo", "--licence", "cc0")
    assert not ids(capsys, "gizmo", "--size", "1", "5") and not ids(capsys, "gizmo", "--articulated")
    assert len(ids(capsys, "--category", "mug")) >= 2  # the studio's own


def test_a_thing_that_is_called_as_one_of_the_studios_is_found_beside_it(tmp_path, capsys):
    trimesh.creation.box([0.05, 0.05, 0.25]).export(tmp_path / "hammer.stl")
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--units", "m"]) == 0
    assert {"hammer", "hammer_2"} <= set(ids(capsys, "hammer"))
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--id", "hammer"]) == 2
    assert "take another" in capsys.readouterr().err


def test_all_that_a_library_folder_holds_is_looked_at_and_kept(library, monkeypatch, capsys):
    looked = []
    monkeypatch.setattr("pipeline.assets.features.learnt", lambda assets, *_: looked.extend(assets) or looked)
    assert main(["library", "look", "--to", str(library)]) == 0
    assert "gizmo" in [asset.id for asset in looked] and f"{len(looked)} assets" in capsys.readouterr().out


def test_an_own_asset_is_taken_out_and_brought_back(capsys):
    assert main(["library", "remove", "gizmo"]) == 0
    assert not ids(capsys, "gizmo")
    assert main(["library", "undo"]) == 0
    assert ids(capsys, "gizmo") == ["gizmo"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["remove"], "name one asset"),
        (["remove", "gizmo", "--pack", "libero"], "name one asset"),
        (["remove", "red_mug"], 'no asset "red_mug"'),
        (["remove", "--pack", "own"], "no pack own"),
        (["remove", "--pack", "../library"], "no pack"),
        (["search", "--like", "nowhere.png"], "no picture"),
        (["install", "objaverse:mug"], "no id of Objaverse"),
        (["install", "toys"], "there is no pack toys"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(capsys, asked, told):
    capsys.readouterr()
    assert main(["library", *asked]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def test_a_pack_is_taken_out_as_a_whole(library):
    (library / "toys" / "a").mkdir(parents=True)
    assert main(["library", "remove", "--pack", "toys"]) == 0
    assert not (library / "toys").exists() and (library / "own" / "gizmo").exists()


def test_a_thing_of_objaverse_is_installed_after_its_terms_were_told(library, tmp_path, monkeypatch, capsys):
    uid, top = "ab" * 16, tmp_path / "objaverse"
    (top / "metadata").mkdir(parents=True)
    (top / "glbs" / "a").mkdir(parents=True)
    trimesh.creation.box([0.1, 0.2, 0.1]).export(top / "glbs" / "a" / f"{uid}.glb")
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps({uid: f"glbs/a/{uid}.glb"}).encode()))
    (top / "metadata" / "a.json.gz").write_bytes(
        gzip.compress(json.dumps({uid: {"name": "Crate", "license": "by"}}).encode())
    )
    monkeypatch.setenv("GRS_OBJAVERSE", top.as_uri())
    capsys.readouterr()
    assert main(["library", "install", f"objaverse:{uid}"]) == 0
    told = capsys.readouterr()
    assert "its author must be named" in told.err and "CC BY 4.0" in told.out
    assert (library / "objaverse" / "objaverse_abababab" / "mesh.obj").exists()
