"""Heights of an object and its surroundings as seen from straight above."""

from dataclasses import dataclass

import numpy as np

from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics

MARGIN_M = 0.05
"""How far the map extends beyond the object."""


@dataclass(frozen=True, eq=False)
class SurfaceHeights:
    """Heights from above, on a grid of N points."""

    physics: Physics
    name: str
    """Name of the object."""
    points: np.ndarray
    """World x and y in metres, of shape (N, 2)."""
    heights: np.ndarray
    """World z in metres, of shape (N,); -1 where there is nothing."""
    own: np.ndarray
    """Whether a point is on the object, of shape (N,)."""
    labels: np.ndarray
    """Label of the object at each point, of shape (N,)."""
    pitch: float
    """Grid spacing in metres."""

    def is_above(self, points: np.ndarray, height: float) -> np.ndarray:
        """Cast rays at further points (N, 2). Return where the object is seen above a height, of shape (N,)."""
        heights, labels, _ = self.physics.surface(points)
        return (labels == self.physics.label_of(self.name)) & (heights > height)


def measure_heights(physics: Physics, target: Object) -> SurfaceHeights:
    """Cast rays down on an object and 5 cm around it, with a pitch of 3 to 7 mm."""
    low, high = target.outline.min(0) - MARGIN_M, target.outline.max(0) + MARGIN_M
    pitch = float(np.clip((high - low).max() / 56, 0.003, 0.007))
    x, y = np.meshgrid(np.arange(low[0], high[0], pitch), np.arange(low[1], high[1], pitch))
    points = np.stack([x.ravel(), y.ravel()], -1)
    points = points[Region(target.outline).distance(points) < MARGIN_M]
    heights, labels, _ = physics.surface(points)
    own = labels == physics.label_of(target.name)
    return SurfaceHeights(physics, target.name, points, np.nan_to_num(heights, nan=-1.0), own, labels, pitch)
