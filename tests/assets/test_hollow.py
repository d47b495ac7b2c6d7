"""Hollow meshes stay hollow when they collide."""

import numpy as np
import pytest
import trimesh

from pipeline.assets import Library, load_mesh
from pipeline.assets.hollow import hollow_pieces

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
