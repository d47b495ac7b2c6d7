"""Printed faces compared point by point: SIFT (Lowe 2004) in the crop and in a view, held together by one affine map.

Positive evidence only: many agreeing points prove the product, few say nothing.
"""

from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from pipeline.assets.asset import Asset
from pipeline.assets.views import look, rotations

SIDE = 192
"""Pixels of the longer side of a crop, and of a view: 256 with two views took four times as long and proved no more."""
STEP = 5.0
"""Degrees between the elevations that views are drawn from: what is seen from one camera shares them."""


def keypoints(picture: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Places (N, 2) and descriptors (N, 128) of a picture (H, W, 3) uint8 within a mask; None where there are few."""
    grey = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY)
    factor = SIDE / max(grey.shape)
    grey = cv2.resize(grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA)
    inside = cv2.resize(mask.astype(np.uint8), grey.shape[::-1], interpolation=cv2.INTER_NEAREST)
    grey = cv2.createCLAHE(2, (4, 4)).apply(grey)
    sift: Any = cv2.SIFT.create(600, contrastThreshold=0.02)
    points, descriptors = sift.detectAndCompute(grey, cv2.erode(inside, np.ones((5, 5))))
    return None if len(points) < 8 else (np.array([p.pt for p in points], np.float32), descriptors)


def agreeing_points(
    asset: Asset, seen: tuple[np.ndarray, np.ndarray] | None, elevation: float, azimuth: float, up: np.ndarray
) -> int:
    """How many of a crop's points lie alike in the asset's view from these degrees: SIFT follows a face over twenty."""
    if seen is None:
        return 0
    shown = _shown(asset, STEP * round(elevation / STEP), float(azimuth), tuple(map(float, up.ravel())))
    return _alike(seen, shown) if shown else 0


@lru_cache(maxsize=256)
def _shown(
    asset: Asset, elevation: float, azimuth: float, up: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    turn = rotations(np.array([azimuth]), np.array([elevation]), np.reshape(up, (3, 3)))
    view = look(asset, turn, SIDE, finest=1024)
    return keypoints(view.rgb[0], view.masks[0])


def _alike(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> int:
    pairs = cv2.BFMatcher().knnMatch(a[1], b[1], k=2)
    clear = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < 0.78 * pair[1].distance]
    if len(clear) < 6:
        return 0
    start, end = a[0][[m.queryIdx for m in clear]], b[0][[m.trainIdx for m in clear]]
    affine, inliers = cv2.estimateAffine2D(start, end, ransacReprojThreshold=8)
    if affine is None or np.linalg.det(affine[:, :2]) < 0:
        return 0  # no map, or one that mirrors
    strongest, weakest = np.linalg.svd(affine[:, :2])[1]
    return int(inliers.sum()) if strongest < 2.2 and weakest > 0.35 else 0
