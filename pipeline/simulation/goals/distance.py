"""Two objects near each other, or apart: kit.near, kit.away."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from pipeline.simulation.goals.goal import Goal, centre_distance, length, two_objects
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm
from pipeline.simulation.state import State

NEAR, AWAY = 0.15, 0.25
"""Distances between centres in metres: at most, and at least."""


@dataclass(frozen=True)
class _Distance(Goal):
    """How far apart a and b are; the base of both goals."""

    a: str
    b: str
    constrains_place: ClassVar = True
    object_fields: ClassVar = ("a", "b")

    def canonical(self) -> Goal:
        return replace(self, a=min(self.a, self.b), b=max(self.a, self.b))

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        same_pair = planned.kind in ("near", "away") and set(planned.names) == {self.a, self.b}
        return planned.measured_by is type(self) if same_pair else None


@dataclass(frozen=True)
class Near(_Distance):
    """a and b are near each other."""

    distance: float = NEAR

    @property
    def name(self) -> str:
        return f"{self.a} within {self.distance * 100:.0f} cm of {self.b}"

    def miss(self, state: State) -> float:
        return max(0.0, centre_distance(state, self.a, self.b) - self.distance)

    def opposite(self, sim: Any) -> Goal:
        return Away(self.a, self.b, max(AWAY, self.distance + 0.1))


@dataclass(frozen=True)
class Away(_Distance):
    """a and b are apart."""

    distance: float = AWAY

    @property
    def name(self) -> str:
        return f"{self.a} at least {self.distance * 100:.0f} cm from {self.b}"

    def miss(self, state: State) -> float:
        return max(0.0, self.distance - centre_distance(state, self.a, self.b))

    def opposite(self, sim: Any) -> Goal:
        return Near(self.a, self.b, sim[self.a].reach + sim[self.b].reach + 0.03)


def near(a: str, b: str, distance: float = NEAR) -> Goal:
    """Return the goal that the centres of a and b are at most so many metres apart."""
    return Near(a, two_objects(a, b), length(distance))


def away(a: str, b: str, distance: float = AWAY) -> Goal:
    """Return the goal that the centres of a and b are at least so many metres apart."""
    return Away(a, two_objects(a, b), length(distance))


class Footprint(Protocol):
    """An object as the planner knows it."""

    @property
    def diagonal(self) -> float:
        """Diameter of the ground circle that holds it at any yaw, in metres."""
        ...


def near_distance(a: Footprint, b: Footprint) -> float:
    """Return the distance between the centres of two objects that stand next to each other, in metres."""
    return max(NEAR, (a.diagonal + b.diagonal) / 2 + 0.04)


def away_distance(a: Footprint, b: Footprint) -> float:
    """Return the distance between the centres of two objects that stand well apart, in metres."""
    return max(AWAY, (a.diagonal + b.diagonal) / 2 + 0.1)


def _call(goal: PlannedGoal, objects: Mapping[str, Footprint]) -> str:
    a, b = goal.names
    needed = near_distance if goal.kind == "near" else away_distance
    distance = f", distance={needed(objects[a], objects[b]):.2f}" if a in objects and b in objects else ""
    return f'kit.{goal.kind}("{a}", "{b}"{distance})'


def _measure(goal: PlannedGoal) -> str:
    a, b = goal.names
    reach = f'run.start("{a}").radius + run.start("{b}").radius'
    limit = f"max(0.2, 1.42 * ({reach}) + 0.08)" if goal.kind == "near" else f"max(0.2, {reach} + 0.05)"
    return f'kit.{goal.kind}("{a}", "{b}", distance={limit})'


def _checks(goal: PlannedGoal) -> str:
    a, b = goal.names
    is_near = goal.kind == "near"
    verb, sign = ("comes_close_to", "<") if is_near else ("moves_away_from", ">")
    # A centimetre beyond what the plan asks for (near_distance, away_distance); half of a footprint's diagonal is 1 to
    # 1.42 times its radius.
    limit = "max(0.16, 1.42 * reach + 0.05)" if is_near else "max(0.24, reach + 0.09)"
    return f'''
def check_{a}_{verb}_{b}(sim):
    """Measured between their middles; and it did not start so."""
    run = sim.rollout()
    before = math.dist(run.start("{a}").position[:2], run.start("{b}").position[:2])
    after = math.dist(run.end("{a}").position[:2], run.end("{b}").position[:2])
    assert after {sign} before, f"{a} was {{before * 100:.0f}} cm from {b} and is now {{after * 100:.0f}} cm"
    reach = run.end("{a}").radius + run.end("{b}").radius
    limit = {limit}
    assert after {sign} limit, f"{a} ends {{after * 100:.0f}} cm from {b}, not {sign} {{limit * 100:.0f}} cm"
'''


SPECS = (
    GoalSpec(
        kind="near",
        goal=Near,
        function=near,
        manual='kit.near("red_cube", "blue_cube", distance=0.15)         at most so far apart',
        order=120,
        forms=(SentenceForm("{} is next to {}"),),
        commands=(SentenceForm("move {} next to {}"),),
        call=_call,
        measure=_measure,
        checks=_checks,
        compatible=("left_of", "at", "in_zone", "in_row"),
    ),
    GoalSpec(
        kind="away",
        goal=Away,
        function=away,
        manual='kit.away("red_cube", "blue_cube", distance=0.25)         at least so far apart',
        order=130,
        forms=(SentenceForm("{} is well away from {}"),),
        commands=(SentenceForm("move {} well away from {}"),),
        call=_call,
        measure=_measure,
        checks=_checks,
        compatible=("outside", "at", "in_zone", "left_of"),
    ),
)
