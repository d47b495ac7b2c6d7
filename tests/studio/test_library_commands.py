"""The user's library on the command line: import, search, remove and undo."""

import shutil

import pytest
import trimesh

from studio.__main__ import main
from tests.assets.test_packs import UID, served  # noqa: F401  (a fixture)


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A user's library with one imported asset."""
    folder = tmp_path_factory.mktemp("imported")
    trimesh.creation.box([0.1, 0.1, 0.3]).export(folder / "gizmo.stl")
    options = ["--name", "quibble gizmo", "--caption", "a gizmo with three knobs", "--licence", "CC0"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRS_LIBRARY", str(folder / "library"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["library", "add", str(folder / "gizmo.stl"), *options]) == 0
    return folder / "library"


@pytest.fixture(autouse=True)
def library(imported, tmp_path, monkeypatch):
    """A copy of it, in use."""
    monkeypatch.setenv("GRS_LIBRARY", str(tmp_path / "library"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(imported.parent / "cache"))
    return shutil.copytree(imported, tmp_path / "library")


def ids(capsys, *words):
    capsys.readouterr()
    assert main(["library", "search", *words]) == 0
    return [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_an_imported_asset_is_found_by_words_size_category_and_licence(capsys):
    assert ids(capsys, "quib") == ids(capsys, "knobs", "gizmo") == ["gizmo"]
    assert ids(capsys, "gizmo", "--size", "25", "35") == ["gizmo"] == ids(capsys, "gizmo", "--licence", "cc0")
    assert not ids(capsys, "gizmo", "--size", "1", "5") and not ids(capsys, "gizmo", "--articulated")
    assert len(ids(capsys, "--category", "mug")) >= 2  # the studio's own


def test_an_imported_asset_with_a_taken_name_is_listed_beside_it(tmp_path, capsys):
    trimesh.creation.box([0.05, 0.05, 0.25]).export(tmp_path / "hammer.stl")
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--units", "m"]) == 0
    assert {"hammer", "hammer_2"} <= set(ids(capsys, "hammer"))
    assert main(["library", "add", str(tmp_path / "hammer.stl"), "--id", "hammer"]) == 2
    assert "choose another" in capsys.readouterr().err


@pytest.mark.parametrize("is_zip", [False, True])
def test_a_model_is_imported_and_the_meshes_beside_it_that_it_does_not_name_are_said(tmp_path, capsys, is_zip):
    source = tmp_path / "chest"
    (source / "meshes").mkdir(parents=True)
    for name in ("base", "lid", "variant"):
        trimesh.creation.box([0.1, 0.1, 0.1]).export(source / "meshes" / f"{name}.stl")
    link = '<visual><geometry><mesh filename="package://chest/{}.stl"/></geometry></visual>'
    parts = link.format("meshes/base") + link.format("lid")
    (source / "chest.urdf").write_text(f'<robot name="chest"><link name="chest">{parts}</link></robot>')
    given = shutil.make_archive(str(tmp_path / "drop"), "zip", source) if is_zip else str(source)
    assert main(["library", "add", given]) == 0
    out = capsys.readouterr().out
    assert "[1/1] chest:" in out and "no model names variant.stl, left out; add the files themselves" in out


def test_the_features_of_a_library_folder_are_computed_and_saved(library, monkeypatch, capsys):
    looked, features = [], "pipeline.assets.appearance.features.asset_features"
    monkeypatch.setattr(features, lambda assets, *_: looked.extend(assets) or looked)
    assert main(["library", "look", "--to", str(library)]) == 0
    assert "gizmo" in [asset.id for asset in looked] and f"{len(looked)} assets" in capsys.readouterr().out


def test_assets_are_described_by_measured_words_offline_and_a_persons_words_come_first(library, tmp_path, capsys):
    command = ["library", "describe", "--library", str(library / "own"), "--to", str(tmp_path), "--model", "offline"]
    assert main(command) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("gizmo ")]
    assert " cm [measured]" in line
    assert main([*command, "--set", "gizmo", "A thing of mine."]) == main(command) == 0
    assert "A thing of mine. [human]" in capsys.readouterr().out
    assert main([*command, "--set", "nothing", "words"]) == 2


def test_an_asset_of_the_user_is_removed_and_restored_and_a_pack_removed_completely(capsys, library):
    assert main(["library", "remove", "gizmo"]) == 0
    assert not ids(capsys, "gizmo")
    assert main(["library", "undo"]) == 0
    assert ids(capsys, "gizmo") == ["gizmo"]
    (library / "toys" / "a").mkdir(parents=True)
    assert main(["library", "remove", "--pack", "toys"]) == 0
    assert main(["library", "remove", "--pack", "own"]) == 2, "which is no pack"
    assert not (library / "toys").exists() and (library / "own" / "gizmo").exists()
