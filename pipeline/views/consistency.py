"""What one depth image says about points that another camera measured: the same surface, hidden, or seen through."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame import Frame
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.plane_extraction import depth_noise
from pipeline.frame.reprojection import project
from pipeline.geometry import transform

MARGIN_M = 0.006
"""Distance, beside the noise of depth, up to which two measurements are of one surface: registration is as exact."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Points (N,) against one depth image; a point outside of it, or where it has no depth, is none of the three."""

    pixels: np.ndarray
    """x and y, of shape (N, 2), int; 0 outside of the image."""
    same: np.ndarray
    """Points on the measured surface, bool."""
    hidden: np.ndarray
    """Points behind it, bool."""
    seen_through: np.ndarray
    """Points in front of it, where the camera saw nothing, bool."""


def compare(points: np.ndarray, frame: Frame, camera_from_points: np.ndarray) -> Consistency:
    """Compare points (N, 3) with the depth of a frame; `camera_from_points` has shape (4, 4)."""
    local = transform(camera_from_points, points)
    pixels, inside = project(local, frame.intrinsics)
    u, v = pixels.T
    nearest, farthest = (depth[v, u] for depth in _depth_around(frame))
    known = inside & (nearest > 0)
    margin = MARGIN_M + depth_noise(local[:, 2])
    in_front = known & (local[:, 2] < nearest - margin)
    behind = known & (local[:, 2] > farthest + margin)
    return Consistency(pixels, known & ~in_front & ~behind, behind, in_front)


@once_per_frame
def _depth_around(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest depth among each pixel and its neighbours, 0 beside a hole: an edge is known to
    one pixel only."""
    kernel = np.ones((3, 3), np.uint8)
    nearest = cv2.erode(frame.depth, kernel)
    return nearest, np.where(nearest > 0, cv2.dilate(frame.depth, kernel), 0)
