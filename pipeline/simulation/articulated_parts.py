"""Parts of an object that move on a joint: drawers, doors, lids and knobs, each at one instant."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass(frozen=True, eq=False)
class ArticulatedPart:
    """One part in the world frame: z up, table top at z = 0, metres and radians."""

    name: str
    """Unique within its object: "top_drawer", "door", "lid", "knob"."""
    joint: str
    """Name of the joint in scene.xml."""
    body: str
    """Name of the body in scene.xml."""
    kind: str
    """"slide" or "hinge"."""
    end: float
    """Joint position when fully open, in metres or radians; shut is 0."""
    lever: float
    """Metres that its farthest point moves per unit of the joint."""
    value: float
    """Joint position now, in metres or radians."""
    axis: np.ndarray
    """Unit vector of the joint, of shape (3,)."""
    anchor: np.ndarray
    """A point on that axis, of shape (3,)."""
    corners: np.ndarray
    """Its outermost points, of shape (N, 3)."""

    @property
    def open(self) -> float:
        """How far it is open: 0 shut, 1 fully open."""
        return float(np.clip(self.value / self.end, 0.0, 1.0)) if self.end else 0.0

    @property
    def upright(self) -> bool:
        """Whether it slides or turns about the vertical, which the hand can do."""
        # Smallest vertical component of the axis of a hinge that counts as upright
        return self.kind == "slide" or abs(float(self.axis[2])) > 0.9

    @property
    def travel(self) -> float:
        """Metres that its farthest point moves from shut to fully open."""
        return abs(self.end) * self.lever

    @property
    def top(self) -> float:
        """Highest z."""
        return float(self.corners[:, 2].max())

    @property
    def bottom(self) -> float:
        """Lowest z."""
        return float(self.corners[:, 2].min())

    def at(self, value: float) -> "ArticulatedPart":
        """Return the part with its joint at a value."""
        return replace(self, value=value, corners=self.displaced(self.corners, value - self.value))

    def displaced(self, points: np.ndarray, travel: float) -> np.ndarray:
        """Return points (N, 3) of it after its joint has moved by `travel`."""
        if self.kind == "slide":
            return points + travel * self.axis
        return Rotation.from_rotvec(travel * self.axis).apply(points - self.anchor) + self.anchor

    def heading(self, point: np.ndarray) -> np.ndarray:
        """Return the unit vector in which a point (3,) of it moves when it opens."""
        velocity = self.axis if self.kind == "slide" else np.cross(self.axis, point - self.anchor)
        return np.sign(self.end or 1.0) * velocity / max(float(np.linalg.norm(velocity)), 1e-9)

    def moved(self, rotation: np.ndarray, shift: np.ndarray, factor: float = 1.0) -> "ArticulatedPart":
        """Return the part with its object rotated by (3, 3) and scaled about the origin, then shifted by (3,)."""
        scale = factor if self.kind == "slide" else 1.0
        return replace(
            self, end=self.end * scale, value=self.value * scale, lever=self.lever * factor / scale,
            axis=rotation @ self.axis, anchor=factor * rotation @ self.anchor + shift,
            corners=factor * self.corners @ rotation.T + shift,
        )  # fmt: skip
