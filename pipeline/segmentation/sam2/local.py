"""A later click changes what it speaks for, and nothing else: the DepthSegmenter's rule, on SAM 2's answers."""

import cv2
import numpy as np

FAR, REACH = 3.0, (0.008, 0.1)
"""A click close to the mask's edge means a small correction: it changes what lies within so many times its distance
from that edge, and within these shares of the picture's width."""
DISC = 0.003
"""Share of the picture's width around a click that certainly has its label."""


def local(before: np.ndarray, after: np.ndarray, click: tuple[float, float, int]) -> np.ndarray:
    """`before` with those of `after`'s changes that the newest click (x, y, label) speaks for; masks (H, W), bool.

    A click that is right already changes nothing; one that is wrong becomes right, whatever `after` says.
    """
    x, y, label = int(click[0]), int(click[1]), bool(click[2])
    if before[y, x] == label:
        return before
    wrong = before != label
    width = before.shape[1]
    gap = float(cv2.distanceTransform(wrong.astype(np.uint8), cv2.DIST_L2, 5)[y, x])
    reach = round(np.clip(FAR * gap, REACH[0] * width, REACH[1] * width))
    sure = _disc(before.shape, x, y, max(1, round(DISC * width))) & wrong
    changed = (after == label) & wrong & _disc(before.shape, x, y, reach) | sure
    _, parts = cv2.connectedComponents(changed.astype(np.uint8), connectivity=4)
    region = parts == parts[y, x]
    return before | region if label else before & ~region


def _disc(shape: tuple[int, ...], x: int, y: int, radius: int) -> np.ndarray:
    return cv2.circle(np.zeros(shape, np.uint8), (x, y), radius, 1, -1) > 0
