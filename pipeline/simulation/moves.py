"""What the oracle can be told to do next, and why it may not."""

from dataclasses import dataclass

import numpy as np

from pipeline.simulation.goals import Goal


@dataclass(frozen=True, eq=False)
class Move:
    """Carry one object to one place."""

    object: str
    xy: np.ndarray
    yaw: float | None
    """None: as it is turned now."""
    verb: str
    """"place" for a goal, "move aside" to make room."""
    target: str
    """What it is carried to, for a person to read."""
    goal: Goal


@dataclass(frozen=True)
class Pull:
    """Open or shut one part of an object."""

    object: str
    part: str
    share: float
    """How far it shall be open then: 0 shut, 1 wholly."""
    goal: Goal

    @property
    def verb(self) -> str:
        """ "open" or "shut"."""
        return "open" if self.share > 0 else "shut"

    @property
    def target(self) -> str:
        """For a person to read."""
        return self.part.replace("_", " ")


@dataclass(frozen=True)
class Refusal:
    """Why a goal cannot be met."""

    object: str
    goal: Goal
    message: str


class Blocked(Exception):
    """Raised inside planning; carries the reason."""
