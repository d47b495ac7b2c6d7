"""Twins of real tables are at rest. The frames lie beside the repository and are not part of it."""

import json

import mujoco
import numpy as np
import pytest
from PIL import Image
from reference_frames import reference_frame

from pipeline.assets import Library
from pipeline.description import describe_all
from pipeline.frame import Observation, find_support, load, register_depth
from pipeline.scene import scene_files
from pipeline.scene.fidelity import compare_scene
from pipeline.scene.place_objects import SceneInputs, place_objects
from pipeline.scene.settle import settle
from pipeline.segmentation import Segment


@pytest.mark.frames
@pytest.mark.parametrize("name", ["posecnn_0", "m2t2_02"])
def test_the_twin_of_a_real_frame_loads_alone_fits_and_rests(name, tmp_path):
    folder = reference_frame(name)
    frame = register_depth(load(folder))  # the m2t2 frames' depth lies beside their colour
    support = find_support(frame)
    labels = np.array(Image.open(folder / "truth" / "masks.png"))
    segments = [Segment(int(i), labels == i) for i in np.unique(labels[labels > 0])]
    descriptions = describe_all(frame, support, segments)
    inputs = SceneInputs(Observation(frame, support), segments, descriptions, (), Library.open(), tmp_path)
    scene, _ = settle(place_objects(inputs))
    scene_files.write_scene(scene, tmp_path)
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "scene" / "scene.xml"))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    written = json.loads((tmp_path / "scene.json").read_text())["placements"]
    before = {p["name"]: data.body(p["name"]).xpos.copy() for p in written}
    for p in written:
        assert np.linalg.norm(before[p["name"]] - p["world_from_object"]["pos"]) < 1e-4
    for _ in range(2500):
        mujoco.mj_step(model, data)
    assert max(np.linalg.norm(data.body(name).xpos - pos) for name, pos in before.items()) < 0.01
    assert np.median([fidelity.mask_iou for fidelity in compare_scene(frame, segments, scene)]) > 0.6
