"""Find how a program makes its task easier than photographed, and say in words what it changes.

A program may leave out, move, resize and copy objects. Refused is what leaves too little to do: the judge compares the
start of every layout with the same goals where nothing was changed (the report's evidence "photograph").
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pipeline.planner.scene_objects import TableTop, scene_objects
from pipeline.planner.zones import place_zones
from pipeline.simulation import kit
from pipeline.simulation.goals.goal import CLEAR_MISS
from pipeline.simulation.goals.spec import PlannedGoal, listed
from pipeline.simulation.photographed import MOVED_M
from pipeline.simulation.run_record import SOLVED
from pipeline.simulation.state import Zone
from pipeline.tasks import Task, scene_to_json

MIN_DISTANCE_LEFT = 0.25
"""At least this share of the photographed distance to a goal has to be left. Objects that were moved apart, or within
reach, keep most of it; a random place on a table keeps it in four of five layouts or more."""
EASY_LAYOUTS = 0.75
"""Share of the other layouts from which on they count as made easy. Where a random layout falls short of
MIN_DISTANCE_LEFT with a chance of 20 %, six of eight do so in one program of 800; a program can tell at most two of the
eight from others."""


def simplifications(
    task: Task, scene: kit.Scene, planned: Sequence[PlannedGoal], found: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a sentence for each way in which a program leaves less to do than the photograph.

    `found` is the report's evidence "photograph", `planned` are the task's goals as the planner reads them.
    """
    if refused := found.get("refused"):
        yield f"its goals cannot be stated with the objects as photographed: {refused}"
        return
    goals = found.get("goals") or ()
    yield from _nearer_at_start(goals)
    yield from _resized(task, scene, found)
    yield from _easy_layouts(found.get("others") or ())
    yield from _near_zones(scene, planned, goals)


def _nearer_at_start(goals: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for goal in goals:
        start, before = goal["miss"] or 0.0, goal["photographed"] or 0.0
        if start < MIN_DISTANCE_LEFT * before and before - start > goal["clear"]:
            yield f"{goal['name']} is short by {_cm(start)} at the start, and by {_cm(before)} as photographed"


def _resized(task: Task, scene: kit.Scene, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield the task's objects that have another size than photographed, or an equally changed one in all others."""
    wanted = {*task.objects, *(name for goal in found.get("goals") or () for name in goal["objects"])}
    sizes = {o.name: float(o.size.max()) for o in scene.objects if o.name in wanted}
    for name, factor in (found.get("resized") or {}).items():
        if name in sizes and abs(factor - 1) * sizes[name] > MOVED_M:
            yield f"{name} is {factor:.2g} times as large as photographed"
    for name, factors in (found.get("resized_others") or {}).items():
        grown = [(factor - 1) * sizes[name] for factor in factors] if name in sizes else []
        if name not in (found.get("resized") or {}) and grown and (min(grown) > MOVED_M or max(grown) < -MOVED_M):
            yield f"{name} is {np.median(factors):.2g} times as large as photographed in every other layout"


def _easy_layouts(others: Sequence[Sequence[float]]) -> Iterator[str]:
    easy = [(start, before) for start, before in others if start < MIN_DISTANCE_LEFT * before and before > CLEAR_MISS]
    if easy and len(easy) >= EASY_LAYOUTS * len(others):
        start, before = np.median(easy, axis=0)
        yield (
            f"{len(easy)} of {len(others)} other layouts are nearly done at the start: the goals are short by "
            f"{_cm(start)} there, and by {_cm(before)} where nothing is changed"
        )


def _near_zones(scene: kit.Scene, planned: Sequence[PlannedGoal], goals: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield a task of zones that a careful check may take for done as photographed, where fair zones lie much farther.

    The planner's own zones, clear of every object, are the fair ones.
    """
    data = scene_to_json(scene)
    fair = place_zones(planned, scene_objects(data), TableTop.from_json(data)) if planned else None
    wanted = [goal for goal in planned if goal.spec.zone == "fill" and not goal.new_container]
    if not fair or not wanted or not goals:
        return
    distances = []
    for goal in wanted:
        (x, y), side = fair[goal.names[1]]
        zone = Zone(goal.names[1], np.array([x, y]), (side, side), scene.right)
        distances.append(float(zone.outside(scene[goal.names[0]].outline).max()))
    nearest, farthest = min(distances), max(goal["photographed"] or 0.0 for goal in goals)
    if farthest < min(CLEAR_MISS, MIN_DISTANCE_LEFT * nearest):
        names = listed([goal.names[0] for goal in wanted])
        are, them = ("is", "it") if len(wanted) == 1 else ("are", "them")
        yield (
            f"{names} {are} {_cm(farthest)} from where the task wants {them}; a zone clear of the objects is "
            f"{_cm(nearest)} away"
        )


def changes(found: Mapping[str, Any]) -> tuple[str, ...]:
    """Return sentences about what a program changes of the photographed layout, for who asked for the task."""
    return tuple(_changes(found)) if found else ()


def _changes(found: Mapping[str, Any]) -> Iterator[str]:
    if left_out := found.get("left_out"):
        yield f"{listed(left_out)} {'is' if len(left_out) == 1 else 'are'} left out"
    for name, metres in (found.get("moved") or {}).items():
        yield f"{name} starts {metres * 100:.0f} cm from where it was photographed"
    for name, factor in (found.get("resized") or {}).items():
        yield f"{name} is {factor:.2g} times as large as photographed"
    for name, source in (found.get("copies") or {}).items():
        yield f"{name} is a copy of {source}"
    for part, share in (found.get("opened") or {}).items():
        yield f"{part} starts {share * 100:.0f} % open"
    reward = found.get("reward")
    if reward is not None and reward <= SOLVED:
        yield f"without these changes the oracle reaches {reward:.2f} of 1: {found.get('why')}"


def _cm(metres: float) -> str:
    return f"{metres * 100:.1f} cm"
