"""Touching things are told apart, one thing stays whole, and clicks act on parts."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import DepthSegmenter, Prompt, Segment, split
from pipeline.segmentation.parts import same_thing
from pipeline.segmentation.review import doubts
from pipeline.segmentation.standing import doubtful, joined

CAMERA = Intrinsics(640, 480, 600.0, 600.0, 319.5, 239.5)
LEAN = np.radians(45)
BOXES = {
    "red": ((-0.05, -0.02, 0.03), (0.04, 0.04, 0.03), (190, 40, 40)),
    "blue": ((-0.05, -0.02, 0.08), (0.022, 0.022, 0.02), (40, 60, 190)),
    "green": ((0.16, 0.06, 0.04), (0.03, 0.03, 0.04), (50, 160, 60)),
}
"""Middle, half size and colour of boxes along the world's axes: blue stands on red, green by itself."""


def photograph(boxes, rng):
    """A table at z = 0 and boxes on it, seen from 0.8 m at 45 degrees: the frame, and the boxes' visible pixels."""
    eye = np.array([0, -0.8 * np.cos(LEAN), 0.8 * np.sin(LEAN)])
    rotation = np.stack([[1, 0, 0], [0, -np.sin(LEAN), -np.cos(LEAN)], [0, np.cos(LEAN), -np.sin(LEAN)]], 1)
    v, u = np.mgrid[0:480, 0:640]
    rays = np.stack([(u - CAMERA.cx) / CAMERA.fx, (v - CAMERA.cy) / CAMERA.fy, np.ones(u.shape)], -1) @ rotation.T
    depth = np.where(rays[..., 2] < 0, -eye[2] / rays[..., 2], 0)
    label = np.zeros(u.shape, int)
    rgb = np.full((*u.shape, 3), (170, 150, 125), float)
    for i, (middle, half, colour) in enumerate(boxes.values(), 1):
        near, far = ((np.array(middle) + side * np.array(half) - eye) / rays for side in (-1, 1))
        enter = np.minimum(near, far)
        first, last = enter.max(-1), np.maximum(near, far).min(-1)
        hit = (first < last) & (first < depth)
        depth, label = np.where(hit, first, depth), np.where(hit, i, label)
        shade = np.array([0.8, 0.65, 1.0])[enter.argmax(-1)]
        rgb[hit] = (shade[..., None] * colour)[hit]
    depth = depth + rng.normal(0, 0.0007, depth.shape)
    rgb = (rgb + rng.normal(0, 3, rgb.shape)).clip(0, 255).astype(np.uint8)
    truth = {name: label == i for i, name in enumerate(boxes, 1)}
    return Frame(rgb, depth.astype(np.float32), CAMERA), truth


def overlap(a, b):
    return np.count_nonzero(a & b) / np.count_nonzero(a | b)


def middle(mask):
    rows, cols = np.nonzero(mask)
    return float(np.median(cols)), float(np.median(rows))


@pytest.fixture(scope="module")
def stacked():
    frame, truth = photograph(BOXES, np.random.default_rng(0))
    return DepthSegmenter().open(frame), truth


def test_a_box_by_itself_is_one_segment(stacked):
    view, truth = stacked
    assert sum(np.count_nonzero(segment.mask & truth["green"]) > 100 for segment in view.automatic()) == 1


def test_two_boxes_stacked_are_two_segments(stacked):
    view, truth = stacked
    for name in ("red", "blue"):
        assert max(overlap(segment.mask, truth[name]) for segment in view.automatic()) > 0.8


def test_a_mask_of_both_boxes_is_split_into_the_two(stacked):
    view, truth = stacked
    both = truth["red"] | truth["blue"]
    parts = split(Segment(3, both), 9, seen=view.parted(both))
    assert {part.id for part in parts} == {3, 9} and (parts[0].mask ^ parts[1].mask == both).all()
    for name in ("red", "blue"):
        assert max(overlap(part.mask, truth[name]) for part in parts) > 0.8


def test_a_mask_of_one_box_is_not_taken_apart(stacked):
    view, truth = stacked
    (whole,) = view.parted(truth["green"])
    assert (whole == truth["green"]).all()


def test_what_may_be_several_says_so_until_a_person_has_drawn_it():
    mask = np.ones((20, 20), bool)
    assert "several" in " ".join(doubts(Segment(1, mask, 0.5, "depth")))
    assert not doubts(Segment(1, mask, 1.0, "depth")) and not doubts(Segment(1, mask, 0.5, "human"))


def test_a_click_on_the_upper_box_of_a_stack_gives_it_as_first_or_second_reading(stacked):
    view, truth = stacked
    readings = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([1])))
    assert max(overlap(reading.mask, truth["blue"]) for reading in readings[:2]) > 0.8


def test_one_minus_click_takes_a_whole_part_away_and_leaves_the_rest(stacked):
    view, truth = stacked
    both = truth["red"] | truth["blue"]
    after = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([0]), mask=both))[0].mask
    assert overlap(after, truth["red"]) > 0.85


def test_a_part_that_holds_an_earlier_plus_is_not_taken_by_a_minus(stacked):
    view, truth = stacked
    both = truth["red"] | truth["blue"]
    x, y = middle(truth["blue"])
    kept = view.segment(Prompt(np.array([[x, y - 8], [x, y]]), np.array([1, 0]), mask=both))[0].mask
    assert kept[int(y) - 8, int(x)] and not kept[int(y), int(x)]


def test_what_a_border_is_judged_by_is_finite_and_bounded():
    features = np.random.default_rng(0).normal(0, 50, (200, 14))
    assert (np.abs(same_thing(features)) <= 8).all()


def test_a_part_without_any_depth_joins_nothing_and_breaks_nothing(stacked):
    view, truth = stacked
    seen = view._heights
    unknown = replace(seen, depth=np.where(truth["blue"], 0, seen.depth))
    assert len(joined(unknown, [truth["red"], truth["blue"]])) == 2
    window = (slice(0, 480), slice(0, 640))
    assert not doubtful(unknown, truth["blue"], window)[truth["blue"]].any()
    assert len(DepthSegmenter().open(replace(view.frame, depth=unknown.depth)).automatic()) >= 2
