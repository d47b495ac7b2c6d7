"""Goals about what moves on joints: open, shut, and something in a drawer."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull

from pipeline.simulation.goals import Goal
from pipeline.simulation.objects import Region
from pipeline.simulation.parts import Part
from pipeline.simulation.state import State

OPEN, SHUT = 0.6, 0.1
"""Shares of its way from which a part counts as open, and up to which as shut."""


@dataclass(frozen=True)
class Opened(Goal):
    a: str
    part: str
    least: float = OPEN

    @property
    def name(self) -> str:
        return f"{self.part} of {self.a} open"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        """The way its farthest point has still to go, in metres."""
        part = state[self.a].part(self.part)
        return max(0.0, self.least - part.open) * part.travel


@dataclass(frozen=True)
class Closed(Goal):
    a: str
    part: str
    most: float = SHUT

    @property
    def name(self) -> str:
        return f"{self.part} of {self.a} shut"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        """The way its farthest point has still to go, in metres."""
        part = state[self.a].part(self.part)
        return max(0.0, part.open - self.most) * part.travel


@dataclass(frozen=True)
class InsidePart(Goal):
    a: str
    b: str
    part: str
    tolerance: float = 0.01

    @property
    def name(self) -> str:
        return f"{self.a} inside {self.part} of {self.b}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def miss(self, state: State) -> float:
        """Centre outside the part's outline, lowest point not between its bottom and its rim, or on the table."""
        a, b = state[self.a], state[self.b]
        part = b.part(self.part)
        beside = float(Region(footprint(part)).distance(a.position[:2])) - self.tolerance + 0.01
        above = a.bottom - (part.top - min(0.01, (part.top - part.bottom) / 4))
        below = part.bottom - 0.01 - a.bottom
        grounded = part.top - part.bottom if state.touches(a.name, "table") else 0.0
        loose = 0.0 if state.touches(a.name, b.name) else 0.01
        return max(0.0, beside, above, below, grounded, loose)


def footprint(part: Part) -> np.ndarray:
    """Convex outline of a part seen from above, of shape (N, 2), anticlockwise."""
    ground = part.corners[:, :2]
    return ground[ConvexHull(ground).vertices]
