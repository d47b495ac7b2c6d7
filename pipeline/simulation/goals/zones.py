"""An object in a marked zone, or out of it: kit.in_zone, kit.outside."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.simulation.goals.at import elsewhere
from pipeline.simulation.goals.goal import Goal, length
from pipeline.simulation.goals.spec import FIRST, GoalSpec, PlannedGoal, SentenceForm, Tolerance
from pipeline.simulation.objects import Region
from pipeline.simulation.state import State

IN_TOLERANCE = Tolerance(0.0, widest=0.04)
OUT_TOLERANCE = Tolerance(0.0)


@dataclass(frozen=True)
class InZone(Goal):
    """a lies in a zone with its whole footprint."""

    a: str
    zone: str
    tolerance: float = IN_TOLERANCE.default
    fills_zone: ClassVar = True
    constrains_place: ClassVar = True
    label: ClassVar = "{a} in {zone}"

    @property
    def zones(self) -> tuple[str, ...]:
        return (self.zone,)

    @property
    def holder(self) -> str:
        return self.zone

    def miss(self, state: State) -> float:
        """Return how far the footprint reaches outside the zone, in metres."""
        return max(0.0, float(state.zone(self.zone).outside(state[self.a].outline).max()) - self.tolerance)

    def candidate_places(self, state: State) -> list[np.ndarray]:
        """Return the zone's centre and a grid of 1 cm over the zone."""
        zone = state.zones[self.zone]
        local = np.stack(np.meshgrid(*[np.arange(-s / 2, s / 2, 0.01) for s in zone.size]), -1).reshape(-1, 2)
        away = np.array([-zone.right[1], zone.right[0]])
        return [zone.xy[None], zone.xy + local @ np.stack([zone.right, away])]

    def opposite(self, sim: Any) -> Goal:
        return elsewhere(sim, self.a)


@dataclass(frozen=True)
class Outside(Goal):
    """a lies out of a zone with its whole footprint."""

    a: str
    zone: str
    tolerance: float = OUT_TOLERANCE.default
    constrains_place: ClassVar = True
    label: ClassVar = "{a} outside {zone}"

    @property
    def zones(self) -> tuple[str, ...]:
        return (self.zone,)

    def miss(self, state: State) -> float:
        """Return how deep the footprint and the zone overlap, in metres."""
        depth = overlap_depth(state.zone(self.zone).region, Region(state[self.a].outline))
        return max(0.0, depth - self.tolerance)

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        """Return None: the places of the zones are compared instead."""
        return None


def overlap_depth(one: Region, other: Region) -> float:
    """Return how deep two convex regions reach into each other, in metres; zero where they are apart.

    This is the least shift that separates them: along the normal of one of their edges (separating axis theorem).
    """
    sides = np.concatenate([np.roll(r.polygon, -1, 0) - r.polygon for r in (one, other)])
    normals = np.stack([-sides[:, 1], sides[:, 0]], -1) / np.linalg.norm(sides, axis=1, keepdims=True)
    first, second = one.polygon @ normals.T, other.polygon @ normals.T
    shifts = np.minimum(first.max(0) - second.min(0), second.max(0) - first.min(0))
    return max(0.0, float(shifts.min()))


def in_zone(a: str, zone: str, tolerance: float = IN_TOLERANCE.default) -> Goal:
    """Return the goal that a's whole footprint lies in the zone, up to `tolerance` metres outside."""
    return InZone(a, zone, length(tolerance))


def outside(a: str, zone: str, tolerance: float = OUT_TOLERANCE.default) -> Goal:
    """Return the goal that no part of a's footprint lies in the zone, up to `tolerance` metres inside."""
    return Outside(a, zone, length(tolerance))


def _check_in_zone(goal: PlannedGoal) -> str:
    a, zone = goal.names
    return f'''
def check_{a}_ends_in_{zone}(sim):
    """Its middle lies over the zone, and it stands."""
    end = sim.rollout().end("{a}")
    out = sim.zones["{zone}"].outside(end.position[:2])
    assert out < 0, f"{a} ends {{out * 100:.1f}} cm outside {zone}"
    assert end.bottom < 0.03, f"{a} ends {{end.bottom * 100:.1f}} cm above the table"
'''


def _check_outside(goal: PlannedGoal) -> str:
    a, zone = goal.names
    return f'''
def check_{a}_ends_outside_{zone}(sim):
    """No corner of it lies over the zone, and it stands."""
    end = sim.rollout().end("{a}")
    depth = -min(sim.zones["{zone}"].outside(corner) for corner in end.outline)
    assert depth < 0.002, f"{a} reaches {{depth * 100:.1f}} cm into {zone}"
    assert end.bottom < 0.03, f"{a} ends {{end.bottom * 100:.1f}} cm above the table"
'''


SPECS = (
    GoalSpec(
        kind="in_zone",
        goal=InZone,
        function=in_zone,
        manual='kit.in_zone("red_cube", "goal_zone", tolerance=0.0)      its whole footprint in the zone',
        order=90,
        forms=(SentenceForm("{} is in {}, marked on the table"),),
        commands=(
            SentenceForm("move {} into {}"),
            SentenceForm("move {} {}"),
        ),
        objects=FIRST,
        zone="fill",
        tolerance=IN_TOLERANCE,
        checks=_check_in_zone,
        compatible=("at", "left_of", "near"),
    ),
    GoalSpec(
        kind="outside",
        goal=Outside,
        function=outside,
        manual='kit.outside("red_cube", "goal_zone", tolerance=0.0)      no part of its footprint in the zone',
        order=100,
        forms=(SentenceForm("{} is outside {}, marked on the table"),),
        commands=(SentenceForm("move {} out of {}"),),
        objects=FIRST,
        zone="clear",
        tolerance=OUT_TOLERANCE,
        checks=_check_outside,
        compatible=("in_zone", "at", "away", "on_table", "near", "left_of", "on", "inside"),
    ),
)
