"""The viewer's photograph camera is the one that took the photograph."""

import mujoco
import numpy as np
import pytest

from pipeline.frame.frame import Intrinsics
from studio.viewer import PhotoCamera


def test_a_calibrated_camera_projects_like_its_intrinsics():
    rng = np.random.default_rng(0)
    k = Intrinsics(640, 480, 610.0, 605.0, 331.5, 222.0)
    world_from_camera = np.eye(4)
    world_from_camera[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    world_from_camera[:3, :3] *= np.sign(np.linalg.det(world_from_camera[:3, :3]))
    world_from_camera[:3, 3] = rng.normal(size=3)
    local = rng.uniform([-0.3, -0.3, 0.5], [0.3, 0.3, 2], (50, 3))
    expected = (local @ k.matrix.T)[:, :2] / local[:, 2:]
    world = local @ world_from_camera[:3, :3].T + world_from_camera[:3, 3]
    projected = PhotoCamera.from_intrinsics(k, world_from_camera).project(world)
    assert projected == pytest.approx(expected + 0.5, abs=1e-6), "pixel centres are whole numbers, edges are not"


def test_the_models_camera_projects_where_mujoco_draws(twin):
    data = mujoco.MjData(twin)
    mujoco.mj_forward(twin, data)
    renderer = mujoco.Renderer(twin, 480, 640)
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data, camera="photo")
    labels = renderer.render()
    renderer.close()
    ball = twin.body("ball").geomadr[0]
    rows, columns = np.nonzero((labels[..., 0] == ball) & (labels[..., 1] == mujoco.mjtObj.mjOBJ_GEOM))
    camera = PhotoCamera.from_model(twin)
    assert camera is not None
    middle = camera.project(data.body("ball").xpos)
    assert middle == pytest.approx([columns.mean() + 0.5, rows.mean() + 0.5], abs=1.0)


def test_a_model_without_a_photograph_has_no_such_camera():
    assert PhotoCamera.from_model(mujoco.MjModel.from_xml_string("<mujoco/>")) is None
