"""Scores of masks, and simulated clicks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from bench import mask_scores
from bench.mask_scores import score_masks as score
from pipeline.evaluation import EvaluationError
from pipeline.frame import save
from pipeline.segmentation import ScriptedSegmenter
from tests.frame.rendered import render

masks = arrays(bool, (12, 16))


def square(x: int, y: int, side: int) -> np.ndarray:
    mask = np.zeros((40, 60), bool)
    mask[y : y + side, x : x + side] = True
    return mask


def test_masks_score_by_their_overlap_each_counts_once_and_an_unlabelled_one_is_wrong_in_complete_labels():
    assert mask_scores.iou(square(0, 0, 10) & (np.arange(60) < 5), square(0, 0, 10)) == pytest.approx(0.5)
    truth = [square(0, 0, 10), square(20, 0, 8), square(40, 20, 15)]
    got = score(truth[::-1], truth, complete=True)
    assert (got.mean_iou, got.recall, got.precision) == (1, 1, 1)
    a, b = square(0, 0, 10), square(10, 0, 10)
    got = score([a | b], [a, b], complete=True)
    assert got.iou == (0.5, 0.5) and score([a | b | square(0, 10, 5)], [a, b], complete=True).recall == 0
    truth, extra = [square(0, 0, 10)], square(30, 20, 10)
    assert score([*truth, extra], truth, complete=True).precision == 0.5
    assert score([*truth, extra], truth, complete=False).precision is None
    got = score([], truth, complete=True)
    assert (got.mean_iou, got.recall, got.precision) == (0, 0, 0)


@given(masks, masks)
def test_overlap_is_symmetric_and_the_next_click_lies_on_an_error_with_the_right_sign(mask, truth):
    assert 0 <= mask_scores.iou(mask, truth) == mask_scores.iou(truth, mask) <= 1 and mask_scores.iou(mask, mask) == 1
    one = mask_scores.next_click(mask, truth)
    if one is None:
        assert (mask == truth).all()
    else:
        x, y, label = one
        assert truth[y, x] == bool(label) and mask[y, x] != truth[y, x]


def test_the_next_click_is_the_middle_of_the_largest_error_and_a_worse_mask_counts_as_a_drop():
    mask, truth = square(30, 20, 5), square(4, 6, 15) | square(50, 30, 3)
    assert mask_scores.next_click(mask, truth) == (11, 13, 1)
    assert mask_scores.next_click(mask | truth, truth) == (32, 22, 0)
    truth = square(10, 10, 10)
    answers = iter([truth & (np.arange(60) < 19), square(0, 0, 3), truth])
    got = mask_scores.simulate_clicks(lambda *_: next(answers), truth, max_clicks=5)
    assert got.iou == (0.9, 0.0, 1.0, 1.0, 1.0) and got.worst_drop == pytest.approx(0.9)
    assert len(got.clicks) == len(got.seconds) == 3


def test_a_perfect_segmenter_needs_one_click_for_each_object_and_a_folder_without_truth_is_one_line(tmp_path):
    rendered = render()
    view = ScriptedSegmenter(list(rendered.labels.values())).open(rendered.frame)
    for ask in (mask_scores.predict_from_all_clicks, mask_scores.predict_from_last_click):
        for truth in rendered.labels.values():
            got = mask_scores.simulate_clicks(ask(view), truth)
            assert got.iou == (1.0,) * 5 and len(got.clicks) == 1 and got.worst_drop == 0
    save(rendered.frame, tmp_path / "frame")
    with pytest.raises(EvaluationError, match=r"truth/masks\.png") as caught:
        mask_scores.read_labelled(tmp_path / "frame")
    assert "\n" not in str(caught.value)
