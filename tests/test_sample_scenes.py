"""The sample scenes are honest, small, and what they say they are."""

import json
from pathlib import Path

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.geometry import transform
from pipeline.matching import Match
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment, decode_rle

ROOT = Path(__file__).resolve().parents[1] / "sample_scenes"
SCENES = sorted(p.parent for p in ROOT.glob("*/expected.json"))


def truth(folder: Path) -> dict:
    return json.loads((folder / "expected.json").read_text())


@pytest.mark.parametrize("folder", SCENES, ids=lambda p: p.name)
def test_a_scene_is_small_synthetic_and_agrees_with_its_depth_and_table(folder):
    assert len(SCENES) >= 5
    assert sum(p.stat().st_size for p in folder.iterdir()) < 2_000_000 and truth(folder)["synthetic"] is True
    assert "**Synthetic**" in (folder / "README.md").read_text()
    frame, expected = load(folder), truth(folder)
    library = Library.open()
    assert 0.001 < (1 - (frame.depth > 0).mean()) < 0.5
    for item in expected["objects"]:
        mask = decode_rle(item["mask"]) & (frame.depth > 0)
        points = transform(np.array(expected["world_from_camera"]), frame.points[mask].astype(float))
        reach = np.linalg.norm(item["size"]) / 2 + 0.01
        near = np.linalg.norm(points - item["world_from_object"]["pos"], axis=1) < reach
        assert mask.sum() > 150 and near.mean() > 0.9 and item["asset_id"] in library, item["name"]
    found, true = find_support(frame).world_from_camera, np.array(expected["world_from_camera"])
    assert np.degrees(np.arccos(np.clip(found[2, :3] @ true[2, :3], -1, 1))) < 0.3
    assert abs(found[2, 3] - true[2, 3]) < 0.003


@pytest.mark.parametrize("name", ["stack", "kitchen"])
def test_true_masks_and_assets_give_the_true_poses(name, tmp_path):
    folder = ROOT / name
    frame, expected = load(folder), truth(folder)
    support = find_support(frame)
    segments = [Segment(i, decode_rle(item["mask"])) for i, item in enumerate(expected["objects"], 1)]
    pairs = zip(segments, expected["objects"], strict=True)
    matches = [Match(s.id, item["asset_id"], 1.0, "", ()) for s, item in pairs]
    descriptions = describe_all(frame, support, segments)
    inputs = SceneInputs(Observation(frame, support), segments, descriptions, matches, Library.open(), tmp_path)
    settled, changes = settle(place_objects(inputs))
    assert changes == () and len(settled.placements) == len(expected["objects"])
    for item, placed in zip(expected["objects"], settled.placements, strict=True):
        true = np.linalg.inv(expected["world_from_camera"]) @ [*item["world_from_object"]["pos"], 1]
        found = np.linalg.inv(support.world_from_camera) @ [*placed.world_from_object.pos, 1]
        assert np.linalg.norm(true - found) < 0.005, item["name"]
