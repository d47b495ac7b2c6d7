"""What a task demands of a robot: length, precision and clutter, and the level that these make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.planner.scene_objects import WALL, SceneObject
from pipeline.planner.zones import OBJECT_MARGIN
from pipeline.simulation.goals.sentences import named_objects
from pipeline.simulation.goals.spec import PlannedGoal

LEVELS = (1, 2, 3)
CLUTTERS = 5, 9
"""Other objects on the table from which it is cluttered, and much cluttered."""
LENGTH_WEIGHT = 3
FREE_SLACK_M = 0.06
"""Slack of goals that leave the place open, such as "next to"."""


@dataclass(frozen=True)
class Demands:
    """Length, precision and clutter."""

    carries: int
    """Objects that are carried and parts that are moved."""
    steps: int
    """Steps in order."""
    slack: float
    """Metres by which the least tolerant goal may be missed to any side."""
    bystanders: int
    """Objects on the table that no goal names."""

    @property
    def level(self) -> int:
        """1, 2 or 3: by the sum of the grades, from 0 to 2 each, of length (three times), precision and clutter."""
        # Objects carried and parts moved from which a task is of middle and of great length. Two steps in order are
        # great.
        length = max(_grade(self.carries, (2, 4)), 2 * (self.steps > 1))
        # Slack below which a task needs middle and high precision
        precision = sum(self.slack < limit for limit in (0.02, 0.01))
        total = LENGTH_WEIGHT * length + precision + _grade(self.bystanders, CLUTTERS)
        # Sum of the grades from which a task is of level 2 and 3
        return 1 + sum(total >= limit for limit in (3, 6))


def _grade(count: int, limits: Sequence[int]) -> int:
    return sum(count >= limit for limit in limits)


def demands(goals: Sequence[PlannedGoal], objects: Mapping[str, SceneObject]) -> Demands:
    """Return what goals demand; `objects` are all objects of the twin, by name."""
    carried = {name for goal in goals for name in goal.carried}
    moved = sum(not goal.carried for goal in goals)
    steps = len({goal.stage for goal in goals})
    slack = min((_slack(goal, objects) for goal in goals), default=FREE_SLACK_M)
    return Demands(len(carried) + moved, steps, round(slack, 4), len(set(objects) - set(named_objects(goals))))


def _slack(goal: PlannedGoal, objects: Mapping[str, SceneObject]) -> float:
    known = [objects[name] for name in goal.objects if name in objects]
    if goal.spec.zone or goal.new_container:  # such zones and containers are made as large as their content needs
        return OBJECT_MARGIN / 2
    if goal.kind == "inside" and len(known) > 1:
        return max(0.0, (known[1].narrow - 2 * WALL - known[0].narrow) / 2)
    if goal.kind == "on" and len(known) > 1:
        return known[1].narrow / 2
    if goal.kind == "stacked" and len(known) > 1:
        return min(low.narrow / 2 for low, _ in pairwise(known))
    if goal.kind == "inside_part" and known:
        part = next((one for one in known[-1].parts if one.name == goal.names[-1]), None)
        return max(0.0, (min(part.size[:2]) - known[0].narrow) / 2) if part else FREE_SLACK_M
    tolerance = goal.spec.tolerance
    return min(FREE_SLACK_M, tolerance.default) if tolerance and not tolerance.radians else FREE_SLACK_M
