"""Whether a mask holds two things, one standing on the other: a step with another colour above it than below."""

import cv2
import numpy as np

from pipeline.frame import Frame, Support
from pipeline.geometry import transform

STEP = 0.004
"""Metres about a height within which points belong to a step there."""
LEAST = 0.015
"""Metres that a step lies above the foot and below the top."""
TREAD = 0.04
"""Share of all points that lie on a step and look upwards."""
OTHER = 28.0
"""Distance in Lab between what is above and what is below, from which these are of different colours."""
EACH = 0.12
"""Share of all points that each of the two has at least."""
POINTS = 1500


def step_height(frame: Frame, support: Support, mask: np.ndarray) -> float | None:
    """Height in metres at which one thing seems to stand on another; None where the mask seems to hold one thing.

    Colours alone would part a bottle from its cap, and steps alone a drill from its foot.
    """
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool) & (frame.depth > 0)
    if inner.sum() < 200:
        return None
    points = transform(support.world_from_camera, frame.points[inner].astype(float))
    lab = cv2.cvtColor(frame.rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[inner]
    skip = max(1, len(points) // POINTS)
    points, lab = points[::skip], lab[::skip]
    top = float(np.quantile(points[:, 2], 0.98))
    tread = points[_level(points, support.world_from_camera[:3, 3]), 2]
    tread = tread[(tread > LEAST) & (tread < top - LEAST)]
    if len(tread) < TREAD * len(points):
        return None
    counts, edges = np.histogram(tread, bins=np.arange(LEAST, top, STEP / 2))
    if not len(counts):
        return None
    around = np.convolve(counts, np.ones(3), "same")
    height = float(edges[int(around.argmax())] + STEP / 4)
    above, below = points[:, 2] > height + STEP, points[:, 2] < height - STEP
    if around.max() < TREAD * len(points) or min(above.mean(), below.mean()) < EACH:
        return None
    apart = float(np.linalg.norm(np.median(lab[above], axis=0) - np.median(lab[below], axis=0)))
    return height if apart > OTHER else None


def _level(points: np.ndarray, eye: np.ndarray) -> np.ndarray:
    """Which points lie on a surface that looks upwards, of shape (N,), bool."""
    import open3d  # takes a second: not at start-up

    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(20))
    cloud.orient_normals_towards_camera_location(eye)
    return np.asarray(cloud.normals)[:, 2] > 0.85
