"""Protocols of the robots that the oracle can use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import mujoco
import numpy as np

from pipeline.simulation.cameras import WRIST, Camera, looking_at
from pipeline.simulation.goals.goal import Move, PartMotion
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import GRIPPER, Actor, Physics

WRIST_CAMERA = looking_at(WRIST, GRIPPER, (0.0, -0.07, 0.12), (0.0, 0.0, -0.03), (0.0, 1.0, 0.0))
"""Beside a tool that points down from the body "gripper": 7 cm off its axis, its tip in the middle of the picture."""


@dataclass(frozen=True, eq=False)
class Mount:
    """Where a robot stands beside the table, and the ring around it in which its hand works easily."""

    base: np.ndarray
    """World x and y in metres, of shape (2,)."""
    yaw: float
    """Direction in which it faces, in radians."""
    near: float
    far: float
    """Inner and outer radius of the ring, in metres."""

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return which points (N, 2) lie in the ring, of shape (N,)."""
        distance = np.linalg.norm(points - self.base, axis=-1)
        return (distance >= self.near) & (distance <= self.far)


class Hand(Protocol):
    """Carries one object at a time in a running world."""

    physics: Physics
    gap: float
    """Kept free around what it sets down on the table, in metres."""

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return at which points (N, 2) it can set an object down, of shape (N,)."""
        ...

    def why_not_picked(self, name: str) -> str:
        """Return why it cannot pick up an object where it stands; empty if it can, or if only others are in its way."""
        ...

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        """Pick up the move's object. Return why it failed; empty on success. Write to `covers` what bars the way."""
        ...

    def place(self, move: Move) -> str:
        """Carry the held object to the move's place and release it. Return what went wrong; empty on success."""
        ...

    def pull(self, motion: PartMotion) -> str:
        """Open or shut a part of an object. Return why it failed; empty when it did what it could."""
        ...

    def retreat(self) -> None:
        """Move away from the objects."""
        ...


@runtime_checkable
class HandOvers(Protocol):
    """A hand of several arms."""

    def hand_overs(self, move: Move, attempt: int) -> tuple[Move, ...]:
        """Return the moves that have to be made before a move."""
        ...


class Robot(Actor, Protocol):
    """A robot that can be added to a world."""

    def mount(self, objects: Sequence[Object], table: Region, away: np.ndarray) -> Mount | None:
        """Return where it stands for these objects; None if it floats and reaches everything.

        `away` is the camera's viewing direction on the table, of shape (2,).
        """
        ...

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add itself to a world with these objects, on a mount that it chose (None if it floats).

        Return the home position of its tip, world, of shape (3,).
        """
        ...

    def hand(self, physics: Physics) -> Hand:
        """Return its hand in a running world."""
        ...


def hand_overs_of(hand: Hand, move: Move, attempt: int) -> tuple[Move, ...]:
    """Return the moves by which one arm brings an object to the arm that makes a move; () for a hand of one arm."""
    return hand.hand_overs(move, attempt) if isinstance(hand, HandOvers) else ()


def cameras_of(robot: Robot) -> tuple[Camera, ...]:
    """Return a robot's attribute `cameras`; WRIST_CAMERA for one that has none."""
    return tuple(map(Camera._make, getattr(robot, "cameras", (WRIST_CAMERA,))))
