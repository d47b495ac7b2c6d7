"""Distance of an object to the place where a goal wants it, measured to the middle of that place."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.learning.terms.term import Moment, RewardTerm, nearness
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.objects import KitError
from pipeline.simulation.state import State


@dataclass(frozen=True)
class Approach(RewardTerm):
    """Rises as an object comes over its place, also where the goal's own distance is flat."""

    goal: Goal
    term: ClassVar = "approach"
    summary: ClassVar = (
        "(goal): the goal's first object is near the middle of its place: container, base, zone or point"
    )

    @property
    def objects(self) -> tuple[str, ...]:
        return self.goal.objects

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the object's centre to the middle of the place, on the ground."""
        a = moment.state[self.goal.objects[0]]
        return nearness(float(np.linalg.norm(a.position[:2] - place_of(self.goal, moment.state))))


def place_of(goal: Goal, state: State) -> np.ndarray:
    """Return world x and y (2,) of the middle of a goal's place. Raises KitError where it names none."""
    if goal.fixed_place is not None:
        return np.array(goal.fixed_place)
    if goal.holder in state.zones:
        return state.zones[goal.holder].xy
    if len(goal.objects) < 2:
        raise KitError(f"the goal {goal.name} names no place; reward goal_distance instead")
    return state[goal.holder].position[:2]


TERM = Approach
