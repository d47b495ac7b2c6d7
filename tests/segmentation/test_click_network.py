"""The click network, and the corrections that a later click may mean."""

import subprocess
import sys

import numpy as np
import pytest

from pipeline.segmentation import Prompt
from pipeline.segmentation.depth.click_choice import SOURCES, choose, predicted_gains
from pipeline.segmentation.depth.click_crops import CELLS, ClickCrop, click_maps
from pipeline.segmentation.depth.click_network import OUTSIDE, FrameNetworks, expected_iou, network_agrees


def test_a_crop_is_pasted_back_where_it_was_cut_and_plus_and_minus_clicks_have_separate_maps():
    rows, cols = np.mgrid[0:480, 0:640].astype(np.float32)
    for x, y, width in ((320, 240, 300), (5, 470, 200), (600, 40, 400), (100, 100, 30)):
        crop = ClickCrop.around(x, y, width)
        for values, at in ((cols, x), (rows, y)):
            pasted = crop.paste(crop.cut(values[..., None], 1)[..., 0], (480, 640), np.nan)
            assert abs(pasted[min(y, 479), min(x, 639)] - at) <= 2 * crop.cell
    crop = ClickCrop.around(200, 100, 160)
    assert crop.cells(200, 100) == pytest.approx((CELLS / 2, CELLS / 2), abs=CELLS / crop.side)
    maps = click_maps([(10, 20, 1), (30, 40, 0)], None)
    assert maps[0, 20, 10] == 1 and maps[1, 40, 30] == 1 and maps[4, 40, 30] == -1
    assert maps[0, 40, 30] < 0.01 and maps[1, 20, 10] < 0.01 and not maps[5].any()


def test_a_prediction_holds_the_clicked_object_stays_near_it_and_is_the_frames_own(scene, view):
    networks = FrameNetworks(view._height_map)
    for name, truth in scene.labels.items():
        rows, cols = np.nonzero(truth)
        x, y = int(np.median(cols)), int(np.median(rows))
        odds = networks.predict([(x, y, 1)])
        assert odds.shape == truth.shape and odds[y, x] > 0, name
        assert (odds[:, :1] == OUTSIDE).all() or x < 200
    other, click = FrameNetworks(view._height_map), [(320.0, 240.0, 1)]
    first = networks.predict(click)
    other.predict([(100.0, 300.0, 1)])
    assert np.array_equal(networks.predict(click), first)


def test_a_later_click_reaches_part_of_the_way_and_the_network_overrules_depth_only_where_it_is_sure(scene, view):
    truth = scene.labels["red_box"]
    rows, cols = np.nonzero(truth)
    x, y = int(np.median(cols)), int(np.median(rows))
    points = np.array([[x, y], [x + 20, y]], float)
    less = view.segment(Prompt(points, np.array([1, 0]), mask=truth))[0].mask
    assert less[y, x] and not less[y, x + 20]
    assert np.hypot(*(np.argwhere(less != truth) - [y, x + 20]).T).max() < 40
    found, guess = np.zeros((40, 40), bool), np.zeros((40, 40), bool)
    found[:20], guess[:5] = True, True
    sure, unsure = np.where(guess, 6.0, -6.0), np.where(guess, 0.2, -1.0)
    assert not network_agrees(sure, found, guess) and network_agrees(unsure, found, guess)
    assert network_agrees(np.where(found, 6.0, -6.0), found, found)
    assert expected_iou(sure, guess) > 0.95 > 0.3 > expected_iou(sure, found)


def test_the_networks_run_without_torch():
    code = "import sys, pipeline.segmentation.depth.click_network as c, numpy as n; "
    code += "from pipeline.segmentation.depth.affinity import predict_affinities; "
    code += "predict_affinities(n.zeros((12, 32, 32), n.float32), n.zeros((16, 16, 24), n.float32)); "
    code += "print(c.encode(n.zeros((100, 150, 3), n.uint8)).shape, 'torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == ["(28,", "40,", "24)", "False"]


def corrections(scene):
    """Yield a mask and clicks: half of an object with a plus click on the rest, and two objects with a minus click."""
    first, second = list(scene.labels.values())[:2]
    rows, cols = np.nonzero(first)
    middle = int(np.median(cols))
    half = first & (np.arange(first.shape[1]) < middle)
    yield half, [(middle - 6, int(np.median(rows)), 1), (middle + 6, int(np.median(rows)), 1)]
    other_rows, other_cols = np.nonzero(second)
    wrong = int(np.median(other_cols)), int(np.median(other_rows)), 0
    yield first | second, [(middle, int(np.median(rows)), 1), wrong]


def test_proposals_obey_all_clicks_and_the_one_of_highest_gain_brings_the_mask_closer(scene, view):
    correction, (first, second) = view._interactive.correction, list(scene.labels.values())[:2]
    for mask, clicks in corrections(scene):
        proposals, terms = correction.propose(mask, clicks)
        assert set(proposals) == set(terms) <= set(SOURCES) and "colour" in proposals
        for source, one in proposals.items():
            assert all(one[y, x] == bool(label) for x, y, label in clicks), source
            assert not (one & ~mask).any() if clicks[-1][2] == 0 else not (mask & ~one).any(), source
        best = max(terms, key=lambda source: predicted_gains(terms[source][None])[0])
        after = correction.correct(mask, clicks)
        assert choose(terms) == best and np.array_equal(after, proposals[best])
        assert np.count_nonzero(after ^ first) < 0.5 * np.count_nonzero(mask ^ first)
    assert not (correction.correct(first | second, clicks) & second).sum() > 0.5 * second.sum()
