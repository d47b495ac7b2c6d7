"""Geometry: rotations, bounding boxes of masks, and rays."""

import mujoco
import numpy as np
import pytest
import trimesh

from pipeline.geometry import Pose, bounding_box, box_corners, planar_rotation, quat_about_z, rotation_about_z
from pipeline.geometry.rays import cast_at_geoms, cast_rays, closest_points, raycasting_scene, surface_distance


def test_quaternions_matrices_and_inverses_are_of_the_same_rotation():
    for angle in (0.0, 0.3, -2.0, np.pi):
        rotation = Pose(np.zeros(3), quat_about_z(angle)).rotation
        assert np.allclose(rotation, rotation_about_z(angle))
        assert np.allclose(rotation[:2, :2], planar_rotation(angle))
    pose = Pose(np.array([0.1, -0.2, 0.3]), np.array([0.8, 0.6, 0, 0]))
    assert np.allclose((pose @ pose.inverse()).matrix, np.eye(4))


def test_the_bounding_box_holds_all_pixels_of_a_mask_no_empty_edge_and_may_be_empty():
    mask = np.zeros((10, 12), bool)
    mask[[2, 4], [8, 3]] = True
    box = bounding_box(mask)
    assert box == (3, 2, 9, 5) and box.xywh == [3, 2, 6, 3]
    inside = mask[box.slices]
    assert inside.sum() == mask.sum()
    assert inside[0].any() and inside[-1].any() and inside[:, 0].any() and inside[:, -1].any()
    assert box.padded(4, mask.shape) == (0, 0, 12, 9)
    box = bounding_box(np.zeros((10, 12), bool))
    assert (box.width, box.height) == (0, 0) and box.xywh == [0, 0, 0, 0]


def test_rays_hit_meshes_and_geoms_alike_and_the_closest_point_lies_at_the_surface_distance():
    cube = trimesh.creation.box((0.2, 0.4, 0.6))
    scene = raycasting_scene([(cube.vertices, cube.faces)])
    origin, directions = np.array([0.0, 0, 1]), np.array([[0, 0, -1.0], [0.05, 0.1, -1], [1, 0, 0]])
    distance = cast_rays(scene, origin, directions).distance
    box = '<geom type="box" size=".1 .2 .3" group="1"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{box}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    geoms, geom_distance = cast_at_geoms(model, data, origin, directions)
    assert geoms.tolist() == [0, 0, -1]
    assert np.allclose(distance[:2], geom_distance[:2]) and np.isinf(distance[2])
    assert cast_at_geoms(model, data, origin, directions, groups=(0,))[0].tolist() == [-1, -1, -1]
    points = np.vstack([2 * box_corners(cube.extents), [[0, 0, 0.5]]])
    gaps = np.linalg.norm(points - closest_points(scene, points)[0], axis=1)
    assert np.allclose(gaps, surface_distance(scene, points), atol=1e-6)
    assert gaps[-1] == pytest.approx(0.2, abs=1e-6)
