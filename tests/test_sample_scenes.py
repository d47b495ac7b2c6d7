"""The sample scenes are honest, small, and what they say they are."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.geometry import transform
from pipeline.matching import Match
from pipeline.scene.placing import place
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment, unrle

ROOT = Path(__file__).resolve().parents[1] / "sample_scenes"
SCENES = sorted(p.parent for p in ROOT.glob("*/expected.json"))


def truth(folder: Path) -> dict:
    return json.loads((folder / "expected.json").read_text())


def test_there_are_at_least_five():
    assert len(SCENES) >= 5


@pytest.mark.parametrize("folder", SCENES, ids=lambda p: p.name)
def test_it_is_small_and_says_that_it_is_synthetic(folder):
    assert sum(p.stat().st_size for p in folder.iterdir()) < 2_000_000
    assert truth(folder)["synthetic"] is True
    assert "**Synthetic**" in (folder / "README.md").read_text()


@pytest.mark.parametrize("folder", SCENES, ids=lambda p: p.name)
def test_its_truth_lies_where_its_depth_does(folder):
    frame, said = load(folder), truth(folder)
    library = Library.open()
    holes = 1 - (frame.depth > 0).mean()
    assert 0.001 < holes < 0.5
    for thing in said["objects"]:
        mask = unrle(thing["mask"]) & (frame.depth > 0)
        points = transform(np.array(said["world_from_camera"]), frame.points[mask].astype(float))
        reach = np.linalg.norm(thing["size"]) / 2 + 0.01
        near = np.linalg.norm(points - thing["world_from_object"]["pos"], axis=1) < reach
        assert mask.sum() > 150, thing["name"]
        assert near.mean() > 0.9, thing["name"]
        assert thing["asset_id"] in library


@pytest.mark.parametrize("folder", SCENES, ids=lambda p: p.name)
def test_its_table_is_found(folder):
    frame, said = load(folder), truth(folder)
    found, true = find_support(frame).world_from_camera, np.array(said["world_from_camera"])
    assert np.degrees(np.arccos(np.clip(found[2, :3] @ true[2, :3], -1, 1))) < 0.3
    assert abs(found[2, 3] - true[2, 3]) < 0.003


@pytest.mark.parametrize("name", ["stack", "kitchen"])
def test_given_its_masks_and_assets_its_objects_are_found_where_they_stand(name, tmp_path):
    folder = ROOT / name
    frame, said = load(folder), truth(folder)
    support = find_support(frame)
    segments = [Segment(i, unrle(thing["mask"])) for i, thing in enumerate(said["objects"], 1)]
    matches = [Match(s.id, thing["asset_id"], 1.0, "", ()) for s, thing in zip(segments, said["objects"], strict=True)]
    scene = place(frame, support, segments, describe_all(frame, support, segments), matches, Library.open(), tmp_path)
    settled, told = settle(scene)
    assert told == ()
    assert len(settled.placements) == len(said["objects"])
    for thing, placed in zip(said["objects"], settled.placements, strict=True):
        true = np.linalg.inv(said["world_from_camera"]) @ [*thing["world_from_object"]["pos"], 1]
        found = np.linalg.inv(support.world_from_camera) @ [*placed.world_from_object.pos, 1]
        assert np.linalg.norm(true - found) < 0.005, thing["name"]
