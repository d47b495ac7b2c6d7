"""What of an object moves on a joint: its drawers, doors, lids and knobs, each where it is at one moment."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

LEVEL = 0.9
"""Least upright part of the axis of a hinge that counts as upright."""


@dataclass(frozen=True, eq=False)
class Part:
    """World frame: z up, table top at z = 0, metres and radians."""

    name: str
    """Unique within its object: "top_drawer", "door", "lid", "knob"."""
    joint: str
    """As scene.xml calls it."""
    body: str
    kind: str
    """"slide" or "hinge"."""
    end: float
    """Where its joint stands when it is wholly open; shut is 0."""
    lever: float
    """Metres that its farthest point goes for a unit of the joint."""
    value: float
    """Where its joint stands now."""
    axis: np.ndarray
    """Unit vector that it slides along or turns about, of shape (3,)."""
    anchor: np.ndarray
    """A point on that axis, of shape (3,)."""
    corners: np.ndarray
    """Its outermost points, of shape (N, 3)."""

    @property
    def open(self) -> float:
        """How far it is open: 0 shut, 1 wholly."""
        return float(np.clip(self.value / self.end, 0.0, 1.0)) if self.end else 0.0

    @property
    def upright(self) -> bool:
        """It slides, or turns about the vertical: what the hand can do."""
        return self.kind == "slide" or abs(float(self.axis[2])) > LEVEL

    @property
    def travel(self) -> float:
        """Metres that its farthest point goes from shut to wholly open."""
        return abs(self.end) * self.lever

    @property
    def top(self) -> float:
        """Highest z."""
        return float(self.corners[:, 2].max())

    @property
    def bottom(self) -> float:
        """Lowest z."""
        return float(self.corners[:, 2].min())

    def at(self, value: float) -> "Part":
        """The same with its joint elsewhere."""
        return replace(self, value=value, corners=self.carried(self.corners, value - self.value))

    def carried(self, points: np.ndarray, way: float) -> np.ndarray:
        """Where points (N, 3) of it are when its joint has gone `way` further."""
        if self.kind == "slide":
            return points + way * self.axis
        return Rotation.from_rotvec(way * self.axis).apply(points - self.anchor) + self.anchor

    def heading(self, point: np.ndarray) -> np.ndarray:
        """Unit vector in which a point (3,) of it goes when it opens."""
        way = self.axis if self.kind == "slide" else np.cross(self.axis, point - self.anchor)
        return np.sign(self.end or 1.0) * way / max(float(np.linalg.norm(way)), 1e-9)

    def moved(self, turn: np.ndarray, shift: np.ndarray, factor: float = 1.0) -> "Part":
        """With its object turned by turn (3, 3), made larger, both about the origin, then shifted by (3,)."""
        slides = factor if self.kind == "slide" else 1.0
        return replace(
            self, end=self.end * slides, value=self.value * slides, lever=self.lever * factor / slides,
            axis=turn @ self.axis, anchor=factor * turn @ self.anchor + shift,
            corners=factor * self.corners @ turn.T + shift,
        )  # fmt: skip
