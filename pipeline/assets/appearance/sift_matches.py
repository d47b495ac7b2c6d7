"""Compares printed faces point by point: SIFT (Lowe 2004) in the crop and in a view, consistent with one affine map.

The evidence is one-sided: many inliers prove the product, few say nothing.
"""

from functools import lru_cache
from typing import Any

import cv2
import numpy as np

from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.assets.asset import Asset

CROP_PIXELS = 192
"""Longer side of a crop and of a view. 256 with two views took four times as long and proved no more."""
ELEVATION_STEP_DEG = 5.0
"""Step of the elevations that views are rendered at, so that objects seen from one camera share them."""


def detect_keypoints(picture: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return positions (N, 2) and descriptors (N, 128) in a picture (H, W, 3), uint8, within a mask.

    None if there are fewer than 8.
    """
    grey = cv2.cvtColor(np.ascontiguousarray(picture), cv2.COLOR_RGB2GRAY)
    factor = CROP_PIXELS / max(grey.shape)
    grey = cv2.resize(grey, None, fx=factor, fy=factor, interpolation=cv2.INTER_CUBIC if factor > 1 else cv2.INTER_AREA)
    inside = cv2.resize(mask.astype(np.uint8), grey.shape[::-1], interpolation=cv2.INTER_NEAREST)
    grey = cv2.createCLAHE(2, (4, 4)).apply(grey)
    sift: Any = cv2.SIFT.create(600, contrastThreshold=0.02)
    points, descriptors = sift.detectAndCompute(grey, cv2.erode(inside, np.ones((5, 5))))
    return None if len(points) < 8 else (np.array([p.pt for p in points], np.float32), descriptors)


def count_inliers(
    asset: Asset, crop: tuple[np.ndarray, np.ndarray] | None, elevation: float, azimuth: float, up: np.ndarray
) -> int:
    """Return how many of a crop's keypoints match the asset's view from these degrees.

    SIFT tolerates a rotation of about twenty degrees out of the plane.
    """
    if crop is None:
        return 0
    view = _view_keypoints(
        asset, ELEVATION_STEP_DEG * round(elevation / ELEVATION_STEP_DEG), float(azimuth), tuple(map(float, up.ravel()))
    )
    return _affine_inliers(crop, view) if view else 0


@lru_cache(maxsize=256)
def _view_keypoints(
    asset: Asset, elevation: float, azimuth: float, up: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray] | None:
    turn = camera_rotations(np.array([azimuth]), np.array([elevation]), np.reshape(up, (3, 3)))
    view = render_views(asset, turn, CROP_PIXELS, max_texture=1024)
    return detect_keypoints(view.rgb[0], view.masks[0])


def _affine_inliers(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> int:
    pairs = cv2.BFMatcher().knnMatch(a[1], b[1], k=2)
    distinct = [pair[0] for pair in pairs if len(pair) == 2 and pair[0].distance < 0.78 * pair[1].distance]
    if len(distinct) < 6:
        return 0
    start, end = a[0][[m.queryIdx for m in distinct]], b[0][[m.trainIdx for m in distinct]]
    affine, inliers = cv2.estimateAffine2D(start, end, ransacReprojThreshold=8)
    if affine is None or np.linalg.det(affine[:, :2]) < 0:
        return 0  # no map, or a mirrored one
    strongest, weakest = np.linalg.svd(affine[:, :2])[1]
    return int(inliers.sum()) if strongest < 2.2 and weakest > 0.35 else 0
