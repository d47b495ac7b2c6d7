"""Limit the effect of a later click to its surroundings, as the DepthSegmenter does."""

import cv2
import numpy as np

from pipeline.segmentation.mask_operations import disc, part_at_pixel

REACH_FACTOR, REACH_RANGE = 3.0, (0.008, 0.1)
"""A click changes pixels within this many times its distance from the mask's edge, and within this range in shares of
the image's width: a click close to the edge means a small correction."""


def correct_locally(before: np.ndarray, after: np.ndarray, click: tuple[float, float, int]) -> np.ndarray:
    """Return `before` with the changes in `after` near the newest click (x, y, label); masks (H, W), bool.

    A click on a pixel that already has its label changes nothing; any other click's pixel gets its label.
    """
    x, y, label = int(click[0]), int(click[1]), bool(click[2])
    if before[y, x] == label:
        return before
    wrong = before != label
    width = before.shape[1]
    gap = float(cv2.distanceTransform(wrong.astype(np.uint8), cv2.DIST_L2, 5)[y, x])
    reach = round(np.clip(REACH_FACTOR * gap, REACH_RANGE[0] * width, REACH_RANGE[1] * width))
    # Share of the image's width around a click that certainly has its label
    certain = disc(before.shape, x, y, max(1, round(0.003 * width))) & wrong
    changed = (after == label) & wrong & disc(before.shape, x, y, reach) | certain
    region = part_at_pixel(changed, x, y)
    return before | region if label else before & ~region
