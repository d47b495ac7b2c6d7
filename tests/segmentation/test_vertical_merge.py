"""Masks divided at a line around an object are merged if the wall continues over the line."""

import numpy as np
import pytest

from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.vertical_merge import merge_vertically, share_wall

ROWS, COLUMNS = 60, 80
HALF = ROWS // 2


def cylinder_wall(radius_above, radius_below, noise=0.0005):
    """Return a cylinder 12 cm tall, viewed from one side; its two halves may differ in radius (m)."""
    angle, height = np.meshgrid(np.linspace(np.pi, 2 * np.pi, COLUMNS), np.linspace(0.12, 0, ROWS))
    radius = np.where(np.arange(ROWS)[:, None] < HALF, radius_above, radius_below)
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    points += np.random.default_rng(0).normal(0, noise, points.shape)
    blank = np.zeros((ROWS, COLUMNS, 3), np.uint8)
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    depth = np.ones((ROWS, COLUMNS))
    return HeightMap(blank, points.astype(np.float32), depth, 1, 500.0, square, blank, np.array([1.0, 0, 0]))


def halves():
    upper = np.zeros((ROWS, COLUMNS), bool)
    upper[:HALF] = True
    return upper, ~upper


@pytest.mark.parametrize("radius", [0.02, 0.035, 0.06])
def test_a_can_in_two_colours_is_one_object(radius):
    upper, lower = halves()
    for pair in ((upper, lower), (lower, upper)):
        assert share_wall(cylinder_wall(radius, radius), *pair)
    (merged,) = merge_vertically(cylinder_wall(radius, radius), [upper, lower])
    assert merged.all()


@pytest.mark.parametrize(("above", "below"), [(0.03, 0.04), (0.045, 0.035), (0.02, 0.06)])
def test_a_can_on_a_can_of_another_size_is_two_objects(above, below):
    masks = merge_vertically(cylinder_wall(above, below), list(halves()))
    assert len(masks) == 2 and not (masks[0] & masks[1]).any()


def test_masks_without_depth_and_masks_that_do_not_meet_stay_separate():
    upper, lower = halves()
    view = cylinder_wall(0.03, 0.03)
    view.depth[:] = 0
    assert not share_wall(view, upper, lower)
    far = np.zeros_like(upper)
    far[HALF + 10 :] = True
    assert not share_wall(cylinder_wall(0.03, 0.03), upper, far)
