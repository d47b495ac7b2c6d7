"""The embedded segmenter on frames with truth, made here and real."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage

from pipeline.frame import load
from pipeline.segmentation import DepthSegmenter, Prompt, SegmentationError
from pipeline.segmentation.standing import holes_filled
from tests.frame.rendered import render

FRAMES = Path(__file__).resolve().parents[3] / "shared" / "frames"
REAL = ["grasp6dof_white_bowl", "posecnn_0", "m2t2_02"]


def overlap(a, b):
    return np.count_nonzero(a & b) / max(1, np.count_nonzero(a | b))


def at(x, y, label=1):
    return Prompt(np.array([[x, y]], float), np.array([label]))


def middle(mask):
    """A pixel inside the mask, as x, y."""
    rows, cols = np.nonzero(mask)
    return cols[len(cols) // 2], rows[len(rows) // 2]


@pytest.fixture(scope="module")
def seen():
    return render(width=640)


@pytest.fixture(scope="module")
def view(seen):
    return DepthSegmenter().open(seen.frame)


def test_each_thing_on_the_table_is_one_segment(seen, view):
    segments = view.automatic()
    assert len(segments) == len(seen.labels)
    for name, truth in seen.labels.items():
        assert max(overlap(segment.mask, truth) for segment in segments) > 0.9, name


def test_segments_are_disjoint_numbered_and_the_same_every_time(seen, view):
    segments, again = view.automatic(), DepthSegmenter().open(seen.frame).automatic()
    assert [segment.id for segment in segments] == list(range(1, len(segments) + 1))
    assert sum(segment.mask.astype(int) for segment in segments).max() == 1
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, again, strict=True))
    assert all(segment.mask.dtype == bool and segment.mask.shape == seen.frame.depth.shape for segment in segments)


def test_neither_wall_nor_floor_nor_an_empty_table_is_offered():
    assert DepthSegmenter().open(render("").frame).automatic() == ()


def test_what_a_mask_encloses_is_what_cannot_be_reached_from_outside():
    for seed in range(20):
        mask = np.random.default_rng(seed).random((17, 23)) < 0.6
        assert np.array_equal(holes_filled(mask), ndimage.binary_fill_holes(mask))


def test_a_view_made_ready_beforehand_answers_as_one_that_is_not(seen, view):
    ready = DepthSegmenter().open(seen.frame)
    working = [threading.Thread(target=one) for one in (ready.prepare, ready.automatic)]
    for one in working:
        one.start()
    y, x = np.argwhere(next(iter(seen.labels.values()))).mean(0).astype(int)
    prompt = Prompt(np.array([[x, y]], float), np.array([1]))
    answers = [opened.segment(prompt)[0].mask for opened in (ready, view)]
    for one in working:
        one.join()
    assert np.array_equal(*answers)


def test_a_click_gives_the_thing_under_it(seen, view):
    for name, truth in seen.labels.items():
        assert overlap(view.segment(at(*middle(truth)))[0].mask, truth) > 0.9, name


def test_a_box_gives_the_thing_in_it(seen, view):
    for name, truth in seen.labels.items():
        rows, cols = np.nonzero(truth)
        box = np.array([cols.min(), rows.min(), cols.max() + 1, rows.max() + 1])
        assert overlap(view.segment(Prompt(box=box))[0].mask, truth) > 0.9, name


def test_a_click_changes_only_what_lies_around_it(seen, view):
    truth = seen.labels["red_box"]
    whole = view.segment(at(*middle(truth)))[0].mask
    x, y = middle(whole)
    less = view.segment(Prompt(np.array([[x, y], [x - 12, y]]), np.array([1, 0]), mask=whole))[0].mask
    assert not less[y, x - 12] and less[y, x]
    changed = np.argwhere(less != whole)
    assert np.linalg.norm(changed - [y, x - 12], axis=1).max() < 80


def test_a_later_click_takes_back_nothing_that_the_first_one_said(seen, view):
    for truth in seen.labels.values():
        x, y = np.argwhere(truth).mean(0).astype(int)[::-1]
        for beside in (4, 8, 12):
            prompt = Prompt(np.array([[x, y], [x + beside, y]], float), np.array([1, 0]))
            mask = view.segment(prompt)[0].mask
            assert mask[y, x] and not mask[y, x + beside]


def test_a_click_that_is_right_already_changes_nothing(seen, view):
    truth = seen.labels["blue_cylinder"]
    for mask in (truth, view.automatic()[0].mask):
        inside, outside = middle(mask), (5, 5)
        prompt = Prompt(np.array([inside, outside], float), np.array([1, 0]), mask=mask)
        assert np.array_equal(view.segment(prompt)[0].mask, mask)


def test_clicks_given_at_once_are_clicks_given_one_by_one(seen):
    x, y = middle(seen.labels["red_box"])
    points, labels = np.array([[x, y], [x + 30, y + 40], [x - 10, y - 5]], float), np.array([1, 1, 0])
    step = DepthSegmenter().open(seen.frame)
    for n in (1, 2, 3):
        one_by_one = step.segment(Prompt(points[:n], labels[:n]))[0].mask
    at_once = DepthSegmenter().open(seen.frame).segment(Prompt(points, labels))[0].mask
    assert np.array_equal(one_by_one, at_once)


@pytest.mark.parametrize("spot", [(3, 3), (320, 470), (600, 240), (320, 200)])
def test_every_click_anywhere_answers_with_the_pixel_clicked(view, spot):
    readings = view.segment(at(*spot))
    assert 1 <= len(readings) <= 3 and readings[0].mask[spot[1], spot[0]]


@pytest.mark.parametrize(
    "prompt, told",
    [
        (Prompt(), "empty prompt"),
        (at(-1, 5), "outside"),
        (at(640, 5), "outside the 640 x 480"),
        (at(float("nan"), 5), "outside"),
        (at(5, 5, 2), "Labels are 1"),
        (at(5, 5, 0), "first click must add"),
        (Prompt(box=np.array([50, 50, 40, 60])), "box"),
        (Prompt(mask=np.zeros((4, 4), bool)), "mask to start from"),
    ],
)
def test_prompts_that_make_no_sense_are_refused_in_one_line(view, prompt, told):
    with pytest.raises(SegmentationError, match=told):
        view.segment(prompt)


@pytest.mark.skipif(not FRAMES.is_dir(), reason="the real frames are not beside this repository (../shared/frames)")
@pytest.mark.parametrize("name", REAL)
def test_a_person_would_agree_on_real_frames(name):
    truth = np.array(Image.open(FRAMES / name / "truth" / "masks.png"))
    known = {
        entry["id"]: entry["name"] for entry in json.loads((FRAMES / name / "truth/truth.json").read_text())["objects"]
    }
    view = DepthSegmenter().open(load(FRAMES / name))
    segments = view.automatic()
    for i, label in known.items():
        assert max(overlap(segment.mask, truth == i) for segment in segments) > 0.75, label
        depth = truth == i
        assert overlap(view.segment(at(*middle(depth)))[0].mask, depth) > 0.5, label
