"""Convex parts cover a solid and keep its openings; hollow meshes and their handles stay hollow."""

import numpy as np
import pytest
import trimesh

from pipeline.assets import Library, load_mesh
from pipeline.assets.collision.convex_decomposition import decompose, is_nearly_convex
from pipeline.assets.collision.hollow_shapes import HEIGHT_BANDS, hollow_parts
from pipeline.assets.solids import RING_SECTORS

LIBRARY = Library.open()


@pytest.mark.parametrize("id", ["white_bowl", "blue_mug", "yellow_cup", "white_bin"])
def test_the_parts_of_a_hollow_mesh_leave_room_inside_and_close_the_wall(id):
    asset = LIBRARY[id]
    parts = hollow_parts(load_mesh(asset))
    middle = trimesh.load_mesh(asset.collision[0]).bounds.mean(axis=0) * [1, 1, 0]
    for part in parts:
        assert part.volume > 0 and part.is_watertight
        assert not part.contains(middle + np.array([[0, 0, 0], [0, 0, asset.size[2] / 2 - 0.001]])).any(), "shut"
    low, high = np.min([p.bounds[0] for p in parts], axis=0), np.max([p.bounds[1] for p in parts], axis=0)
    np.testing.assert_allclose([low[2], high[2]], [-asset.size[2] / 2, asset.size[2] / 2], atol=1e-3)
    np.testing.assert_allclose([low[1], high[1]], [-asset.size[1] / 2, asset.size[1] / 2], rtol=0.1)


@pytest.mark.parametrize("id", ["red_cube", "cracker_box", "mustard_bottle", "banana"])
def test_a_solid_mesh_has_no_pit(id):
    assert hollow_parts(load_mesh(LIBRARY[id])) == []


@pytest.mark.parametrize("degrees", [0, 40, 215])
@pytest.mark.parametrize("id", ["red_mug", "blue_mug", "white_mug", "frying_pan"])
def test_a_handle_has_parts_and_its_hole_stays_open(id, degrees):
    mesh = load_mesh(LIBRARY[id]).copy()
    own = [trimesh.load_mesh(file) for file in LIBRARY[id].collision]
    turn = trimesh.transformations.rotation_matrix(np.deg2rad(degrees), [0, 0, 1])
    mesh.apply_transform(turn)
    parts = hollow_parts(mesh)
    corners = np.vstack([part.bounds for part in parts])
    np.testing.assert_allclose(np.ptp(corners, axis=0), mesh.extents, rtol=0.05, err_msg="its handle is not touched")
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3)) * LIBRARY[id].size
    filled = _inside(parts, trimesh.transform_points(points[~_inside(own, points, 0.004)], turn), 0)
    assert np.mean(filled) < 0.03, "the handle's hole or the cup is filled"


@pytest.mark.parametrize("id", ["white_bowl", "yellow_cup", "white_bin", "grey_tray", "blue_plate"])
def test_a_rim_is_not_a_handle(id):
    assert len(hollow_parts(load_mesh(LIBRARY[id]))) == 1 + RING_SECTORS * HEIGHT_BANDS


def _inside(parts: list[trimesh.Trimesh], points: np.ndarray, near: float) -> np.ndarray:
    """Return whether points (N, 3) are inside a convex part, or within `near` metres of one."""
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    return np.any([(points @ n.T <= (c * n).sum(axis=1) + near).all(axis=1) for n, c in planes], axis=0)


def _angle_iron(gap: float = 0.0) -> trimesh.Trimesh:
    """Return two plates that meet in an edge, or intersect for a negative gap."""
    floor, wall = trimesh.creation.box([0.08, 0.05, 0.006]), trimesh.creation.box([0.006, 0.05, 0.06])
    joined = trimesh.util.concatenate([floor, wall.apply_translation([-0.037, 0, 0.033 + gap])])
    assert isinstance(joined, trimesh.Trimesh)
    return joined


def _covered(mesh: trimesh.Trimesh, parts: list[trimesh.Trimesh], near: float) -> float:
    points = trimesh.sample.sample_surface(mesh, 500, seed=0)[0]
    planes = [(part.face_normals, part.triangles_center) for part in parts]
    inside = [(points @ n.T <= (n * c).sum(axis=1) + near).all(axis=1) for n, c in planes]
    return float(np.any(inside, axis=0).mean())


@pytest.mark.parametrize("gap", [0.0, -0.004])
def test_touching_or_intersecting_plates_are_covered_and_not_filled(gap):
    mesh = _angle_iron(gap)
    parts = decompose(mesh)
    assert _covered(mesh, parts, 0.002) > 0.97
    assert sum(part.volume for part in parts) < 0.5 * mesh.convex_hull.volume


def test_a_hull_suffices_for_a_box_with_a_gap_and_not_for_a_ring():
    box = trimesh.creation.box([0.1, 0.1, 0.1])
    open_box = trimesh.Trimesh(box.vertices, box.faces[1:])
    assert is_nearly_convex(box) and is_nearly_convex(open_box)
    assert not is_nearly_convex(trimesh.creation.torus(0.05, 0.012))
