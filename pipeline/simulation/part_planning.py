"""Planning for what moves on joints: make room before it, open it, put things in, shut it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pipeline.simulation import landing, spots
from pipeline.simulation.goals import Goal
from pipeline.simulation.moves import Blocked, Move, Pull
from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.part_goals import Closed, InsidePart, Opened, footprint
from pipeline.simulation.parts import Part
from pipeline.simulation.state import State

if TYPE_CHECKING:
    from pipeline.simulation.planning import Planner

WIDE = 0.9
"""How far a part is opened, of its way."""
ENOUGH = 0.75
"""How far a drawer is open when something can be put in."""
COVERS = 0.2
"""Share of its way from which a drawer that is out covers those below it."""
HAND = 0.05
"""Metres before a part that the hand needs."""


def swing(planner: "Planner", state: State, goal: Opened | Closed, goals: Sequence[Goal]) -> Move | Pull:
    """Opens or shuts what the goal names; what stands in its way is carried away first.

    Of several drawers of one thing the lowest is opened first, the highest shut first: the hand comes from above.
    """
    alike = [g for g in goals if type(g) is type(goal) and isinstance(g, Opened | Closed) and g.a == goal.a]
    heights = {g: state[g.a].part(g.part).top * (1 if isinstance(g, Opened) else -1) for g in alike if not g.met(state)}
    goal = min(heights, key=lambda g: heights[g])
    return _clear(planner, state, Pull(goal.a, goal.part, WIDE if isinstance(goal, Opened) else 0.0, goal), goals)


def into_part(planner: "Planner", state: State, goal: InsidePart, goals: Sequence[Goal]) -> Move | Pull:
    """Opens the part where it is shut, and puts the thing where there is room in it."""
    a, b = state[goal.a], state[goal.b]
    part = b.part(goal.part)
    planner.loose(state, a)
    if above := planner.load(state, a.name):
        return planner.aside(state, above, goal, list(goals))
    if part.kind != "slide":
        raise Blocked(f"{goal.part} of {b.name} holds nothing: the hand puts things into drawers, from above")
    if part.open < ENOUGH:
        return _clear(planner, state, Pull(b.name, part.name, WIDE, goal), goals)
    room = landing.tray(planner.physics, b, part)
    if room is None:
        raise Blocked(f"{goal.part} of {b.name} is not hollow, or nothing of its inside shows when it is open")
    wide, gap = landing.narrow(a.outline) * 100, landing.narrow(room) * 100
    if wide > gap + 0.4:
        raise Blocked(f"{a.name} is {wide:.1f} cm wide, {goal.part} of {b.name} opens only {gap:.1f} cm")
    inside = [o for o in state.objects.values() if _lies_in(state, o, b, footprint(part)) and o.name != a.name]
    xy, yaw = landing.into(planner.physics, a, b, room, inside)
    return Move(a.name, xy, yaw, "place", f"{goal.part} of {b.name}", goal)


def _lies_in(state: State, thing: Object, b: Object, outline: np.ndarray) -> bool:
    return state.touches(thing.name, b.name) and Region(outline).contains(thing.position[:2])


def _clear(planner: "Planner", state: State, pull: Pull, goals: Sequence[Goal]) -> Move | Pull:
    """The pull, or what has to be shut above it or carried out of its way before."""
    thing = state[pull.object]
    if cover := _above(thing, thing.part(pull.part)):
        return Pull(thing.name, cover, 0.0, pull.goal)
    way = replace(thing, name="", outline=swept(thing, pull), parts=())
    part, under = thing.part(pull.part), planner.below(state, thing.name)
    wanted = {name for g in goals if not g.met(state) for name in g.objects}  # not to be buried under a drawer
    for other in state.objects.values():
        rides = state.touches(other.name, thing.name) and not state.touches(other.name, "table")
        level = other.bottom < part.top and (other.top > part.bottom + 0.002 or other.name in wanted)
        if other.name in (thing.name, *under) or rides or not level:
            continue
        if not spots.fits(thing.position[None, :2], way, [other], 0.003)[0]:
            if not planner.mobile(state, other.name):
                raise Blocked(f"{other.name} stands before {pull.part} of {thing.name} and cannot be moved")
            return planner.aside(state, other.name, pull.goal, list(goals), keep=(way,))
    return pull


def _above(thing: Object, part: Part) -> str:
    """The highest drawer that is out above a part, so that the hand does not get to it; empty for none."""
    out = [p for p in thing.parts if p.kind == "slide" and p.open > COVERS and p.bottom > part.top - 0.01]
    return max(out, key=lambda p: p.top).name if out else ""


def swept(thing: Object, pull: Pull) -> np.ndarray:
    """Outline of all the ground that a part goes over on its way, and that the hand needs before it, (N, 2)."""
    part = thing.part(pull.part)
    poses = [part.at(value) for value in np.linspace(part.value, pull.share * part.end, 8)]
    ahead = [p.corners[:, :2] + HAND * p.heading(p.corners.mean(0))[:2] for p in poses]
    return hull(np.concatenate([*(p.corners[:, :2] for p in poses), *ahead]))
