"""The oracle of a push: a hand that knows every pose moves behind an object and pushes it straight to its zone.

A push by one point is unstable: the hand steers back to the line through the object's middle before it goes on, and
slows down where it has left it (Lynch and Mason 1996, "Stable pushing").
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.learning.subtask import Subtask
from pipeline.learning.subtask_world import RATE
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import hand_of
from pipeline.simulation.state import State

if TYPE_CHECKING:
    from pipeline.learning.environment import SubtaskEnv

OFF_LINE_M, LOST_M = 0.015, 0.03
"""Metres beside the line from which it stops pushing until it is back, and from which it lifts and begins again."""
ABOVE_M, ARRIVED_M = 0.03, 0.015
"""It moves this high above the object, until it is so near to the place behind it."""
LOWEST_M, BESIDE_M = 0.012, 0.025
"""Lowest height of the hand, and its distance from the object's outline before it pushes."""
STILL = np.array([0.0, 0.0, 0.0, 0.0, -1.0])


def is_push(subtask: Subtask) -> bool:
    """Whether a subtask is a push to a zone, as rules and models name it: its goal alone could also be a placement."""
    return subtask.name.startswith("push") and subtask.success[-1].fills_zone


def push_action(env: "SubtaskEnv") -> np.ndarray:
    """Return the next action (5,) of a subtask for which `is_push` holds."""
    assert env.moment is not None
    state, goal = env.moment.state, env.world.subtask.success[-1]
    a, tip = state[goal.objects[0]], hand_of(state).tip
    height = max(LOWEST_M, a.bottom + 0.25 * a.height)
    if env.moment.misses.max() <= 0:
        return STILL
    line = push_line(state, goal, tip)
    off_line = float(np.linalg.norm(line.off_line))
    is_high = tip[2] > a.bottom + 0.75 * a.height
    if is_high or line.is_past or off_line > LOST_M:  # not behind it yet, or not any more
        return _towards_side(line.behind, a.top, height, tip)
    # Share of the largest change that it pushes with, and 1/s at which it slows down before the zone's middle
    forward = min(0.8, 8.0 * line.distance) * max(0.0, 1 - off_line / OFF_LINE_M)
    return np.array([*np.clip(line.unit * forward - line.off_line / RATE.slide_m, -1, 1), 0.0, 0.0, -1.0])


@dataclass(frozen=True, eq=False)
class PushLine:
    """The line along which an object is pushed, and where the hand is beside it; on the ground, in metres."""

    unit: np.ndarray
    """Its direction (2,), from the object's middle to the zone's."""
    distance: float
    """From middle to middle."""
    off_line: np.ndarray
    """From the line to the hand (2,), at a right angle."""
    is_past: bool
    """Whether the hand is past the object's middle."""
    behind: np.ndarray
    """Place (2,) from which the push begins."""


def push_line(state: State, goal: Goal, tip: np.ndarray) -> PushLine:
    """Return the line of a push whose goal is a zone, for a hand at `tip` (3,)."""
    a, target = state[goal.objects[0]], state.zones[goal.holder].xy
    way = target - a.position[:2]
    distance = float(np.linalg.norm(way))
    unit = way / distance if distance > 1e-6 else np.array([1.0, 0.0])
    from_object = tip[:2] - a.position[:2]
    along = float(from_object @ unit)
    extent = float(((a.outline - a.position[:2]) @ -unit).max())
    behind = a.position[:2] - unit * (extent + BESIDE_M)
    return PushLine(unit, distance, from_object - unit * along, along > 0, behind)


def _towards_side(place: np.ndarray, top: float, height: float, tip: np.ndarray) -> np.ndarray:
    """Return the action towards a place (2,) beside an object: over it first, then down to a height."""
    is_far = np.linalg.norm(tip[:2] - place) > ARRIVED_M
    if is_far and tip[2] < top:
        return np.array([0.0, 0.0, 1.0, 0.0, -1.0])
    change = np.array([*place, top + ABOVE_M if is_far else height]) - tip
    return np.array([*np.clip(change / RATE.slide_m * 0.8, -1, 1), 0.0, -1.0])
