"""Detect two stacked objects in one mask: a horizontal step with different colours above and below it."""

import cv2
import numpy as np

from pipeline.frame import Frame, Support
from pipeline.geometry import transform

STEP_RANGE = 0.004
"""Metres around the height of a step in which points belong to it."""
MIN_MARGIN = 0.015
"""Metres from a step to the table and to the top of the object."""
MIN_STEP_SHARE = 0.04
"""Share of all points that lie on a step, with upward normals."""


def stacking_height(frame: Frame, support: Support, mask: np.ndarray) -> float | None:
    """Return the height in metres at which one object stands on another; None if the mask shows one object.

    Colour alone would separate a bottle from its cap, and a step alone a drill from its battery.
    """
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool) & (frame.depth > 0)
    if inner.sum() < 200:
        return None
    points = transform(support.world_from_camera, frame.points[inner].astype(float))
    lab = cv2.cvtColor(frame.rgb[inner][None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
    # Points that are evaluated; more are subsampled
    step = max(1, len(points) // 1500)
    points, lab = points[::step], lab[::step]
    top = float(np.quantile(points[:, 2], 0.98))
    step_heights = points[_is_level(points, support.world_from_camera[:3, 3]), 2]
    step_heights = step_heights[(step_heights > MIN_MARGIN) & (step_heights < top - MIN_MARGIN)]
    if len(step_heights) < MIN_STEP_SHARE * len(points):
        return None
    counts, edges = np.histogram(step_heights, bins=np.arange(MIN_MARGIN, top, STEP_RANGE / 2))
    if not len(counts):
        return None
    windowed = np.convolve(counts, np.ones(3), "same")
    height = float(edges[int(windowed.argmax())] + STEP_RANGE / 4)
    above, below = points[:, 2] > height + STEP_RANGE, points[:, 2] < height - STEP_RANGE
    # 0.12: share of all points in each of the two parts
    if windowed.max() < MIN_STEP_SHARE * len(points) or min(above.mean(), below.mean()) < 0.12:
        return None
    distance = float(np.linalg.norm(np.median(lab[above], axis=0) - np.median(lab[below], axis=0)))
    # Distance in CIELAB between the parts above and below the step, from which their colours differ
    return height if distance > 28.0 else None


def _is_level(points: np.ndarray, camera: np.ndarray) -> np.ndarray:
    """Return which points (N, 3) lie on a surface with an upward normal, of shape (N,), bool."""
    import open3d  # takes a second to import

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(20))
    cloud.orient_normals_towards_camera_location(camera)
    return np.asarray(cloud.normals)[:, 2] > 0.85
