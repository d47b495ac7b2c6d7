"""Operations on masks."""

import operator

import numpy as np
import pytest
from scipy import ndimage

from pipeline.segmentation.mask_operations import fill_holes, iou, join_greedily, padded_window, part_at_pixel


def test_filled_holes_are_the_same_as_scipys():
    for seed in range(20):
        mask = np.random.default_rng(seed).random((17, 23)) < 0.6
        assert np.array_equal(fill_holes(mask), ndimage.binary_fill_holes(mask))


def test_the_iou_of_a_mask_with_itself_is_one_and_of_empty_masks_zero():
    mask = np.eye(5, dtype=bool)
    assert iou(mask, mask) == 1 and iou(mask, ~mask) == 0 and iou(mask & False, mask & False) == 0


def test_a_padded_window_holds_the_mask_and_stays_inside_the_image():
    mask = np.zeros((20, 30), bool)
    mask[3:6, 25:28] = True
    assert padded_window(mask, 4) == (slice(0, 10), slice(21, 30))


def test_the_part_at_a_pixel_is_connected_by_edges():
    mask = np.eye(4, dtype=bool)
    assert part_at_pixel(mask, 1, 1).sum() == 1 and not part_at_pixel(mask, 0, 1).any()


@pytest.mark.parametrize("items, joined", [([1, 2, 11, 3], [6, 11]), ([1, 11, 21], [1, 11, 21]), ([], [])])
def test_items_are_joined_to_the_first_that_is_the_same(items, joined):
    assert join_greedily(items, lambda a, b: a // 10 == b // 10, operator.add) == joined
