"""Moves that the planner hands to a robot, and refusals with their reason."""

from dataclasses import dataclass

import numpy as np

from pipeline.simulation.goals.goal import Goal


@dataclass(frozen=True, eq=False)
class Move:
    """Carry one object to one place."""

    object: str
    xy: np.ndarray
    """World place of its centre, of shape (2,)."""
    yaw: float | None
    """World yaw in radians; None keeps the present one."""
    verb: str
    """"place" for a goal, "move aside" to make room."""
    target: str
    """What it is carried to, text for people."""
    goal: Goal


@dataclass(frozen=True)
class PartMotion:
    """Open or shut one part of an object."""

    object: str
    part: str
    share: float
    """How far it is to be open afterwards: 0 shut, 1 fully open."""
    goal: Goal

    @property
    def verb(self) -> str:
        """ "open" or "shut"."""
        return "open" if self.share > 0 else "shut"

    @property
    def target(self) -> str:
        """Text for people."""
        return self.part.replace("_", " ")


@dataclass(frozen=True)
class Refusal:
    """Why a goal cannot be met."""

    object: str
    goal: Goal
    message: str


class BlockedError(Exception):
    """A goal or move is impossible; its text is the reason. Caught within planning."""
