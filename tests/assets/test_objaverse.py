"""One item of Objaverse by its id, from a stand-in for its server: its terms first, and only then the item."""

import gzip
import json
import threading
from pathlib import Path

import pytest
import trimesh
from http_server import serving

from pipeline.assets import AssetError
from pipeline.assets.importers.asset_import import import_asset
from pipeline.assets.packs.objaverse import download_object, look_up_object, parse_uid
from pipeline.assets.packs.objaverse_import import import_objaverse

UID = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def private_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def served(tmp_path) -> Path:
    top = tmp_path / "objaverse"
    (top / "glbs" / "000-001").mkdir(parents=True)
    (top / "metadata").mkdir()
    trimesh.creation.box((0.08, 0.05, 0.1)).export(top / "glbs" / "000-001" / f"{UID}.glb")
    paths = {UID: f"glbs/000-001/{UID}.glb", "f" * 32: "../../etc/passwd"}
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps(paths).encode()))
    user = {"displayName": "Ada", "username": "ada7"}
    about = {UID: {"name": "Tea tin", "license": "by-nc", "user": user, "archives": {"glb": {"size": 1234}}}}
    (top / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top


def test_an_object_is_imported_by_its_id_or_page_with_its_name_author_and_licence(served, tmp_path):
    item = look_up_object(UID, served.as_uri())
    assert (item.name, item.size) == ("Tea tin", 1234) and "not for commercial use" in item.terms
    assert not list(tmp_path.rglob(f"{UID}.glb"))[1:], "its terms are known before it is fetched"
    caught: list[float] = []
    source = download_object(item, tmp_path, served.as_uri(), lambda what, share: caught.append(share))
    asset = import_asset(source, tmp_path / "library", item.import_options).asset
    assert asset.licence == "CC BY-NC 4.0 (Ada, by way of Objaverse)"
    assert (asset.name, asset.provenance) == ("Tea tin", f"Objaverse {UID}") and caught[-1] == 1
    assert sorted(asset.size) == pytest.approx([0.05, 0.08, 0.1], abs=1e-3)
    assert parse_uid(f" https://sketchfab.com/3d-models/tea-tin-{UID.upper()}?x=1 ") == UID


@pytest.mark.parametrize(
    "short, name, message",
    [
        ("by", "CC BY 4.0", "named"),
        ("by-nc-sa", "CC BY-NC-SA 4.0", "same terms"),
        ("cc0", "CC0 1.0", "no conditions"),
        ("editorial", "editorial", ""),
        ("", "unknown", ""),
    ],
)
def test_licences_have_a_name_and_a_plain_explanation(served, short, name, message):
    (served / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps({UID: {"license": short}}).encode()))
    item = look_up_object(UID, served.as_uri())
    assert item.licence.startswith(name) and message in item.terms and bool(message) == bool(item.terms)


@pytest.mark.parametrize(
    "uid, message",
    [("mug", "not an Objaverse id"), ("a" * 32, "no object with the id"), ("f" * 32, "no object with the id")],
)
def test_an_unknown_objaverse_id_is_one_line(served, uid, message):
    with pytest.raises(AssetError, match=message) as caught:
        look_up_object(uid, served.as_uri())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "reply, message",
    [
        ((404, b"", 0), "no longer has this file"),
        ((200, b"<html>", 6), "not an Objaverse table"),
        ((200, b"half", 900), "was cut off|cannot be reached"),
        ((200, b"", 500 << 20), "more than 400 MB"),
    ],
)
def test_any_server_answer_gives_one_line_and_nothing_broken_is_saved(reply, message, tmp_path):
    with serving(lambda *_: reply) as address, pytest.raises(AssetError, match=message) as caught:
        look_up_object(UID, address)
    assert "\n" not in str(caught.value) and not [one for one in (tmp_path / "cache").rglob("*") if one.is_file()]


def test_an_isolated_import_offers_terms_and_imports_once_agreed(served, imported_here, tmp_path, monkeypatch):
    monkeypatch.setenv("GRS_OBJAVERSE", served.as_uri())

    def last(agreed: bool):
        return list(import_objaverse(UID, agreed, tmp_path / "library", threading.Event()))[-1]

    offer = last(False).offer
    assert offer == {
        "name": "Tea tin", "licence": "CC BY-NC 4.0 (Ada, by way of Objaverse)", "size": 1234,
        "terms": "its author must be named; not for commercial use",
    }  # fmt: skip
    assert not (tmp_path / "library").exists()
    done = last(True)
    assert done.id == "objaverse_01234567" and "longest side" in done.warnings[-1]
    with pytest.raises(AssetError, match="is this machine online") as caught:
        look_up_object(UID, "http://127.0.0.1:9")
    assert "urlopen" not in str(caught.value)
