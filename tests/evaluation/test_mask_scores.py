"""Scores of masks, and simulated clicks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from bench.mask_scores import iou, next_click, score_masks, simulate_clicks

masks = arrays(bool, (12, 16))


def square(x: int, y: int, side: int) -> np.ndarray:
    mask = np.zeros((40, 60), bool)
    mask[y : y + side, x : x + side] = True
    return mask


@given(masks, masks)
def test_overlap_is_symmetric_and_the_next_click_lies_on_an_error_with_the_right_sign(mask, truth):
    assert 0 <= iou(mask, truth) == iou(truth, mask) <= 1 and iou(mask, mask) == 1
    one = next_click(mask, truth)
    assert (one is None) == (mask == truth).all()
    assert one is None or (truth[one[1], one[0]] == bool(one[2]) and mask[one[1], one[0]] != truth[one[1], one[0]])


def test_an_unlabelled_mask_is_wrong_in_complete_labels_only_and_a_worse_mask_counts_as_a_drop():
    truth, extra = [square(0, 0, 10), square(20, 0, 8)], square(30, 20, 10)
    assert score_masks([*truth, extra], truth, complete=True).precision == pytest.approx(2 / 3)
    assert score_masks([*truth, extra], truth, complete=False).precision is None
    assert score_masks([], truth, complete=True).recall == 0
    answers = iter([square(10, 10, 10) & (np.arange(60) < 19), square(0, 0, 3), square(10, 10, 10)])
    got = simulate_clicks(lambda *_: next(answers), square(10, 10, 10), max_clicks=5)
    assert got.iou == (0.9, 0.0, 1.0, 1.0, 1.0) and got.worst_drop == pytest.approx(0.9) and len(got.clicks) == 3
