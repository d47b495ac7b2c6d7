"""Twins of real tables stand still. The frames lie beside the repository and are never part of it."""

import json
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

from pipeline.assets import Library
from pipeline.description import describe_all
from pipeline.frame import find_support, load, register
from pipeline.scene import files
from pipeline.scene.fidelity import compare
from pipeline.scene.placing import place
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment

FRAMES = Path(__file__).resolve().parents[3] / "shared" / "frames"


@pytest.mark.skipif(not FRAMES.is_dir(), reason="the real frames are not beside this repository (../shared/frames)")
@pytest.mark.parametrize("name", ["posecnn_0", "m2t2_02"])
def test_a_twin_made_from_a_real_frame_loads_alone_looks_alike_and_stands_for_five_seconds(name, tmp_path):
    frame = register(load(FRAMES / name))  # the m2t2 frames' depth lies beside their colour
    support = find_support(frame)
    labels = np.array(Image.open(FRAMES / name / "truth" / "masks.png"))
    segments = [Segment(int(i), labels == i) for i in np.unique(labels[labels > 0])]
    placed = place(frame, support, segments, describe_all(frame, support, segments), (), Library.open(), tmp_path)
    scene, _ = settle(placed)
    files.write_scene(scene, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    said = json.loads((tmp_path / "scene.json").read_text())["placements"]
    before = {p["name"]: data.body(p["name"]).xpos.copy() for p in said}
    for p in said:
        assert np.linalg.norm(before[p["name"]] - p["world_from_object"]["pos"]) < 1e-4
    for _ in range(2500):
        mujoco.mj_step(model, data)
    assert max(np.linalg.norm(data.body(n).xpos - at) for n, at in before.items()) < 0.01
    assert np.median([like.mask_iou for like in compare(frame, segments, scene)]) > 0.6
