"""The embedded segmenter on rendered and real frames with ground truth, also where depth is missing."""

import json
import threading
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image
from reference_frames import reference_frame

from pipeline.frame import Frame, load
from pipeline.segmentation import DepthSegmenter, Prompt, SegmentationError
from pipeline.segmentation.mask_operations import iou
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


def test_wall_floor_and_table_are_not_objects():
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


@pytest.mark.parametrize("pixel", [(3, 3), (320, 470), (600, 240), (320, 200)])
def test_every_click_gives_a_mask_with_the_clicked_pixel(view, pixel):
    readings = view.segment(at(*pixel))
    assert 1 <= len(readings) <= 3 and readings[0].mask[pixel[1], pixel[0]]


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


POST = '<geom name="red_box" type="box" size=".014 .014 .06" pos="0 0 .06"/>'


def best_iou(frame: Frame, truth: np.ndarray) -> float:
    masks = [segment.mask for segment in DepthSegmenter().open(frame).automatic()]
    return max((float(np.count_nonzero(m & truth) / np.count_nonzero(m | truth)) for m in masks), default=0.0)


def with_holes(depth: np.ndarray, mask: np.ndarray, share: float) -> np.ndarray:
    rough = cv2.GaussianBlur(np.random.default_rng(3).random(depth.shape), (0, 0), 4)
    return np.where(mask & (rough < np.quantile(rough[mask], share)), 0, depth).astype(np.float32)


@pytest.mark.parametrize("name", ["red_box", "green_sphere"])
def test_an_object_with_most_of_its_depth_missing_is_segmented(scene, name):
    truth = scene.labels[name]
    assert best_iou(replace(scene.frame, depth=with_holes(scene.frame.depth, truth, 0.7)), truth) > 0.8
