"""Merge masks of one upright object that print or paint divides at a line around it: a label, a lid, a painted base."""

from functools import partial

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.mask_operations import join_greedily

BAND = 0.015
"""Metres above and below the common line in which the outlines of two parts are compared."""
MIN_POINTS = 12
"""Points needed on the line and on each side of it."""


def merge_vertically(view: HeightMap, masks: list[np.ndarray]) -> list[np.ndarray]:
    """Return the masks (h, w), largest first, with those joined that share a wall above and below a line."""
    ordered = sorted(masks, key=np.count_nonzero, reverse=True)
    return join_greedily(ordered, partial(share_wall, view), np.logical_or)


def share_wall(view: HeightMap, a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two masks (h, w) meet at a line and have the same outline, from above, on both sides of it."""
    line = _dilated(a) & _dilated(b) & view.known
    if np.count_nonzero(line) < MIN_POINTS:
        return False
    line_height = float(np.median(view.points[line][:, 2]))
    upper, lower = sorted((view.points[mask & view.known] for mask in (a, b)), key=_median_height, reverse=True)
    over = upper[(upper[:, 2] > line_height) & (upper[:, 2] < line_height + BAND), :2]
    under = lower[(lower[:, 2] < line_height) & (lower[:, 2] > line_height - BAND), :2]
    if min(len(over), len(under)) < MIN_POINTS:
        return False
    gaps = np.concatenate([KDTree(over).query(under)[0], KDTree(under).query(over)[0]])
    # 0.004: metres between the two outlines (95th percentile) up to which they are one wall; stacked objects fit less
    # well
    return bool(np.quantile(gaps, 0.95) < 0.004)


def _median_height(points: np.ndarray) -> float:
    return float(np.median(points[:, 2])) if len(points) else 0.0


def _dilated(mask: np.ndarray) -> np.ndarray:
    return cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
