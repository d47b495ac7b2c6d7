"""A grasp and the result of a search for grasps, for any tool of the arm."""

from dataclasses import dataclass

import numpy as np

from pipeline.geometry import homogeneous


@dataclass(frozen=True, eq=False)
class Grasp:
    """One way to hold an object."""

    hand: np.ndarray
    """World-from-gripper when it holds, of shape (4, 4); its z axis is the direction of approach."""
    point: np.ndarray
    """World point that is held, between the fingertips or below the cup, of shape (3,)."""
    turns: tuple[float, ...]
    """Turns about the approach that give an equal grasp, in radians."""
    width: float
    """Width of what is between the fingers, in metres; 0 for a cup."""
    opening: float
    """Opening of the fingers before closing, in metres; 0 for a cup."""
    cost: float
    """Cost, lower is better: distance from the middle in metres plus penalties."""
    part: str = ""
    """Name of the part that is held; empty for the object itself."""
    pushes: bool = False
    """Whether the closed hand only pushes and does not hold."""
    at_edge: bool = False
    """Whether one finger is above the object and one below, beside an edge that it overhangs."""

    @property
    def approach(self) -> np.ndarray:
        """Unit vector in which the gripper moves towards the object, world, of shape (3,)."""
        return self.hand[:3, 2]

    def similar(self, other: "Grasp") -> bool:
        """Whether two grasps are within 12 mm and about 17 degrees of each other."""
        off = np.linalg.norm(self.point - other.point)
        closing = abs(float(self.hand[:3, 1] @ other.hand[:3, 1])) if len(self.turns) == 2 else 1.0
        return bool(off < 0.012 and closing > 0.955 and self.approach @ other.approach > 0.955)


@dataclass(frozen=True, eq=False)
class DroppedGrasp:
    """A candidate that is no grasp."""

    hand: np.ndarray
    """World-from-gripper where it would hold, of shape (4, 4)."""
    width: float
    """Width of what is between the fingers, in metres."""
    cause: str
    """"wide", "sloped", "blocked" or "reach"."""
    blocker: str = ""
    """Name of the object in the way; the target's own where that is."""


@dataclass(frozen=True, eq=False)
class GraspSearch:
    """Result of a search for grasps."""

    grasps: tuple[Grasp, ...]
    """Grasps found, best first."""
    blocked_by: str
    """Name of the object that blocks most grasps; empty for none."""
    refusal: str
    """Why there is no grasp; empty if there is one, or if another object blocks them."""
    dropped: tuple[DroppedGrasp, ...] = ()
    """Candidates that were judged and dropped."""


def gripper_at(point: np.ndarray, closing: np.ndarray, approach: np.ndarray) -> np.ndarray:
    """Return world-from-gripper (4, 4) at a point (3,) from unit vectors (3,) of its closing and its approach."""
    return homogeneous(np.stack([np.cross(closing, approach), closing, approach], -1), point)


def turned(hand: np.ndarray, angle: float) -> np.ndarray:
    """Return a gripper pose (4, 4) turned by an angle about its approach."""
    c, s = np.cos(angle), np.sin(angle)
    spin = np.eye(4)
    spin[:2, :2] = [[c, -s], [s, c]]
    return hand @ spin
