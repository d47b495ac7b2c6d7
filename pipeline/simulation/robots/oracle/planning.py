"""Next move of the oracle: from the goals and the present state to one move, or the reason why there is none.

Objects are carried (carry_planning.py); the way of parts on joints is cleared, they are opened, filled and shut.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.simulation import free_space
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.goals.goal import BlockedError, Goal, Move, PartMotion
from pipeline.simulation.goals.inside_part import InsidePart
from pipeline.simulation.goals.open_part import Opened, PartOpening
from pipeline.simulation.goals.stages import in_order, pursued
from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.robots.oracle import placement
from pipeline.simulation.robots.oracle.carry_planning import CarryPlanner, cm
from pipeline.simulation.state import State

MAX_TRIES = 3
"""Attempts to carry one object for one goal."""
OPEN_TO = 0.9
"""Share of its travel to which a part is opened."""


@dataclass(frozen=True)
class Refusal:
    """Why a goal cannot be met."""

    object: str
    goal: Goal
    message: str


class MovePlanner(CarryPlanner):
    """Plans one move at a time, for objects and for parts that move on joints."""

    def next(self, state: State, goals: Sequence[Goal]) -> Move | PartMotion | Refusal | None:
        """Return the next move towards the first goal not met; None when there is nothing left to do."""
        active = pursued(state, goals, self.refused)
        for goal in goals:
            if goal not in self.refused and (surplus := goal.surplus(state)):
                try:
                    return self.move_aside(state, surplus[-1].objects[0], goal, active)
                except BlockedError as blocked:
                    return Refusal(surplus[-1].objects[0], goal, str(blocked))
        for goal in in_order(active):
            if goal.met(state):
                continue
            try:
                move = goal.next_move(self, state, active)
            except BlockedError as blocked:
                return Refusal(goal.objects[0], goal, str(blocked))
            cover = self.covers.pop(move.object, "")
            if isinstance(move, Move) and cover and cover not in goal.objects:
                try:
                    return self.move_aside(state, cover, goal, active, {move.object: move.xy})
                except BlockedError as blocked:
                    return Refusal(cover, goal, str(blocked))
            if self.tries.get((move.goal, move.object), 0) >= MAX_TRIES:
                failure = self.failures.get((move.goal, move.object))
                return Refusal(move.object, goal, failure or self._failed(state, goal))
            return move
        return None

    def _failed(self, state: State, goal: Goal) -> str:
        if goal.rests:
            a, b = (state[name] for name in goal.objects)
            return f"{a.name}, {cm(a)} wide, does not stay {goal.rests} {b.name}, {cm(b)} wide ({MAX_TRIES} tries)"
        return f"{goal.name} still missed by {goal.miss(state) * 100:.1f} cm after {MAX_TRIES} tries"

    def move_part(self, state: State, goal: PartOpening, goals: Sequence[Goal]) -> Move | PartMotion:
        """Return the motion that opens or shuts a part, or the move that clears its way.

        The hand comes from above: of several drawers of one object the lowest is opened first, the highest shut first.
        """
        alike = [g for g in goals if type(g) is type(goal) and isinstance(g, PartOpening) and g.a == goal.a]
        heights = {
            g: state[g.a].part(g.part).top * (1 if isinstance(g, Opened) else -1) for g in alike if not g.met(state)
        }
        goal = min(heights, key=lambda g: heights[g])
        share = OPEN_TO if isinstance(goal, Opened) else 0.0
        return self._clear_way(state, PartMotion(goal.a, goal.part, share, goal), goals)

    def place_in_part(self, state: State, goal: InsidePart, goals: Sequence[Goal]) -> Move | PartMotion:
        """Return the motion that opens a drawer, or the move that puts an object where there is room in it."""
        a, b = state[goal.a], state[goal.b]
        part = b.part(goal.part)
        self.require_mobile(state, a)
        if rider := self.topmost_load(state, a.name):
            return self.move_aside(state, rider, goal, list(goals))
        if part.kind != "slide":
            raise BlockedError(f"{goal.part} of {b.name} holds nothing: the hand puts things into drawers, from above")
        # Share of its travel from which objects can be put into a drawer
        if part.open < 0.75:
            return self._clear_way(state, PartMotion(b.name, part.name, OPEN_TO, goal), goals)
        opening = placement.drawer_opening(self.physics, b, part)
        if opening is None:
            raise BlockedError(f"{goal.part} of {b.name} is not hollow, or nothing of its inside shows when it is open")
        wide, gap = placement.smallest_width(a.outline) * 100, placement.smallest_width(opening) * 100
        if wide > gap + 0.4:
            raise BlockedError(f"{a.name} is {wide:.1f} cm wide, {goal.part} of {b.name} opens only {gap:.1f} cm")
        outline = hull(part.corners[:, :2])
        inside = [o for o in state.objects.values() if _is_inside(state, o, b, outline) and o.name != a.name]
        xy, yaw = placement.place_inside(self.physics, a, b, opening, inside)
        return Move(a.name, xy, yaw, "place", f"{goal.part} of {b.name}", goal)

    def _clear_way(self, state: State, motion: PartMotion, goals: Sequence[Goal]) -> Move | PartMotion:
        """Return the motion, or what has to be shut above the part or carried out of its way first."""
        owner = state[motion.object]
        part = owner.part(motion.part)
        if cover := _covering_drawer(owner, part):
            return PartMotion(owner.name, cover, 0.0, motion.goal)
        swept = replace(owner, name="", outline=swept_outline(owner, motion), parts=())
        supports = self.supports(state, owner.name)
        wanted = {name for g in goals if not g.met(state) for name in g.objects}  # not to be buried under a drawer
        for other in state.objects.values():
            rides = state.touches(other.name, owner.name) and not state.touches(other.name, "table")
            level = other.bottom < part.top and (other.top > part.bottom + 0.002 or other.name in wanted)
            if other.name in (owner.name, *supports) or rides or not level:
                continue
            if not free_space.fits(owner.position[None, :2], swept, [other], 0.003)[0]:
                if not self.mobile(state, other.name):
                    raise BlockedError(f"{other.name} stands before {motion.part} of {owner.name} and cannot be moved")
                return self.move_aside(state, other.name, motion.goal, list(goals), keep_clear=(swept,))
        return motion


def _is_inside(state: State, candidate: Object, owner: Object, outline: np.ndarray) -> bool:
    return state.touches(candidate.name, owner.name) and Region(outline).contains(candidate.position[:2])


def _covering_drawer(owner: Object, part: ArticulatedPart) -> str:
    """Return the name of the highest drawer that is out above a part and keeps the hand from it; empty for none."""
    # 0.2: share of its travel from which a drawer covers those below it
    out = [p for p in owner.parts if p.kind == "slide" and p.open > 0.2 and p.bottom > part.top - 0.01]
    return max(out, key=lambda p: p.top).name if out else ""


def swept_outline(owner: Object, motion: PartMotion) -> np.ndarray:
    """Return the outline (N, 2) of the ground that a part sweeps, and that the hand needs in front of it."""
    part = owner.part(motion.part)
    poses = [part.at(value) for value in np.linspace(part.value, motion.share * part.end, 8)]
    # Metres in front of a part that the hand needs
    ahead = [p.corners[:, :2] + 0.05 * p.heading(p.corners.mean(0))[:2] for p in poses]
    return hull(np.concatenate([*(p.corners[:, :2] for p in poses), *ahead]))
