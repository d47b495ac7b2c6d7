"""Who acts: what the oracle asks of a robot, whichever it is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import mujoco
import numpy as np

from pipeline.simulation.objects import Object, Region

if TYPE_CHECKING:
    from pipeline.simulation.moves import Move, Pull
    from pipeline.simulation.physics import Physics


class Hand(Protocol):
    """Carries one object at a time in a running world."""

    physics: "Physics"
    gap: float
    """Kept free around what it sets down on the table, in metres."""

    def pick(self, move: "Move", attempt: int, covers: dict[str, str]) -> str:
        """Takes hold of the move's object; says why not, empty when it holds it. Notes in covers what bars the way."""
        ...

    def place(self, move: "Move") -> str:
        """Carries what is held where the move wants it and lets go; says what went wrong, empty for nothing."""
        ...

    def pull(self, pull: "Pull") -> str:
        """Opens or shuts a part of an object; says why not, empty when it did what it could."""
        ...

    def retreat(self) -> None:
        """Out of the way of what was done."""
        ...


class Robot(Protocol):
    """What a world is given to act in it."""

    source: str
    """As a solution tells it."""

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, away: np.ndarray) -> np.ndarray:
        """Adds itself to a world whose objects stand as given; returns where its tip waits, of shape (3,)."""
        ...

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Brings itself to where it waits, in a world that has not begun."""
        ...

    def hand(self, physics: "Physics") -> Hand:
        """Its hand in a running world."""
        ...
