"""A tower of objects: kit.stacked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from pipeline.simulation.goals.goal import Goal, length, several_objects
from pipeline.simulation.goals.on import TOLERANCE, On, check_on
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, quoted
from pipeline.simulation.state import State


@dataclass(frozen=True)
class Stacked(Goal):
    """Each object rests on the one before."""

    names: tuple[str, ...]
    tolerance: float = TOLERANCE.default

    @property
    def name(self) -> str:
        return "stacked, bottom first: " + ", ".join(self.names)

    @property
    def objects(self) -> tuple[str, ...]:
        return self.names

    @property
    def parts(self) -> tuple[Goal, ...]:
        return tuple(On(upper, lower, self.tolerance) for lower, upper in pairwise(self.names))

    @property
    def steps(self) -> tuple[Goal, ...]:
        return self.parts

    @property
    def carried(self) -> tuple[str, ...]:
        return self.names[1:]

    def miss(self, state: State) -> float:
        return max(part.miss(state) for part in self.parts)


def stacked(names: Sequence[str], tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that each object rests on the one before; bottom first."""
    return Stacked(several_objects(names), length(tolerance))


def _call(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    return f"kit.stacked([{quoted(goal.names)}])"


def _checks(goal: PlannedGoal) -> str:
    return "".join(check_on(upper, lower) for lower, upper in pairwise(goal.names))


SPECS = (
    GoalSpec(
        kind="stacked",
        goal=Stacked,
        function=stacked,
        manual='kit.stacked(["blue_cube", "red_cube", "green_cube"])     each on the one before; bottom first',
        order=60,
        forms=(SentenceForm("{list} are stacked, bottom first"),),
        commands=(SentenceForm("stack {list} in this order, bottom first"),),
        carried=(1, None),
        holds_others=True,
        tolerance=TOLERANCE,
        call=_call,
        checks=_checks,
        compatible=("on",),
    ),
)
