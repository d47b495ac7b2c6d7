"""The embedded segmenter on rendered and real frames with ground truth: objects, clicks, parts and fragments."""

import json
import threading
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image
from reference_frames import reference_frame

from pipeline.frame import load
from pipeline.frame.support import find_support
from pipeline.geometry import transform
from pipeline.segmentation import DepthSegmenter, Prompt, Segment, SegmentationError, split
from pipeline.segmentation.depth.instance_split import classify_boundaries
from pipeline.segmentation.depth.object_proposals import join_fragments, uncertain_pixels
from pipeline.segmentation.fragments import find_fragments
from pipeline.segmentation.mask_operations import iou
from pipeline.segmentation.mask_review import review_reasons
from tests.frame.rendered import render

REAL = ["grasp6dof_white_bowl", "posecnn_0", "m2t2_02"]


def at(x, y, label=1):
    return Prompt(np.array([[x, y]], float), np.array([label]))


def middle(mask):
    rows, cols = np.nonzero(mask)
    return cols[len(cols) // 2], rows[len(rows) // 2]


def test_each_object_on_the_table_is_one_segment_disjoint_numbered_and_reproducible(scene, view):
    segments = view.automatic()
    assert len(segments) == len(scene.labels)
    for name, truth in scene.labels.items():
        assert max(iou(segment.mask, truth) for segment in segments) > 0.9, name
    segments, repeated = view.automatic(), DepthSegmenter().open(scene.frame).automatic()
    assert [segment.id for segment in segments] == list(range(1, len(segments) + 1))
    assert sum(segment.mask.astype(int) for segment in segments).max() == 1
    assert all(np.array_equal(a.mask, b.mask) for a, b in zip(segments, repeated, strict=True))
    assert all(segment.mask.dtype == bool and segment.mask.shape == scene.frame.depth.shape for segment in segments)
    assert DepthSegmenter().open(render("").frame).automatic() == ()


def test_a_prepared_view_gives_the_same_answer_as_one_that_is_not(scene, view):
    ready = DepthSegmenter().open(scene.frame)
    threads = [threading.Thread(target=method) for method in (ready.prepare, ready.automatic)]
    for thread in threads:
        thread.start()
    y, x = np.argwhere(next(iter(scene.labels.values()))).mean(0).astype(int)
    prompt = Prompt(np.array([[x, y]], float), np.array([1]))
    answers = [opened.segment(prompt)[0].mask for opened in (ready, view)]
    for thread in threads:
        thread.join()
    assert np.array_equal(*answers)


def test_a_click_or_a_box_selects_its_object_and_a_later_click_does_not_undo_the_first(scene, view):
    for name, truth in scene.labels.items():
        assert iou(view.segment(at(*middle(truth)))[0].mask, truth) > 0.9, name
    for name, truth in scene.labels.items():
        rows, cols = np.nonzero(truth)
        box = np.array([cols.min(), rows.min(), cols.max() + 1, rows.max() + 1])
        assert iou(view.segment(Prompt(box=box))[0].mask, truth) > 0.9, name
    for truth in scene.labels.values():
        x, y = np.argwhere(truth).mean(0).astype(int)[::-1]
        for offset in (4, 8, 12):
            prompt = Prompt(np.array([[x, y], [x + offset, y]], float), np.array([1, 0]))
            mask = view.segment(prompt)[0].mask
            assert mask[y, x] and not mask[y, x + offset]
    for x, y in ((3, 3), (320, 470), (600, 240), (320, 200)):
        readings = view.segment(at(x, y))
        assert 1 <= len(readings) <= 3 and readings[0].mask[y, x]


def test_clicks_give_the_same_mask_together_and_nothing_new_on_a_pixel_with_their_label(scene, view):
    truth = scene.labels["blue_cylinder"]
    for mask in (truth, view.automatic()[0].mask):
        inside, outside = middle(mask), (5, 5)
        prompt = Prompt(np.array([inside, outside], float), np.array([1, 0]), mask=mask)
        assert np.array_equal(view.segment(prompt)[0].mask, mask)
    x, y = middle(scene.labels["red_box"])
    points, labels = np.array([[x, y], [x + 30, y + 40], [x - 10, y - 5]], float), np.array([1, 1, 0])
    step = DepthSegmenter().open(scene.frame)
    for n in (1, 2, 3):
        one_by_one = step.segment(Prompt(points[:n], labels[:n]))[0].mask
    together = DepthSegmenter().open(scene.frame).segment(Prompt(points, labels))[0].mask
    assert np.array_equal(one_by_one, together)


@pytest.mark.parametrize(
    "prompt, message",
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
def test_invalid_prompts_are_refused_in_one_line(view, prompt, message):
    with pytest.raises(SegmentationError, match=message):
        view.segment(prompt)


@pytest.mark.frames
@pytest.mark.parametrize("name", REAL)
def test_masks_agree_with_the_ground_truth_of_real_frames(name):
    folder = reference_frame(name)
    truth = np.array(Image.open(folder / "truth" / "masks.png"))
    known = {entry["id"]: entry["name"] for entry in json.loads((folder / "truth/truth.json").read_text())["objects"]}
    view = DepthSegmenter().open(load(folder))
    segments = view.automatic()
    for i, label in known.items():
        assert max(iou(segment.mask, truth == i) for segment in segments) > 0.75, label
        mask = truth == i
        assert iou(view.segment(at(*middle(mask)))[0].mask, mask) > 0.5, label


@pytest.mark.parametrize("name", ["red_box", "green_sphere"])
def test_an_object_with_most_of_its_depth_missing_is_segmented(scene, name):
    truth = scene.labels[name]
    rough = cv2.GaussianBlur(np.random.default_rng(3).random(truth.shape), (0, 0), 4)
    holes = truth & (rough < np.quantile(rough[truth], 0.7))
    frame = replace(scene.frame, depth=np.where(holes, 0, scene.frame.depth).astype(np.float32))
    assert max(iou(segment.mask, truth) for segment in DepthSegmenter().open(frame).automatic()) > 0.8


BOXES = """
<geom name="red_box" type="box" size=".04 .04 .03" pos="-.05 -.02 .03"/>
<geom name="blue_cylinder" type="box" size=".022 .022 .02" pos="-.05 -.02 .08"/>
<geom name="green_sphere" type="box" size=".03 .03 .04" pos=".16 .06 .04"/>"""


def test_stacked_boxes_are_two_segments_by_themselves_by_a_split_and_by_a_click_and_without_depth():
    rendered = render(BOXES, width=640)
    view = DepthSegmenter().open(rendered.frame)
    truth = {name.partition("_")[0]: mask for name, mask in rendered.labels.items()}
    for name in ("red", "blue"):
        assert max(iou(segment.mask, truth[name]) for segment in view.automatic()) > 0.8
    both = truth["red"] | truth["blue"]
    parts = split(Segment(3, both), 9, proposals=view.propose_parts(both))
    assert {part.id for part in parts} == {3, 9} and (parts[0].mask ^ parts[1].mask == both).all()
    for name in ("red", "blue"):
        assert max(iou(part.mask, truth[name]) for part in parts) > 0.8
    (part,) = view.propose_parts(truth["green"])
    assert (part == truth["green"]).all()
    y, x = np.median(np.nonzero(truth["blue"]), axis=1)
    readings = view.segment(at(x, y))
    assert max(iou(reading.mask, truth["blue"]) for reading in readings[:2]) > 0.8
    after = view.segment(replace(at(x, y, 0), mask=both))[0].mask
    assert iou(after, truth["red"]) > 0.85
    heights = view._height_map
    unknown = replace(heights, depth=np.where(truth["blue"], 0, heights.depth))
    assert len(join_fragments(unknown, [truth["red"], truth["blue"]])) == 2
    window = (slice(0, 480), slice(0, 640))
    assert not uncertain_pixels(unknown, truth["blue"], window)[truth["blue"]].any()
    assert len(DepthSegmenter().open(replace(view.frame, depth=unknown.depth)).automatic()) >= 2


def test_a_mask_of_several_objects_needs_review_and_log_odds_of_boundaries_are_bounded():
    mask = np.ones((20, 20), bool)
    assert "several" in " ".join(review_reasons(Segment(1, mask, 0.5, "depth")))
    assert not review_reasons(Segment(1, mask, 1.0, "depth")) and not review_reasons(Segment(1, mask, 0.5, "human"))
    assert (np.abs(classify_boundaries(np.random.default_rng(0).normal(0, 50, (200, 14)))) <= 8).all()


OBJECTS = """
<geom name="carton" type="box" size=".06 .05 .07" pos="0 0 .07"/>
<geom name="beside" type="box" size=".008 .008 .008" pos="-.075 -.05 .008"/>
<geom name="on_top" type="box" size=".008 .008 .008" pos=".03 .02 .148"/>
"""


def test_a_piece_of_a_lid_apart_from_its_carton_is_a_fragment_of_it_and_a_small_object_is_not():
    view = render(OBJECTS)
    support, carton = find_support(view.frame), view.labels["carton"]
    x, y, z = np.moveaxis(transform(view.world_from_camera, view.frame.points.astype(float)), -1, 0)
    lid = carton & (z > 0.136)
    fragment = lid & (np.abs(x) < 0.012) & (np.abs(y + 0.026) < 0.008)
    both = [Segment(1, carton & ~lid, 1.0, "depth"), Segment(2, fragment, 1.0, "depth")]
    assert fragment.sum() > 10 and find_fragments(view.frame, support, both) == {2: 1}
    for name in ("beside", "on_top"):
        both = [Segment(1, carton, 1.0, "depth"), Segment(2, view.labels[name], 1.0, "depth")]
        assert both[1].mask.sum() > 20 and find_fragments(view.frame, support, both) == {}
