"""Hollow meshes stay hollow when they collide, and their handles can be reached through."""

import numpy as np
import pytest
import trimesh

from pipeline.assets import Library, load_mesh
from pipeline.assets.hollow import BANDS, hollow_pieces
from pipeline.assets.shapes import RING

LIBRARY = Library.open()


@pytest.mark.parametrize("id", ["white_bowl", "blue_mug", "yellow_cup", "white_bin"])
def test_the_pieces_of_a_hollow_mesh_leave_room_inside_and_close_the_wall(id):
    asset = LIBRARY[id]
    pieces = hollow_pieces(load_mesh(asset))
    middle = trimesh.load_mesh(asset.collision[0]).bounds.mean(axis=0) * [1, 1, 0]
    for piece in pieces:
        assert piece.volume > 0 and piece.is_watertight
        assert not piece.contains(middle + np.array([[0, 0, 0], [0, 0, asset.size[2] / 2 - 0.001]])).any(), (
            "its mouth is shut"
        )
    low, high = np.min([p.bounds[0] for p in pieces], axis=0), np.max([p.bounds[1] for p in pieces], axis=0)
    np.testing.assert_allclose([low[2], high[2]], [-asset.size[2] / 2, asset.size[2] / 2], atol=1e-3)
    np.testing.assert_allclose([low[1], high[1]], [-asset.size[1] / 2, asset.size[1] / 2], rtol=0.1)


@pytest.mark.parametrize("id", ["red_cube", "cracker_box", "mustard_bottle", "banana"])
def test_a_solid_mesh_has_no_pit(id):
    assert hollow_pieces(load_mesh(LIBRARY[id])) == []


@pytest.mark.parametrize("degrees", [0, 40, 215])
@pytest.mark.parametrize("id", ["red_mug", "blue_mug", "white_mug", "frying_pan"])
def test_what_sticks_out_is_touched_and_what_it_leaves_open_stays_open(id, degrees):
    mesh = load_mesh(LIBRARY[id]).copy()
    own = [trimesh.load_mesh(file) for file in LIBRARY[id].collision]
    turn = trimesh.transformations.rotation_matrix(np.deg2rad(degrees), [0, 0, 1])
    mesh.apply_transform(turn)
    pieces = hollow_pieces(mesh)
    corners = np.vstack([piece.bounds for piece in pieces])
    np.testing.assert_allclose(np.ptp(corners, axis=0), mesh.extents, rtol=0.05, err_msg="its handle is not touched")
    points = np.random.default_rng(0).uniform(-0.5, 0.5, (3000, 3)) * LIBRARY[id].size
    empty = points[~_inside(own, points, 0.004)]
    filled = _inside(pieces, trimesh.transform_points(empty, turn), 0)
    assert np.mean(filled) < 0.03, "the handle's hole or the cup is filled"


@pytest.mark.parametrize("id", ["white_bowl", "yellow_cup", "white_bin", "grey_tray", "blue_plate"])
def test_a_rim_is_no_handle(id):
    assert len(hollow_pieces(load_mesh(LIBRARY[id]))) == 1 + RING * BANDS


def _inside(pieces: list[trimesh.Trimesh], points: np.ndarray, near: float) -> np.ndarray:
    """Whether points (N, 3) lie in a convex piece, or as near to one, in metres."""
    planes = [(piece.face_normals, piece.triangles_center) for piece in pieces]
    return np.any([(points @ n.T <= (c * n).sum(axis=1) + near).all(axis=1) for n, c in planes], axis=0)
