"""The robots of a comparison as free bodies: every shape stands where its body's pose and its own pose put it."""

import mujoco
import numpy as np
import pytest
import trimesh

from pipeline.divergence.confined.isolated_comparison import SOLIDS, DrawnShape, Playback
from pipeline.divergence.report.drawn_robot import drawn_model, drawn_positions

AT_ORIGIN = np.array([0.0, 0, 0, 1, 0, 0, 0])


def playback(flat: bool = False) -> Playback:
    """Return two bodies, of which the second moves and has a solid of each kind; `flat`: its mesh is a square."""
    random = np.random.default_rng(0)
    poses = np.tile(AT_ORIGIN, (5, 2, 1))
    poses[:, 1, :3] = random.normal(size=(5, 3))
    turns = random.normal(size=(5, 4))
    poses[:, 1, 3:] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    mesh = trimesh.creation.box((0.1, 0.2, 0.3))
    vertices, faces = np.array(mesh.vertices) + 0.4, np.array(mesh.faces)
    if flat:
        vertices, faces = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]]), np.array([[0, 1, 2], [0, 2, 3]])
    shapes = [
        DrawnShape(
            int(kind != "plane"), kind, np.full(3, 0.05), AT_ORIGIN, np.full(4, 0.5), 0 if kind == "mesh" else -1
        )
        for kind in SOLIDS
    ]
    times = np.arange(5, dtype="<f4")
    return Playback(times, poses, poses[:, ::-1], tuple(shapes), ((vertices.astype("<f4"), faces.astype("<i4")),))


def test_every_shape_is_at_the_pose_of_its_body():
    drawn = playback()
    model = drawn_model(drawn)
    data = mujoco.MjData(model)
    assert np.allclose(model.qpos0, drawn.real[0].ravel(), atol=1e-6)
    (mesh,) = [g for g in range(model.ngeom) if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_MESH]
    for row, pose in zip(drawn_positions(drawn, drawn.real), drawn.real[:, 1], strict=True):
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        assert np.allclose(data.xpos[2], pose[:3], atol=1e-6)
        shown = data.geom_xmat[mesh].reshape(3, 3) @ model.mesh_vert.T + data.geom_xpos[mesh][:, None]
        centre = data.xmat[2].reshape(3, 3) @ np.full(3, 0.4) + pose[:3]
        assert np.allclose(shown.mean(axis=1), centre, atol=1e-5)


def test_the_ghost_is_a_second_robot_that_shows_through():
    drawn = playback()
    model = drawn_model(drawn, 2)
    assert model.nq == 2 * drawn.real[0].size == drawn_positions(drawn, drawn.real, drawn.sim).shape[1]
    alphas = model.geom_rgba[:, 3]
    assert sum(alphas < 0.5) == len(SOLIDS) - 1  # the floor is drawn once


@pytest.mark.parametrize("flat", [True, False])
def test_a_flat_mesh_is_drawn_too(flat: bool):
    assert drawn_model(playback(flat)).nmesh == 1
