"""The table: the plane things stand on, its region, and the world frame on top of it."""

from dataclasses import dataclass

import numpy as np

from pipeline.geometry import Plane


@dataclass(frozen=True, eq=False)
class Support:
    """What the objects stand on. World frame: z up, table top at z = 0.

    Where the frame gives no camera pose, the world's origin lies on the table under the middle of what is seen of
    it, x points to the camera's right and y away from the camera.
    """

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    plane: Plane
    """In camera axes, the normal towards the camera."""
    polygon: np.ndarray
    """Convex outline of the table's seen top, of shape (N, 2), world x and y in metres, anticlockwise."""
    inliers: np.ndarray
    """Pixels that show the table's top, of shape (H, W), bool."""
