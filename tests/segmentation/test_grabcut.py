"""Colour refines the edge of a mask, and decides where depth is missing."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from pipeline.frame import Frame
from pipeline.segmentation import DepthSegmenter

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
