"""Depth that lies beside its colour is moved back where most of the picture says so, and only there."""

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.frame.registration import _mostly_nearer, register


def table(off: int = 0) -> Frame:
    """Eighteen boxes on a table; depth off by so many pixels."""
    rng = np.random.default_rng(0)
    rgb, depth = np.full((480, 640, 3), 120, np.uint8), np.full((480, 640), 1.0, np.float32)
    for x in range(60, 600, 100):
        for y in range(60, 360, 120):
            rgb[y : y + 50, x : x + 50], depth[y : y + 50, x : x + 50] = int(rng.choice([60, 75, 170, 190])), 0.9
    rgb = np.clip(rgb + rng.normal(0, 6, rgb.shape), 0, 255).astype(np.uint8)
    return Frame(rgb, np.roll(depth, off, axis=1), Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0))


@pytest.mark.parametrize("off", [-6, -5, 5, 6])
def test_depth_that_lies_beside_its_colour_is_moved_back(off):
    moved = register(table(off))
    assert moved.notes and "moved by" in moved.notes[-1]
    inner = np.s_[20:-20, 20:-20]
    assert (np.abs(moved.depth - table().depth)[inner] > 0.01).mean() < 0.012


def test_depth_that_lies_on_its_colour_stays():
    frame = table()
    assert register(frame) is frame


@pytest.mark.parametrize("gaining, moved", [(2, False), (3, False), (4, True), (6, True)])
def test_a_move_needs_more_than_half_of_the_pictures_parts_however_long_their_edges(gaining, moved):
    """A table's long edge beside a plank's seam outweighs all that stands on it."""
    edges, spots = np.zeros((60, 60, 2), np.float32), []
    for part in range(6):
        gains = part < gaining
        rows = np.repeat(np.arange(0, 10), 8 if gains else 2)
        spots += [(part * 10 + 3, row) for row in rows]
        edges[:10, part * 10 + (6 if gains else 3), 0] = 9.0 if gains else 1.0
    places, across = np.array(spots, float), np.tile([1.0, 0.0], (len(spots), 1))
    assert _mostly_nearer(edges, places, places + np.array([3.0, 0.0]), across) is moved
