"""The scripted oracle: knows every pose, carries one object at a time, looks again after each.

It is a generator of what it did. What it cannot do it says, with the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.simulation import grasping, landing, pulling
from pipeline.simulation.goals import Goal, Inside, On
from pipeline.simulation.gripper import Gripper, add_gripper
from pipeline.simulation.groups import Stacked
from pipeline.simulation.moves import Move, Pull, Refusal
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.part_goals import InsidePart
from pipeline.simulation.physics import Physics
from pipeline.simulation.planning import GAP, Planner
from pipeline.simulation.robot import Hand

ABOVE = 0.04
"""Kept between what is carried and everything else, in metres."""
NEARLY = 0.15
"""Share of a part's way by which it may be off when it was opened or shut."""
PATIENCE = 120.0
"""Simulated seconds before it gives up."""


@dataclass(frozen=True)
class Event:
    """One thing the oracle did or could not do."""

    time: float
    """Simulated seconds."""
    verb: str
    """"pick", "place", "move aside", "open", "shut", "give up"."""
    object: str
    target: str
    ok: bool
    message: str = ""


class FloatingGripper:
    """The quick robot: a suction cup that flies."""

    source = "oracle, floating gripper"

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, away: np.ndarray) -> np.ndarray:
        home = np.array([*table.centre, max([o.top for o in objects], default=0.0) + 0.15])
        bodies = {o.name: o.name for o in objects if not o.fixed}
        add_gripper(spec, home, bodies | {f"{o.name} {part.name}": part.body for o in objects for part in o.parts})
        return home

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """It waits where it was made."""

    def hand(self, physics: Physics) -> Hand:
        return Cup(physics)


class Cup(Gripper):
    """The floating gripper as the oracle's hand."""

    gap = GAP

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        return pick(self, move.object, attempt, covers)

    def place(self, move: Move) -> str:
        place(self, move)
        return ""

    def pull(self, pull: Pull) -> str:
        return pulling.pull(self, pull.object, pull.part, pull.share, _ceiling(self) + 0.03)

    def retreat(self) -> None:
        self.go(np.array([*self.tip[:2], max(self.tip[2], _ceiling(self) + 0.1)]))


def act(physics: Physics, stages: Sequence[tuple[str, tuple[Goal, ...]]]) -> Iterator[Event]:
    """Pursues the stages in order, keeping what was met."""
    hand = physics.bench.robot.hand(physics)
    planner = Planner(physics, hand.gap)
    goals: list[Goal] = []
    for _, stage in stages:
        goals += [part for goal in stage for part in (goal.parts if isinstance(goal, Stacked) else (goal,))]
        yield from _pursue(hand, planner, goals)
    hand.retreat()


def _pursue(hand: Hand, planner: Planner, goals: list[Goal]) -> Iterator[Event]:
    physics = hand.physics
    for _ in range(8 + 6 * len(goals)):
        state = physics.state()
        step = planner.next(state, goals)
        if step is None:
            return
        if isinstance(step, Refusal):
            planner.refused.add(step.goal)
            yield Event(physics.time, "give up", step.object, step.goal.name, False, step.message)
        elif physics.time > PATIENCE:
            yield Event(physics.time, "give up", step.object, step.goal.name, False, "it takes too long")
            return
        elif isinstance(step, Pull):
            yield _swing(hand, planner, step)
        else:
            yield from _carry(hand, planner, step)
    yield Event(physics.time, "give up", goals[0].objects[0], goals[0].name, False, "it goes round in circles")


def _swing(hand: Hand, planner: Planner, step: Pull) -> Event:
    """Opens or shuts something, and looks how far it went."""
    key = (step.goal, step.object)
    meant = getattr(step.goal, "part", step.part) == step.part  # and no other drawer that was in the way
    planner.tries[key] = planner.tries.get(key, 0) + meant
    trouble = hand.pull(step)
    physics, what = hand.physics, f"{step.part} of {step.object}"
    now = physics.state()[step.object].part(step.part).open
    if not trouble and abs(now - step.share) > NEARLY:
        trouble = f"{what} is {now:.0%} open after the hand tried to {step.verb} it"
    planner.troubles[key] = trouble or planner.troubles.get(key, "")
    return Event(physics.time, step.verb, step.object, step.target, not trouble, trouble)


def _carry(hand: Hand, planner: Planner, move: Move) -> Iterator[Event]:
    key = (move.goal, move.object)
    tried = planner.tries.get(key, 0)
    planner.tries[key] = tried + (1 if move.verb == "place" else 0)
    message = hand.pick(move, tried, planner.covers)
    yield Event(hand.physics.time, "pick", move.object, "", not message, message)
    if message:
        planner.tries[key], planner.troubles[key] = tried + 1, message
        return
    trouble = hand.place(move)
    state = hand.physics.state()
    off = float(np.linalg.norm(state[move.object].position[:2] - move.xy))
    strict = move.verb == "place" and isinstance(move.goal, On | Inside | InsidePart)
    ok = move.goal.met(state) if strict else off < 0.015
    said = trouble or f"{move.object} came to rest {off * 100:.1f} cm from where it was set down on {move.target}"
    if strict and off < 0.015 and not trouble:
        short = move.goal.miss(state) * 100
        said = f"{move.object} stayed where it was set down, {short:.1f} cm short of {move.goal.name}"
    yield Event(hand.physics.time, move.verb, move.object, move.target, ok, "" if ok else said)


def pick(hand: Gripper, name: str, attempt: int = 0, covers: dict[str, str] | None = None) -> str:
    """Takes hold of an object from above; says why not, empty when it holds it. Notes in covers what lies over it."""
    physics = hand.physics
    thing = physics.state()[name]
    reach = grasping.reach(physics, thing)
    if not len(reach.contacts):
        if covers is not None and reach.covered_by:
            covers[name] = reach.covered_by
        return f"no flat place of {name} can be reached from above" + (
            f": {reach.covered_by} lies over it" if reach.covered_by else ""
        )
    for contact in np.roll(reach.contacts, -attempt, 0)[:2]:
        high = _ceiling(hand) + 0.02
        hand.go(np.array([*hand.tip[:2], max(high, hand.tip[2])]))
        hand.go(np.array([*contact[:2], high]))
        hand.go(contact + np.array([0, 0, 0.012]))
        touched = hand.feel(contact[2] - 0.012)
        if touched == name:
            hand.grip(name)
            return ""
    return f"the cup came down on {touched or 'nothing'} instead of {name}"


def place(hand: Gripper, move: Move) -> None:
    """Carries what is held to a place and sets it down where it first touches."""
    physics, name = hand.physics, move.object
    thing = physics.state()[name]
    hang = hand.tip[2] - thing.bottom
    high = max(_ceiling(hand, name) + ABOVE + hang, hand.tip[2] + 0.03)
    hand.go(np.array([*hand.tip[:2], high]))
    turn = 0.0 if move.yaw is None else _shortest(move.yaw - thing.yaw)
    hand.go(*_tip_for(hand, name, move.xy, turn, high))
    hand.go(*_tip_for(hand, name, move.xy, 0.0, high))
    hanging = physics.state()[name]
    top, low = landing.under(physics, hanging, move.xy)
    hang = hand.tip[2] - hanging.bottom
    hand.go(np.array([*hand.tip[:2], top + hang + 0.012]))
    hand.feel(low + hang - 0.015)
    hand.release()
    hand.go(hand.tip + np.array([0, 0, 0.05]))
    physics.settle(1.5)


def _tip_for(hand: Gripper, name: str, xy: np.ndarray, turn: float, high: float) -> tuple[np.ndarray, float]:
    """Tip position and turn that bring the held object's centre over xy."""
    pos, _ = hand.physics.pose(name)
    offset = pos[:2] - hand.physics.data.body("gripper").xpos[:2]
    c, s = np.cos(turn), np.sin(turn)
    return np.array([*(xy - np.array([[c, -s], [s, c]]) @ offset), high]), hand.turn + turn


def _ceiling(hand: Gripper, without: str = "") -> float:
    state = hand.physics.state()
    return max([o.top for o in state.objects.values() if o.name != without], default=0.0)


def _shortest(angle: float) -> float:
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
