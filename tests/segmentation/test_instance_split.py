"""Touching objects are split, a single object is not, and clicks select parts."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.frame import Frame, Intrinsics
from pipeline.segmentation import DepthSegmenter, Prompt, Segment, split
from pipeline.segmentation.depth.instance_split import classify_boundaries
from pipeline.segmentation.depth.object_proposals import join_fragments, uncertain_pixels
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.mask_review import review_reasons

CAMERA = Intrinsics(640, 480, 600.0, 600.0, 319.5, 239.5)
LEAN = np.radians(45)
BOXES = {
    "red": ((-0.05, -0.02, 0.03), (0.04, 0.04, 0.03), (190, 40, 40)),
    "blue": ((-0.05, -0.02, 0.08), (0.022, 0.022, 0.02), (40, 60, 190)),
    "green": ((0.16, 0.06, 0.04), (0.03, 0.03, 0.04), (50, 160, 60)),
}
"""Centre, half size and colour of boxes along the world's axes: blue stands on red, green by itself."""


def render_boxes(boxes, rng):
    """Render boxes on a table at z = 0 from 0.8 m at 45 degrees; return the frame and the boxes' visible pixels."""
    eye = np.array([0, -0.8 * np.cos(LEAN), 0.8 * np.sin(LEAN)])
    rotation = np.stack([[1, 0, 0], [0, -np.sin(LEAN), -np.cos(LEAN)], [0, np.cos(LEAN), -np.sin(LEAN)]], 1)
    v, u = np.mgrid[0:480, 0:640]
    rays = CAMERA.ray_directions(u, v) @ rotation.T
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


def middle(mask):
    rows, cols = np.nonzero(mask)
    return float(np.median(cols)), float(np.median(rows))


@pytest.fixture(scope="module")
def stacked():
    frame, truth = render_boxes(BOXES, np.random.default_rng(0))
    return DepthSegmenter().open(frame), truth


def test_two_boxes_stacked_are_two_segments(stacked):
    view, truth = stacked
    for name in ("red", "blue"):
        assert max(iou(segment.mask, truth[name]) for segment in view.automatic()) > 0.8


def test_a_mask_of_both_boxes_is_split_into_the_two(stacked):
    view, truth = stacked
    both = truth["red"] | truth["blue"]
    parts = split(Segment(3, both), 9, proposals=view.propose_parts(both))
    assert {part.id for part in parts} == {3, 9} and (parts[0].mask ^ parts[1].mask == both).all()
    for name in ("red", "blue"):
        assert max(iou(part.mask, truth[name]) for part in parts) > 0.8


def test_a_mask_of_one_box_is_not_split(stacked):
    view, truth = stacked
    (part,) = view.propose_parts(truth["green"])
    assert (part == truth["green"]).all()


def test_a_mask_of_several_objects_needs_review_unless_a_person_drew_it():
    mask = np.ones((20, 20), bool)
    assert "several" in " ".join(review_reasons(Segment(1, mask, 0.5, "depth")))
    assert not review_reasons(Segment(1, mask, 1.0, "depth")) and not review_reasons(Segment(1, mask, 0.5, "human"))


def test_a_click_on_the_upper_box_of_a_stack_selects_it_in_the_first_two_readings(stacked):
    view, truth = stacked
    readings = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([1])))
    assert max(iou(reading.mask, truth["blue"]) for reading in readings[:2]) > 0.8


def test_one_minus_click_removes_a_whole_part(stacked):
    view, truth = stacked
    both = truth["red"] | truth["blue"]
    after = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([0]), mask=both))[0].mask
    assert iou(after, truth["red"]) > 0.85


def test_the_log_odds_of_boundaries_are_bounded():
    features = np.random.default_rng(0).normal(0, 50, (200, 14))
    assert (np.abs(classify_boundaries(features)) <= 8).all()


def test_a_mask_without_depth_is_not_joined_to_another(stacked):
    view, truth = stacked
    heights = view._height_map
    unknown = replace(heights, depth=np.where(truth["blue"], 0, heights.depth))
    assert len(join_fragments(unknown, [truth["red"], truth["blue"]])) == 2
    window = (slice(0, 480), slice(0, 640))
    assert not uncertain_pixels(unknown, truth["blue"], window)[truth["blue"]].any()
    assert len(DepthSegmenter().open(replace(view.frame, depth=unknown.depth)).automatic()) >= 2
