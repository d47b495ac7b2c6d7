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
