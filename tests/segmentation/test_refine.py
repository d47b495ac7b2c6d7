"""Colour draws a mask's edge; what depth knows stays the thing's own, what depth does not know is colour's to say."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from pipeline.frame import Frame
from pipeline.segmentation import DepthSegmenter
from tests.frame.rendered import COLOURS, render

POST = '<geom name="red_box" type="box" size=".014 .014 .06" pos="0 0 .06"/>'


def found(frame: Frame, truth: np.ndarray) -> float:
    """IoU of the automatic mask that fits a true one best."""
    masks = [segment.mask for segment in DepthSegmenter().open(frame).automatic()]
    return max((float(np.count_nonzero(m & truth) / np.count_nonzero(m | truth)) for m in masks), default=0.0)


def lost_in_spots(depth: np.ndarray, mask: np.ndarray, share: float) -> np.ndarray:
    """Depth of which a share is missing inside a mask, in spots some pixels wide."""
    rough = cv2.GaussianBlur(np.random.default_rng(3).random(depth.shape), (0, 0), 4)
    return np.where(mask & (rough < np.quantile(rough[mask], share)), 0, depth).astype(np.float32)


@pytest.mark.parametrize("name", ["red_box", "green_sphere"])
def test_what_swallows_most_of_the_cameras_light_is_still_outlined(name):
    seen = render(width=640)
    truth = seen.labels[name]
    iou = found(replace(seen.frame, depth=lost_in_spots(seen.frame.depth, truth, 0.7)), truth)
    assert iou > 0.8


def test_what_is_painted_like_the_table_is_still_a_part_of_a_slender_thing():
    seen = render(POST, width=640)
    truth, rgb = seen.labels["red_box"], seen.frame.rgb.copy()
    rows = np.flatnonzero(truth.any(axis=1))
    lower = truth & (np.arange(len(truth))[:, None] > rows[len(rows) // 2])
    rgb[lower] = np.clip(np.array(COLOURS["table"]) + np.random.default_rng(0).normal(0, 6, (lower.sum(), 1)), 0, 255)
    iou = found(replace(seen.frame, rgb=rgb), truth)
    assert iou > 0.8
