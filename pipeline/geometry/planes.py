"""Planes in space. Lengths in metres."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Plane:
    """All points p with normal . p + offset = 0; positive on the normal's side."""

    normal: np.ndarray
    """Of shape (3,), unit length."""
    offset: float
    """In metres."""

    def height(self, points: np.ndarray) -> np.ndarray:
        """Return the signed distances in metres, of shape (...), of points of shape (..., 3)."""
        return points @ self.normal + self.offset


def inside_polygon(points: np.ndarray, polygon: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """Return which points (..., 2 or more) lie in a convex polygon (N, 2), of shape (...); False for NaN.

    They are at least `margin` away from its sides.
    """
    sides = np.roll(polygon, -1, axis=0) - polygon
    x, y = polygon.T
    sides *= 1 if x @ np.roll(y, -1) > y @ np.roll(x, -1) else -1
    inside = np.ones(points.shape[:-1], bool)
    for corner, side in zip(polygon, sides, strict=True):
        across = side[0] * (points[..., 1] - corner[1]) - side[1] * (points[..., 0] - corner[0])
        inside &= across >= margin * np.hypot(*side)
    return inside
