"""The floating gripper as a robot and as the oracle's hand: contact points for its cup, picking and placing."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.free_space import spread_out
from pipeline.simulation.goals.goal import Move, PartMotion
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.gripper.articulation import RAY_PITCH, move_part
from pipeline.simulation.robots.gripper.gripper import CUP_RADIUS, SuctionGripper, add_gripper
from pipeline.simulation.robots.oracle import placement
from pipeline.simulation.robots.oracle.carry_planning import GAP
from pipeline.simulation.robots.robot import Hand, Mount


class FloatingGripper:
    """The fast robot: a suction cup that floats."""

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
        reach = reachable_contacts(self.physics, self.physics.state()[name])
        blocked = len(reach.contacts) or reach.covered_by
        return "" if blocked else f"no flat place of {name} can be reached from above"

    def pick(self, move: Move, attempt: int, covers: dict[str, str]) -> str:
        return pick(self, move.object, attempt, covers)

    def place(self, move: Move) -> str:
        place(self, move)
        return ""

    def pull(self, motion: PartMotion) -> str:
        return move_part(self, motion, _highest_top(self) + 0.03)

    def retreat(self) -> None:
        self.go(np.array([*self.tip[:2], max(self.tip[2], _highest_top(self) + 0.1)]))


def pick(hand: SuctionGripper, name: str, attempt: int = 0, covers: dict[str, str] | None = None) -> str:
    """Pick an object up from above. Return why it failed; empty on success.

    What lies over it is written to `covers`. Each `attempt` begins with another contact point. What the hand holds
    already stays in it.
    """
    physics = hand.physics
    if hand.holding == name:
        return ""
    hand.release()
    reach = reachable_contacts(physics, physics.state()[name])
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
    # Metres beside its place from which a held object is only lowered
    if turn or np.linalg.norm(held.position[:2] - move.xy) > 0.01:
        # 0.04: kept between the carried object and everything below, in metres
        high = max(_highest_top(hand, name) + 0.04 + length, hand.tip[2] + 0.03)
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
    """Return the highest z of all objects but one, and of a bin's walls."""
    others = [o for o in hand.physics.state().objects.values() if o.name != without]
    return max([o.top for o in (*others, *hand.physics.world.walls)], default=0.0)


def _shortest(angle: float) -> float:
    """Return the same turn within half a turn either way."""
    return float((angle + np.pi) % (2 * np.pi) - np.pi)


@dataclass(frozen=True, eq=False)
class ReachableContacts:
    """What can be reached of an object from above."""

    contacts: np.ndarray
    """World points, best first, of shape (N, 3)."""
    covered_by: str
    """Name of the object that hides most of it; empty for none."""


def reachable_contacts(physics: Physics, target: Object) -> ReachableContacts:
    """Return contact points spread over an object, best first."""
    points = _ray_points(target)
    heights, labels, normals = physics.surface(points)
    own = labels == physics.label_of(target.name)
    hidden = [physics.label_name(int(i)) for i in labels[~own & (labels >= 0) & (heights > target.bottom + 0.01)]]
    costs = np.full(len(points), np.inf)
    # Smallest vertical component of a surface's normal that the cup can hold
    for i in np.flatnonzero(own & (normals >= 0.75)):
        off_centre = float(np.linalg.norm(points[i] - target.position[:2]))
        around = heights[np.linalg.norm(points - points[i], axis=1) < CUP_RADIUS + RAY_PITCH * 0.6]
        costs[i] = _cost(off_centre, heights[i], normals[i], around)
    order = np.argsort(costs, kind="stable")
    order = order[np.isfinite(costs[order])]
    contacts = np.column_stack([points[order], heights[order]])
    spread = spread_out(contacts, lambda contact: contact, 0.015, 4)  # so that a retry uses another place
    cover = max(set(hidden), key=hidden.count) if hidden else ""
    return ReachableContacts(
        np.array(spread).reshape(-1, 3), cover if cover in physics.addresses and not len(contacts) else ""
    )


def _ray_points(target: Object) -> np.ndarray:
    """Return the centre and a grid of points (N, 2) over an object's outline."""
    low, high = target.outline.min(0), target.outline.max(0)
    pitch = max(RAY_PITCH, float((high - low).max()) / 24)
    x, y = np.meshgrid(np.arange(low[0] + pitch / 2, high[0], pitch), np.arange(low[1] + pitch / 2, high[1], pitch))
    grid = np.stack([x.ravel(), y.ravel()], -1)
    grid = grid[Region(target.outline).depth(grid) > 0]
    return np.concatenate([target.position[None, :2], grid])


def _cost(off_centre: float, height: float, normal_z: float, around: np.ndarray) -> float:
    """Return metres from the middle plus a cost for slope and roughness; infinite where the cup cannot get.

    `around` holds the heights under the cup, of shape (N,).
    """
    if np.nanmax(around) > height + 0.012:
        return np.inf
    rough = float(np.nanmax(around) - np.nanmin(around))
    return off_centre + 0.1 * (1 - normal_z) + min(rough, 0.03)
