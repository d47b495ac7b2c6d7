"""One thing of Objaverse by its id, from a stand-in for its server."""

import gzip
import json

import pytest
import trimesh

from pipeline.assets import AssetError
from pipeline.assets.importing import bring_in
from pipeline.assets.objaverse import fetch

UID = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def served(tmp_path):
    """A folder laid out as Objaverse is, by a file address."""
    top = tmp_path / "objaverse"
    (top / "glbs" / "000-001").mkdir(parents=True)
    (top / "metadata").mkdir()
    trimesh.creation.box((0.08, 0.05, 0.1)).export(top / "glbs" / "000-001" / f"{UID}.glb")
    paths = {UID: f"glbs/000-001/{UID}.glb", "f" * 32: "../../etc/passwd"}
    (top / "object-paths.json.gz").write_bytes(gzip.compress(json.dumps(paths).encode()))
    about = {UID: {"name": "Tea tin", "license": "by"}}
    (top / "metadata" / "000-001.json.gz").write_bytes(gzip.compress(json.dumps(about).encode()))
    return top


def test_a_thing_comes_in_by_its_id_with_its_name_and_licence(served, tmp_path):
    source, told = fetch(UID, tmp_path, served.as_uri())
    asset = bring_in(source, tmp_path / "library", told).asset
    assert (asset.name, asset.licence, asset.provenance) == ("Tea tin", "by", f"Objaverse {UID}")
    assert sorted(asset.size) == pytest.approx([0.05, 0.08, 0.1], abs=1e-3)


@pytest.mark.parametrize(
    "uid, said",
    [("mug", "no id of Objaverse"), ("a" * 32, "nothing with the id"), ("f" * 32, "nothing with the id")],
)
def test_what_is_no_thing_of_objaverse_is_said_in_one_line(served, tmp_path, uid, said):
    with pytest.raises(AssetError, match=said) as told:
        fetch(uid, tmp_path, served.as_uri())
    assert "\n" not in str(told.value)


def test_without_a_way_to_objaverse_it_says_so(tmp_path):
    with pytest.raises(AssetError, match="is this machine online"):
        fetch(UID, tmp_path, (tmp_path / "nowhere").as_uri())
