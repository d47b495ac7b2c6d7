"""A number of goals, whichever: kit.count."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from pipeline.simulation.goals.goal import VALUE_SCALE, Goal
from pipeline.simulation.goals.spec import GoalSpec
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.state import State


@dataclass(frozen=True)
class Count(Goal):
    """At least and at most so many of several goals hold."""

    goals: tuple[Goal, ...]
    least: int
    most: int
    sets_place: ClassVar = False

    @property
    def name(self) -> str:
        number = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        number = f"at least {self.least}" if self.most >= len(self.goals) > self.least else number
        return f"{number} of: " + "; ".join(goal.name for goal in self.goals)

    @property
    def objects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for goal in self.goals for name in goal.objects))

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(zone for goal in self.goals for zone in goal.zones)

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return tuple(joint for goal in self.goals for joint in goal.joints)

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Count":
        return replace(self, goals=tuple(goal.bound(objects, right, away) for goal in self.goals))

    def holding(self, state: State) -> list[Goal]:
        """Return those of its goals that are met."""
        return [goal for goal in self.goals if goal.met(state)]

    def pursued(self, state: State, refused: Container[Goal] = ()) -> list[Goal]:
        """Return as many as have to hold: those that do, then the first others that were not given up."""
        holding = self.holding(state)
        others = [goal for goal in self.goals if goal not in holding and goal not in refused]
        return [*holding, *others][: self.least]

    def surplus(self, state: State) -> list[Goal]:
        """Return those that hold beyond the most that may."""
        return self.holding(state)[self.most :]

    def miss(self, state: State) -> float:
        """Return the miss of the last goal still needed; each goal too many counts as `VALUE_SCALE`."""
        misses = sorted(goal.miss(state) for goal in self.goals)
        over = len(self.surplus(state))
        return max(0.0, misses[self.least - 1] if self.least else 0.0, over * VALUE_SCALE)

    def share(self, state: State) -> float:
        met = len(self.holding(state))
        return 1.0 if self.met(state) else min(met / max(self.least, 1), self.most / max(met, 1), 0.99)


def count(
    goals: Sequence[Goal], exactly: int | None = None, at_least: int | None = None, at_most: int | None = None
) -> Goal:
    """Return the goal that so many of these goals hold, whichever; the oracle begins with those named first."""
    goals = tuple(goals)
    if not goals or not all(isinstance(goal, Goal) for goal in goals):
        raise KitError("count takes a list of goals such as [kit.inside('a', 'bowl'), kit.inside('b', 'bowl')]")
    if exactly is None and at_least is None and at_most is None:
        raise KitError("count needs exactly=, at_least= or at_most=")
    least = exactly if exactly is not None else at_least or 0
    most = exactly if exactly is not None else len(goals) if at_most is None else at_most
    if not 0 <= least <= most or least > len(goals):
        raise KitError(f"count: {least} to {most} of {len(goals)} goals cannot be; ask for 0 to {len(goals)}")
    return Count(goals, int(least), int(most))


SPECS = (
    GoalSpec(
        kind="count",
        goal=Count,
        function=count,
        manual=(
            'kit.count([kit.inside(n, "white_bowl") for n in ("red_cube", "green_cube")], exactly=1)    so many of '
            f"these hold,\n{'':43}whichever; or at_least=, at_most=: exactly=0 none, at_least=1 any"
        ),
        order=200,
    ),
)
