"""A goal that has to hold all along: kit.always."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pipeline.simulation.goals.goal import Goal, StatedGoal
from pipeline.simulation.goals.spec import GoalSpec
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.state import State


@dataclass(frozen=True)
class Always(Goal):
    """A goal holds at every instant from the start to the end, while things are carried, too."""

    condition: Goal
    sets_place: ClassVar = False
    throughout: ClassVar = True

    @property
    def name(self) -> str:
        return f"{self.condition.name}, throughout"

    @property
    def objects(self) -> tuple[str, ...]:
        return self.condition.objects

    @property
    def carried(self) -> tuple[str, ...]:
        return ()

    @property
    def kept(self) -> tuple[str, ...]:
        return self.condition.kept

    @property
    def zones(self) -> tuple[str, ...]:
        return self.condition.zones

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return self.condition.joints

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Always":
        return replace(self, condition=self.condition.bound(objects, right, away))

    def pursued(self, state: State, refused: Container[Goal] = ()) -> list[Goal]:
        """Return the condition, so that places are chosen where it holds; nothing once it was given up."""
        return [] if self.condition in refused else [self.condition]

    def miss(self, state: State) -> float:
        """Return the miss in one state; a rollout counts the largest one."""
        return self.condition.miss(state)

    def opposite(self, sim: Any) -> Goal:
        return self.condition.opposite(sim)

    def canonical(self) -> Goal:
        return replace(self, condition=self.condition.canonical())

    def agreement(self, planned: StatedGoal, ordered: bool) -> bool | None:
        return self.condition.agreement(planned, ordered)


def always(goal: Goal) -> Goal:
    """Return the goal that another one holds at every instant of the rollout, the first one included."""
    if not isinstance(goal, Goal) or isinstance(goal, Always) or goal.about_hand:
        raise KitError("always takes one goal about objects, such as kit.away('a', 'b', 0.3)")
    return Always(goal)


SPECS = (
    GoalSpec(
        kind="always",
        goal=Always,
        function=always,
        manual='kit.always(kit.away("red_cube", "blue_cube", 0.1))       at every instant',
        order=210,
    ),
)
