"""One upright thing parted by print or paint at a line round it, put together again: a label, a lid, a painted foot."""

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.segmentation.standing import Heights

BAND = 0.015
"""Metres above and below their common line in which two parts are compared."""
FLUSH = 0.004
"""Metres by which the one may stand out over the other (95th percentile): what is stacked never fits so well."""
LEAST = 12
"""Points that are compared at the least, on either side."""


def continued(view: Heights, masks: list[np.ndarray]) -> list[np.ndarray]:
    """The masks (h, w), largest first, with those put together that are one wall above and below a line."""
    whole: list[np.ndarray] = []
    for mask in sorted(masks, key=np.count_nonzero, reverse=True):
        home = next((i for i, other in enumerate(whole) if one_wall(view, other, mask)), None)
        if home is None:
            whole.append(mask)
        else:
            whole[home] = whole[home] | mask
    return whole


def one_wall(view: Heights, one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two masks (h, w) meet at a line over and under which they have the same outline, seen from above."""
    line = _grown(one) & _grown(other) & view.known
    if np.count_nonzero(line) < LEAST:
        return False
    middle = float(np.median(view.points[line][:, 2]))
    upper, lower = sorted((view.points[mask & view.known] for mask in (one, other)), key=_height, reverse=True)
    over = upper[(upper[:, 2] > middle) & (upper[:, 2] < middle + BAND), :2]
    under = lower[(lower[:, 2] < middle) & (lower[:, 2] > middle - BAND), :2]
    if min(len(over), len(under)) < LEAST:
        return False
    apart = np.concatenate([KDTree(over).query(under)[0], KDTree(under).query(over)[0]])
    return bool(np.quantile(apart, 0.95) < FLUSH)


def _height(points: np.ndarray) -> float:
    return float(np.median(points[:, 2])) if len(points) else 0.0


def _grown(mask: np.ndarray) -> np.ndarray:
    return cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
