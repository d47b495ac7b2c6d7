"""Touching objects are split, a single object is not, clicks select parts, and fragments are found."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.frame.support import find_support
from pipeline.geometry import transform
from pipeline.segmentation import DepthSegmenter, Prompt, Segment, split
from pipeline.segmentation.depth.instance_split import classify_boundaries
from pipeline.segmentation.depth.object_proposals import join_fragments, uncertain_pixels
from pipeline.segmentation.fragments import find_fragments
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.mask_review import review_reasons
from tests.frame.rendered import render

BOXES = """
<geom name="red_box" type="box" size=".04 .04 .03" pos="-.05 -.02 .03"/>
<geom name="blue_cylinder" type="box" size=".022 .022 .02" pos="-.05 -.02 .08"/>
<geom name="green_sphere" type="box" size=".03 .03 .04" pos=".16 .06 .04"/>"""


def middle(mask):
    rows, cols = np.nonzero(mask)
    return float(np.median(cols)), float(np.median(rows))


@pytest.fixture(scope="module")
def stacked():
    scene = render(BOXES, width=640)
    return DepthSegmenter().open(scene.frame), {name.partition("_")[0]: mask for name, mask in scene.labels.items()}


def test_two_stacked_boxes_are_two_segments_into_which_a_mask_of_both_is_split_and_one_box_stays_one(stacked):
    view, truth = stacked
    for name in ("red", "blue"):
        assert max(iou(segment.mask, truth[name]) for segment in view.automatic()) > 0.8
    both = truth["red"] | truth["blue"]
    parts = split(Segment(3, both), 9, proposals=view.propose_parts(both))
    assert {part.id for part in parts} == {3, 9} and (parts[0].mask ^ parts[1].mask == both).all()
    for name in ("red", "blue"):
        assert max(iou(part.mask, truth[name]) for part in parts) > 0.8
    (part,) = view.propose_parts(truth["green"])
    assert (part == truth["green"]).all()


def test_a_mask_of_several_objects_needs_review_and_log_odds_of_boundaries_are_bounded():
    mask = np.ones((20, 20), bool)
    assert "several" in " ".join(review_reasons(Segment(1, mask, 0.5, "depth")))
    assert not review_reasons(Segment(1, mask, 1.0, "depth")) and not review_reasons(Segment(1, mask, 0.5, "human"))
    assert (np.abs(classify_boundaries(np.random.default_rng(0).normal(0, 50, (200, 14)))) <= 8).all()


def test_a_click_selects_the_upper_box_and_a_mask_without_depth_is_not_joined(stacked):
    view, truth = stacked
    readings = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([1])))
    assert max(iou(reading.mask, truth["blue"]) for reading in readings[:2]) > 0.8
    both = truth["red"] | truth["blue"]
    after = view.segment(Prompt(np.array([middle(truth["blue"])]), np.array([0]), mask=both))[0].mask
    assert iou(after, truth["red"]) > 0.85
    heights = view._height_map
    unknown = replace(heights, depth=np.where(truth["blue"], 0, heights.depth))
    assert len(join_fragments(unknown, [truth["red"], truth["blue"]])) == 2
    window = (slice(0, 480), slice(0, 640))
    assert not uncertain_pixels(unknown, truth["blue"], window)[truth["blue"]].any()
    assert len(DepthSegmenter().open(replace(view.frame, depth=unknown.depth)).automatic()) >= 2


OBJECTS = """
<geom name="carton" type="box" size=".06 .05 .07" pos="0 0 .07"/>
<geom name="beside" type="box" size=".008 .008 .008" pos="-.075 -.05 .008"/>
<geom name="on_top" type="box" size=".008 .008 .008" pos=".03 .02 .148"/>
"""


@pytest.fixture(scope="module")
def scene():
    rendered = render(OBJECTS)
    return rendered, find_support(rendered.frame)


def test_a_piece_of_a_lid_that_does_not_touch_its_carton_is_a_fragment_of_it(scene):
    view, support = scene
    x, y, z = np.moveaxis(transform(view.world_from_camera, view.frame.points.astype(float)), -1, 0)
    carton = view.labels["carton"]
    lid = carton & (z > 0.136)
    fragment = lid & (np.abs(x) < 0.012) & (np.abs(y + 0.026) < 0.008)
    both = [Segment(1, carton & ~lid, 1.0, "depth"), Segment(2, fragment, 1.0, "depth")]
    assert fragment.sum() > 10 and find_fragments(view.frame, support, both) == {2: 1}


@pytest.mark.parametrize("name", ["beside", "on_top"])
def test_a_small_object_on_the_table_or_on_a_carton_is_not_a_fragment(scene, name):
    view, support = scene
    both = [Segment(1, view.labels["carton"], 1.0, "depth"), Segment(2, view.labels[name], 1.0, "depth")]
    assert both[1].mask.sum() > 20 and find_fragments(view.frame, support, both) == {}
