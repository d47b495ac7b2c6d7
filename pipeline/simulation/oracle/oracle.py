"""The scripted oracle: it knows every pose, carries one object at a time and looks at the state after each.

It is a generator of events; a goal it cannot meet becomes an event with the reason.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.stages import is_superseded
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.oracle import articulation, placement, suction_grasp
from pipeline.simulation.oracle.gripper import SuctionGripper, add_gripper
from pipeline.simulation.oracle.moves import Move, PartMotion, Refusal
from pipeline.simulation.oracle.planning import GAP, MovePlanner
from pipeline.simulation.oracle.robot import Hand, Mount
from pipeline.simulation.physics import Physics

CARRY_CLEARANCE = 0.04
"""Kept between the carried object and everything below, in metres."""
MAX_OPEN_ERROR = 0.15
"""Share of its travel by which a part may be off after it was opened or shut."""
OVER_PLACE = 0.01
"""Metres beside its place from which a held object is only lowered."""
TIME_LIMIT = 120.0
"""Simulated seconds before the oracle gives up."""
MAX_PLACE_ERROR = 0.015
"""Metres from its place within which an object set down on the table counts as placed."""


@dataclass(frozen=True)
class Event:
    """One action of the oracle, or one that it could not do."""

    time: float
    """Simulated seconds."""
    verb: str
    """"pick", "place", "move aside", "open", "shut", "give up"."""
    object: str
    target: str
    ok: bool
    message: str = ""


class FloatingGripper:
    """The fast robot: a suction cup that floats."""

    source = "oracle, floating gripper"

    def mount(self, objects: Sequence[Object], table: Region, away: np.ndarray) -> None:
        """Return None: it reaches everything."""

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add the gripper above the table's centre and a weld for each object and part; return its home (3,)."""
        home = np.array([*table.centre, max([o.top for o in objects], default=0.0) + 0.15])
        bodies = {o.name: o.name for o in objects if not o.fixed}
        add_gripper(spec, home, bodies | {f"{o.name} {part.name}": part.body for o in objects for part in o.parts})
        return home

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Do nothing: it starts at its home."""

    def hand(self, physics: Physics) -> Hand:
        """Return its hand in a running world."""
        return SuctionHand(physics)


class SuctionHand(SuctionGripper):
    """The floating gripper as the oracle's hand."""

    gap = GAP

    def reaches(self, points: np.ndarray) -> np.ndarray:
        return np.ones(len(points), bool)

    def why_not_picked(self, name: str) -> str:
        reach = suction_grasp.reachable_contacts(self.physics, self.physics.state()[name])
        blocked = len(reach.contacts) or reach.covered_by
        return "" if blocked else f"no flat place of {name} can be reached from above"

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        return pick(self, move.object, attempt, covers)

    def place(self, move: Move) -> str:
        place(self, move)
        return ""

    def pull(self, motion: PartMotion) -> str:
        return articulation.move_part(self, motion, _highest_top(self) + 0.03)

    def retreat(self) -> None:
        self.go(np.array([*self.tip[:2], max(self.tip[2], _highest_top(self) + 0.1)]))


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
    physics = hand.physics
    for _ in range(8 + 6 * len(goals)):
        state = physics.state()
        step = planner.next(state, goals)
        if step is None:
            return
        if isinstance(step, Refusal):
            planner.refused.add(step.goal)
            yield Event(physics.time, "give up", step.object, step.goal.name, False, step.message)
        elif physics.time > TIME_LIMIT:
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
    """Pick an object up and set it down; compare where it came to rest."""
    key = (move.goal, move.object)
    tried = planner.tries.get(key, 0)
    planner.tries[key] = tried + (1 if move.verb == "place" else 0)
    failure = hand.pick(move, tried, planner.covers)
    yield Event(hand.physics.time, "pick", move.object, "", not failure, failure)
    if failure:
        planner.tries[key], planner.failures[key] = tried + 1, failure
        return
    failure = hand.place(move)
    state = hand.physics.state()
    off = float(np.linalg.norm(state[move.object].position[:2] - move.xy))
    measured = move.verb == "place" and move.goal.measured_after_release
    ok = move.goal.met(state) if measured else off < MAX_PLACE_ERROR
    message = failure or f"{move.object} came to rest {off * 100:.1f} cm from where it was set down on {move.target}"
    if measured and off < MAX_PLACE_ERROR and not failure:
        short = move.goal.miss(state) * 100
        message = f"{move.object} stayed where it was set down, {short:.1f} cm short of {move.goal.name}"
    yield Event(hand.physics.time, move.verb, move.object, move.target, ok, "" if ok else message)


def pick(hand: SuctionGripper, name: str, attempt: int = 0, covers: dict[str, str] | None = None) -> str:
    """Pick an object up from above. Return why it failed; empty on success.

    What lies over it is written to `covers`. Each `attempt` begins with another contact point. What the hand holds
    already stays in it.
    """
    physics = hand.physics
    if hand.holding == name:
        return ""
    hand.release()
    reach = suction_grasp.reachable_contacts(physics, physics.state()[name])
    if not len(reach.contacts):
        if covers is not None and reach.covered_by:
            covers[name] = reach.covered_by
        return f"no flat place of {name} can be reached from above" + (
            f": {reach.covered_by} lies over it" if reach.covered_by else ""
        )
    for contact in np.roll(reach.contacts, -attempt, 0)[:2]:
        high = _highest_top(hand) + 0.02
        hand.go(np.array([*hand.tip[:2], max(high, hand.tip[2])]))
        hand.go(np.array([*contact[:2], high]))
        hand.go(contact + np.array([0, 0, 0.012]))
        touched = hand.feel(contact[2] - 0.012)
        if touched == name:
            hand.grip(name)
            return ""
    return f"the cup came down on {touched or 'nothing'} instead of {name}"


def place(hand: SuctionGripper, move: Move) -> None:
    """Carry the held object to its place and lower it until it touches something."""
    physics, name = hand.physics, move.object
    held = physics.state()[name]
    length = hand.tip[2] - held.bottom
    turn = 0.0 if move.yaw is None else _shortest(move.yaw - held.yaw)
    if turn or np.linalg.norm(held.position[:2] - move.xy) > OVER_PLACE:
        high = max(_highest_top(hand, name) + CARRY_CLEARANCE + length, hand.tip[2] + 0.03)
        hand.go(np.array([*hand.tip[:2], high]))
        hand.go(*_tip_for(hand, name, move.xy, turn, high))
        hand.go(*_tip_for(hand, name, move.xy, 0.0, high))
    held = physics.state()[name]
    top, low = placement.surface_heights(physics, held, move.xy)
    length = hand.tip[2] - held.bottom
    hand.go(np.array([*hand.tip[:2], top + length + 0.012]))
    hand.feel(low + length - 0.015)
    hand.release()
    hand.go(hand.tip + np.array([0, 0, 0.05]))
    physics.settle(1.5)


def _tip_for(hand: SuctionGripper, name: str, xy: np.ndarray, turn: float, high: float) -> tuple[np.ndarray, float]:
    """Return the tip position and turn that bring the held object's centre over xy."""
    pos, _ = hand.physics.pose(name)
    offset = pos[:2] - hand.physics.data.body("gripper").xpos[:2]
    return np.array([*(xy - planar_rotation(turn) @ offset), high]), hand.turn + turn


def _highest_top(hand: SuctionGripper, without: str = "") -> float:
    """Return the highest z of all objects but one."""
    state = hand.physics.state()
    return max([o.top for o in state.objects.values() if o.name != without], default=0.0)


def _shortest(angle: float) -> float:
    """Return the same turn within half a turn either way."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)
