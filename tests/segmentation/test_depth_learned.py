"""The clicks' network: what it sees, what it may overrule, and that it answers without torch."""

import subprocess
import sys

import numpy as np
import pytest

from pipeline.segmentation import DepthSegmenter, Prompt
from pipeline.segmentation.crops import CELLS, Square, click_maps
from pipeline.segmentation.learned import OUTSIDE, Learned, confirms, fit
from tests.frame.rendered import render


@pytest.fixture(scope="module")
def seen():
    return render(width=640)


@pytest.fixture(scope="module")
def view(seen):
    return DepthSegmenter().open(seen.frame)


@pytest.fixture(scope="module")
def learned(view):
    return Learned(view._heights)


@pytest.mark.parametrize("x, y, width", [(320, 240, 300), (5, 470, 200), (600, 40, 400), (100, 100, 30)])
def test_what_is_cut_from_a_square_is_pasted_back_where_it_was(x, y, width):
    square = Square.around(x, y, width)
    rows, cols = np.mgrid[0:480, 0:640].astype(np.float32)
    for values, at in ((cols, x), (rows, y)):
        pasted = square.paste(square.cut(values[..., None], 1)[..., 0], (480, 640), np.nan)
        assert abs(pasted[min(y, 479), min(x, 639)] - at) <= 2 * square.cell


def test_a_pixel_and_its_cell_are_the_same_place():
    square = Square.around(200, 100, 160)
    assert square.cells(200, 100) == pytest.approx((CELLS / 2, CELLS / 2), abs=CELLS / square.side)


def test_plus_and_minus_clicks_are_told_apart():
    maps = click_maps([(10, 20, 1), (30, 40, 0)], None)
    assert maps[0, 20, 10] == 1 and maps[1, 40, 30] == 1 and maps[4, 40, 30] == -1
    assert maps[0, 40, 30] < 0.01 and maps[1, 20, 10] < 0.01 and not maps[5].any()


def test_a_guess_holds_the_clicked_thing_and_stays_near_it(seen, learned):
    for name, truth in seen.labels.items():
        rows, cols = np.nonzero(truth)
        x, y = int(np.median(cols)), int(np.median(rows))
        odds = learned.guess([(x, y, 1)])
        assert odds.shape == truth.shape and odds[y, x] > 0, name
        assert (odds[:, :1] == OUTSIDE).all() or x < 200


def test_the_network_overrules_depth_only_where_it_is_sure_and_disagrees():
    found, guess = np.zeros((40, 40), bool), np.zeros((40, 40), bool)
    found[:20], guess[:5] = True, True
    sure, unsure = np.where(guess, 6.0, -6.0), np.where(guess, 0.2, -1.0)
    assert not confirms(sure, found, guess) and confirms(unsure, found, guess)
    assert confirms(np.where(found, 6.0, -6.0), found, found)
    assert fit(sure, guess) > 0.95 > 0.3 > fit(sure, found)


def test_a_later_click_changes_nothing_beyond_most_of_the_way_to_the_clicks_it_contradicts(seen, view):
    truth = seen.labels["red_box"]
    rows, cols = np.nonzero(truth)
    x, y = int(np.median(cols)), int(np.median(rows))
    points = np.array([[x, y], [x + 20, y]], float)
    less = view.segment(Prompt(points, np.array([1, 0]), mask=truth))[0].mask
    assert less[y, x] and not less[y, x + 20]
    assert np.hypot(*(np.argwhere(less != truth) - [y, x + 20]).T).max() < 40


def test_no_torch_is_needed_for_a_guess():
    code = "import sys; import pipeline.segmentation.learned as l, numpy as n; "
    code += "print(l.encoded(n.zeros((100, 150, 3), n.uint8)).shape, 'torch' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["(28,", "40,", "24)", "False"]


def test_two_frames_do_not_share_an_answer(view, learned):
    other = Learned(view._heights)
    click = [(320.0, 240.0, 1)]
    first = learned.guess(click)
    other.guess([(100.0, 300.0, 1)])
    assert np.array_equal(learned.guess(click), first)
