"""The scripted oracle: it knows every pose, carries one object at a time and looks at the state after each.

It is a generator of events; a goal it cannot meet becomes an event with the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.simulation.goals.goal import Goal, Move, PartMotion
from pipeline.simulation.goals.stages import is_superseded
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.oracle.planning import MovePlanner, Refusal
from pipeline.simulation.robots.robot import Hand, hand_overs_of

MAX_OPEN_ERROR = 0.15
"""Share of its travel by which a part may be off after it was opened or shut."""
TIME_LIMIT, TIME_PER_GOAL = 120.0, 15.0
"""Simulated seconds before the oracle gives up: at least, and for each goal, three tries of 5 s, if these are more."""
MAX_PLACE_ERROR = 0.015
"""Metres from its place within which an object set down on the table counts as placed."""


@dataclass(frozen=True)
class Event:
    """One action of the oracle, or one that it could not do."""

    time: float
    """Simulated seconds."""
    verb: str
    """"pick", "place", "hand over", "pass", "move aside", "open", "shut", "give up"."""
    object: str
    target: str
    ok: bool
    message: str = ""


def act(physics: Physics, stages: Sequence[tuple[str, tuple[Goal, ...]]]) -> Iterator[Event]:
    """Pursue the stages in order, keep what was met, and yield each event."""
    hand = physics.world.robot.hand(physics)
    planner = MovePlanner(physics, hand.gap, hand.reaches)
    goals: list[Goal] = []
    for _, stage in stages:
        goals = [goal for goal in goals if not is_superseded(goal, stage)]
        goals += [step for goal in stage for step in goal.steps]
        yield from _pursue(hand, planner, goals)
    hand.retreat()


def _pursue(hand: Hand, planner: MovePlanner, goals: list[Goal]) -> Iterator[Event]:
    physics, limit = hand.physics, max(TIME_LIMIT, TIME_PER_GOAL * len(goals))
    for _ in range(8 + 6 * len(goals)):
        state = physics.state()
        step = planner.next(state, goals)
        if step is None:
            return
        if isinstance(step, Refusal):
            planner.refused.add(step.goal)
            yield Event(physics.time, "give up", step.object, step.goal.name, False, step.message)
        elif physics.time > limit:
            yield Event(physics.time, "give up", step.object, step.goal.name, False, "it takes too long")
            return
        elif isinstance(step, PartMotion):
            yield _move_part(hand, planner, step)
        else:
            yield from _carry(hand, planner, step)
    yield Event(physics.time, "give up", goals[0].objects[0], goals[0].name, False, "it goes round in circles")


def _move_part(hand: Hand, planner: MovePlanner, motion: PartMotion) -> Event:
    """Open or shut a part, and compare how far it went."""
    key = (motion.goal, motion.object)
    own_part = getattr(motion.goal, "part", motion.part) == motion.part  # not another drawer that was in the way
    planner.tries[key] = planner.tries.get(key, 0) + own_part
    failure = hand.pull(motion)
    physics = hand.physics
    now = physics.state()[motion.object].part(motion.part).open
    if not failure and abs(now - motion.share) > MAX_OPEN_ERROR:
        failure = f"{motion.part} of {motion.object} is {now:.0%} open after the hand tried to {motion.verb} it"
    planner.failures[key] = failure or planner.failures.get(key, "")
    return Event(physics.time, motion.verb, motion.object, motion.target, not failure, failure)


def _carry(hand: Hand, planner: MovePlanner, move: Move) -> Iterator[Event]:
    """Make a move, after the hand-overs that it takes. One that fails is planned again."""
    key = (move.goal, move.object)
    tried = planner.tries.get(key, 0)
    planner.tries[key] = tried + (1 if move.verb == "place" else 0)
    passed = False
    for step in (*hand_overs_of(hand, move, tried), move):
        failure = hand.pick(step, tried, planner.covers)
        if not passed:
            yield Event(hand.physics.time, "pick", step.object, "", not failure, failure)
        if failure:
            planner.tries[key], planner.failures[key] = tried + 1, failure
            return
        event = _set_down(hand, step)
        yield event
        if not event.ok:
            return
        passed = event.verb == "pass"


def _set_down(hand: Hand, move: Move) -> Event:
    """Carry the held object to its place; compare where it came to rest, unless it passed to another arm in the air."""
    failure = hand.place(move)
    state = hand.physics.state()
    off = float(np.linalg.norm(state[move.object].position[:2] - move.xy))
    measured = move.verb == "place" and move.goal.measured_after_release
    ok = move.goal.met(state) if measured else off < MAX_PLACE_ERROR
    in_air = move.verb == "hand over" and not failure and not any(move.object in pair for pair in state.touching)
    if in_air:
        return Event(hand.physics.time, "pass", move.object, move.target, True)
    message = failure or f"{move.object} came to rest {off * 100:.1f} cm from where it was set down on {move.target}"
    if measured and off < MAX_PLACE_ERROR and not failure:
        short = move.goal.miss(state) * 100
        message = f"{move.object} stayed where it was set down, {short:.1f} cm short of {move.goal.name}"
    return Event(hand.physics.time, move.verb, move.object, move.target, ok, "" if ok else message)
