"""How much of an object's outline lies against something in front of it, which may hide a part of it."""

import cv2
import numpy as np

from pipeline.frame.frame import Frame
from pipeline.geometry import bounding_box

NEARER_M = 0.015
"""Something this much nearer is in front of an object, and not the table that it stands on."""
HIDDEN_SHARE, MAYBE_HIDDEN_SHARE = 0.15, 0.08
"""Share of its outline from which an object is partly hidden, or may be; depth is torn where one hides another."""
RING_PX = 3
"""Pixels around a mask that are looked at."""


def hidden_share(frame: Frame, mask: np.ndarray, others: np.ndarray | None = None) -> float:
    """Return the share of a mask's outline (H, W) that something in front, or the picture's edge, may cut, in [0, 1].

    `others` (H, W), bool, are other objects: they count unless they are known to be farther away.
    """
    box = bounding_box(mask)
    # what lies farther away plays no part
    top, left = max(box.top - 2 * RING_PX, 0), max(box.left - 2 * RING_PX, 0)
    window = slice(top, box.bottom + 2 * RING_PX), slice(left, box.right + 2 * RING_PX)
    kernel = np.ones((2 * RING_PX + 1,) * 2, np.uint8)
    framed = np.pad(mask[window].astype(np.uint8), RING_PX)
    ring = cv2.dilate(framed, kernel).astype(bool) & ~framed.astype(bool)
    depth = np.pad(frame.depth[window], RING_PX).astype(np.float32)
    own = cv2.dilate(np.where(framed, depth, 0).astype(np.float32), kernel)  # depth of the object beside each pixel
    cuts = np.pad(np.zeros(mask[window].shape, bool), RING_PX, constant_values=True)
    cuts |= (depth > 0) & (own > 0) & (depth < own - NEARER_M)
    if others is not None:
        cuts |= np.pad(others[window], RING_PX) & ~((depth > own) & (own > 0))
    return float((ring & cuts).sum() / max(ring.sum(), 1))
