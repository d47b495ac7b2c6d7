"""Task plans: which goals measured attributes support, how hard they are, why others cannot be reached."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pipeline.planner.scene_objects import (
    RAINBOW,
    SceneObject,
    TableTop,
    carry_risk,
    cm,
    insert_risk,
    rests_on,
    scene_objects,
    stack_risk,
    why_not_in,
    why_not_in_part,
    why_not_on,
)
from pipeline.planner.zones import place_zones, why_no_room
from pipeline.simulation.goals.distance import away_distance, near_distance
from pipeline.simulation.goals.open_part import OPEN
from pipeline.simulation.goals.sentences import named_objects, sentences
from pipeline.simulation.goals.spec import PlannedGoal, listed

SAME_PLACE = 0.05
"""Metres between two centres on the ground up to which objects stand at the same place."""

TASK_KINDS = {
    "on": "put_on",
    "inside": "put_in",
    "stacked": "stack",
    "in_row": "line_up",
    "near": "move_near",
    "away": "move_away",
    "in_zone": "move_to",
    "outside": "make_room",
    "on_table": "put_on_table",
    "opened": "open",
    "closed": "close",
    "inside_part": "put_in_drawer",
    "where": "swap",
    "mirrored": "mirror",
    "at": "arrange",
    **dict.fromkeys(("left_of", "right_of", "in_front_of", "behind"), "place_beside"),
}
"""Kind of task (`Task.kind`) by kind of goal; other kinds of goals have their own name."""


@dataclass(frozen=True)
class TaskPlan:
    """A task with its goals."""

    kind: str
    """As in Task.kind."""
    goals: tuple[PlannedGoal, ...]
    instruction: str = ""
    name: str = ""
    risk: float = 0.0
    """Rough estimate from sizes of how likely it is to fail, in [0, 1]."""

    def answer(self, instruction: str = "") -> dict[str, Any]:
        """Return the fields of a task answer."""
        objects = named_objects(self.goals)
        name = self.name or f"{self.kind}_{objects[0] if len(objects) == 1 else len(objects)}"
        return {
            "name": name,
            "instruction": instruction or self.instruction,
            "objects": list(objects),
            "goals": list(sentences(self.goals)),
            "kind": self.kind,
        }


def task_kind(goals: Sequence[PlannedGoal]) -> str:
    """Return the kind of a task with these goals (`Task.kind`)."""
    kinds = {TASK_KINDS.get(goal.kind, goal.kind) for goal in goals if goal.kind != "stay"} or {"stay"}
    return kinds.pop() if len(kinds) == 1 else "several"


def by_colour(objects: Sequence[SceneObject]) -> list[SceneObject]:
    """Return the objects in rainbow order, then by name; colours that are not in the rainbow last."""
    return sorted(objects, key=lambda t: (RAINBOW.index(t.colour) if t.colour in RAINBOW else len(RAINBOW), t.name))


def stacking_order(objects: Sequence[SceneObject]) -> list[SceneObject]:
    """Return the objects in the most stable order, bottom first: broad below narrow, what has no flat top last."""
    return sorted(
        objects, key=lambda t: (not t.flat and not t.container, t.shape == "sphere", -t.size[0] * t.size[1], t.height)
    )


def why_infeasible(goals: Sequence[PlannedGoal], scene: Mapping[str, Any]) -> str:
    """Return why the goals cannot be reached with these objects on this table; empty where they can."""
    known = {t.name: t for t in scene_objects(scene)}
    table = TableTop.from_json(scene)
    if reason := why_contradictory(goals):
        return reason
    for goal in goals:
        if missing := [name for name in goal.objects if name not in known]:
            return f"there is no {missing[0]} here; there are: {', '.join(known)}"
        if goal.new_container and goal.names[-1] in known:
            return f"there is a {goal.names[-1]} here already: name another container"
        if reason := _INFEASIBLE.get(goal.kind, lambda *_: "")(goal, [known[n] for n in goal.objects], table):
            return reason
    if reason := why_no_room(goals, known, table):
        return reason
    if all(reasons := [already_met(goal, [known[n] for n in goal.objects], table) for goal in goals]):
        return reasons[0]
    if place_zones(goals, [known[n] for n in named_objects(goals)], table) is None:
        sizes = [known[a.names[0]].diagonal for a in goals if a.spec.zone == "fill" or a.new_container]
        return f"there is no free place on the table for {len(sizes)} objects of up to {cm(max(sizes))}"
    return ""


def why_contradictory(goals: Sequence[PlannedGoal]) -> str:
    """Return why goals of one stage exclude each other; empty where they do not."""
    places: dict[tuple[str, int], PlannedGoal] = {}
    for goal in goals:
        one_place = goal.kind in ("in_zone", "at", "where", "inside", "on")
        if one_place and places.setdefault((goal.names[0], goal.stage), goal) != goal:
            return f"{goal.names[0]} is to be at two places: say which"
    carried = {name for goal in goals for name in goal.carried}
    if held := [goal.names[0] for goal in goals if goal.kind == "stay" and goal.names[0] in carried]:
        return f"{held[0]} is to stay where it stands and to be moved: say which"
    staying = (goal.names[1] for goal in goals if goal.kind == "where" and goal.names[1] not in carried)
    return "".join(f"{name} stands there: say where it is to go" for name in list(staying)[:1])


def _why_no_stack(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), stacking needs two"
    rising = pairwise(objects)
    reason = next((r for low, up in rising if (r := why_not_on(up, low))), "")
    able = [t.name for t in stacking_order(objects) if t.block]
    if reason and len(able) > 1:
        reason += f"; {listed(able)} would stack"
    total = sum(t.height for t in objects)
    return reason or (f"a tower of {cm(total)} is higher than the gripper reaches (60 cm)" if total > 0.6 else "")


def _why_no_row(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), a row needs two"
    need, have = sum(t.width + 0.02 for t in objects), table.length(goal.along)
    return f"a row of these is {cm(need)} long, the table only {cm(have)}" if need > have else ""


def already_met(goal: PlannedGoal, objects: Sequence[SceneObject], table: TableTop) -> str:
    """Return a sentence where a goal about places holds in the photograph; empty where it does not."""
    a, b = objects[0], objects[-1]
    apart = np.subtract(a.position[:2], b.position[:2])
    right, away = float(apart @ table.right), float(apart @ table.away)
    ahead = {"left_of": -right, "right_of": right, "in_front_of": -away, "behind": away}.get(goal.kind, 0.0)
    distance = float(np.hypot(*apart))
    if goal.kind == "in_row":
        ends = np.array([t.position[:2] for t in objects]) @ np.array([table.right, table.away]).T
        along, across = ends.T if goal.along == "right" else ends.T[::-1]
        in_line = np.all(np.diff(along) > 0) and np.ptp(across) < 0.06
        return f"{listed(goal.names)} stand in a row in this order already" if in_line else ""
    if goal.kind == "stacked" and all(rests_on(up, low) for low, up in pairwise(objects)):
        return f"{listed(goal.names)} are stacked in this order already"
    if goal.kind == "where" and distance < SAME_PLACE:
        return f"{a.name} stands where {b.name} stands already"
    if (goal.kind == "near" and distance < near_distance(a, b)) or (
        goal.kind == "away" and distance > away_distance(a, b)
    ):
        return f"{a.name} is {cm(distance)} from {b.name} already"
    if goal.kind in ("on", "inside") and not goal.new_container and rests_on(a, b):
        return f"{a.name} is {'in' if goal.kind == 'inside' else 'on'} {b.name} already"
    if ahead > 0.01:
        return f"{a.name} is {goal.kind.replace('_', ' ')} {b.name} already"
    if goal.kind == "stay":
        return f"{a.name} stands where it is to stay; say what is to be done beside"
    if goal.kind == "on_table" and a.position[2] - a.height / 2 < 0.015:
        return f"{a.name} is on the table already"
    return ""


def _why_no_pair(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    a, b = objects[0], objects[-1]
    if a == b:
        return f"{a.name} cannot be put {goal.kind.replace('_', ' ')} itself"
    need = away_distance(a, b) if goal.kind == "away" else 0
    across = max(table.length("right"), table.length("away")) - (a.width + b.width) / 2
    return f"the table is too small to set {a.name} and {b.name} {cm(need)} apart" if need > across else ""


def _why_no_mirror(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    if len(objects) < 2:
        return f"only one object ({objects[0].name}), a mirror image needs two"
    places = mirror_images(objects, table)
    if all(float(np.hypot(*np.subtract(places[t.name], t.position[:2]))) < 0.05 for t in objects):
        return f"{listed(goal.names)} look the same mirrored"
    off = next((t.name for t in objects if not table.holds(places[t.name], t.narrow / 2)), "")
    return f"the mirror image of {off} lies beside the table" if off else ""


def mirror_images(objects: Sequence[SceneObject], table: TableTop) -> dict[str, np.ndarray]:
    """Return by name the place (2,) of each with left and right exchanged about their middle, as the kit does."""
    right = np.asarray(table.right)
    ahead = {t.name: float(np.dot(t.position[:2], right)) for t in objects}
    middle = (max(ahead.values()) + min(ahead.values())) / 2
    return {t.name: np.asarray(t.position[:2]) + 2 * (middle - ahead[t.name]) * right for t in objects}


def _why_no_place(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    name = goal.names[0]
    return "" if goal.xy and table.holds(np.asarray(goal.xy), 0.0) else f"the place for {name} lies beside the table"


def _why_no_part(goal: PlannedGoal, objects: list[SceneObject], table: TableTop) -> str:
    owner, name = objects[0], goal.names[-1]
    part = next((part for part in owner.parts if part.name == name), None)
    if part is None:
        names = ", ".join(part.name for part in owner.parts) or "nothing that opens"
        return f"{owner.name} has no {name}; it has: {names}"
    if not part.upright:
        return f"{name} of {owner.name} turns about a level hinge, and the hand turns things about the vertical only"
    return f"{name} of {owner.name} is open already" if goal.kind == "opened" and part.share > OPEN else ""


_INFEASIBLE: dict[str, Callable[[PlannedGoal, list[SceneObject], TableTop], str]] = {
    "stacked": _why_no_stack,
    "on": lambda goal, objects, table: why_not_on(*objects),
    "inside": lambda goal, objects, table: "" if goal.new_container else why_not_in(*objects),
    "in_row": _why_no_row,
    "mirrored": _why_no_mirror,
    "at": _why_no_place,
    "opened": _why_no_part,
    "closed": _why_no_part,
    "inside_part": lambda goal, objects, table: why_not_in_part(objects[0], objects[1], goal.names[2]),
    **dict.fromkeys(("near", "away", "left_of", "right_of", "in_front_of", "behind", "where"), _why_no_pair),
}
"""Returns why a goal of that kind cannot be reached; empty where it can. Other kinds are taken to be feasible."""


def difficulty(goals: Sequence[PlannedGoal], scene: Mapping[str, Any]) -> float:
    """Return an estimate of difficulty in [0, 1]: by how much is carried, in how many stages, and how stable it is."""
    known = {t.name: t for t in scene_objects(scene)}
    moving = [known[n] for a in goals for n in a.carried if n in known]
    risk = max((carry_risk(t) for t in moving), default=0.0) + sum(_failure_risk(goal, known) for goal in goals)
    stages = len({goal.stage for goal in goals})
    return round(min(1.0, 0.07 * len(moving) + 0.15 * (stages - 1) + 0.6 * risk), 2)


def _failure_risk(goal: PlannedGoal, known: Mapping[str, SceneObject]) -> float:
    """Return how likely objects are not to stay where the goal wants them, in [0, 1] and more."""
    objects = [known[n] for n in goal.objects if n in known]
    if goal.kind in ("on", "stacked") and len(objects) > 1:
        pairs = pairwise(objects) if goal.kind == "stacked" else ((objects[1], objects[0]),)
        return sum(0.1 + stack_risk(up, low) for low, up in pairs)
    if goal.kind in ("opened", "closed", "inside_part"):
        return 0.15
    return 0.1 + insert_risk(*objects) if goal.kind == "inside" and len(objects) > 1 else 0.0
