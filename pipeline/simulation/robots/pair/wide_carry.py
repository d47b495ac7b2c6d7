"""Carries an object that is too wide for either gripper between both hands: closed fingers press on opposite sides.

Both hands come level or from above at the height of the centre of mass, press until friction holds twice the weight,
and then move in step. The object keeps its yaw.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import mujoco
import numpy as np

from pipeline.geometry import shifted
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.hand import LOWERING_SPEED_M_S, ArmHand
from pipeline.simulation.robots.arm.motion import follow_together
from pipeline.simulation.robots.arm.straight_ways import APPROACH_M
from pipeline.simulation.robots.arm.tools.grasp import Grasp, gripper_at
from pipeline.simulation.robots.oracle import placement

FRICTION = 0.5
"""Coefficient that is counted on: that of wood and cardboard on rubber is 0.5 to 1."""
TILTS_RAD = (0.4, 0.8, 0.0, 1.1)
"""Angles of the approach below the level, in the order in which they are tried."""
STEEPEST_FACE = 0.95
"""Least cosine between the direction in which a hand presses and the face there."""
LIFTS_M = (0.06, 0.12, 0.2)
"""Heights over which an object is carried, in the order in which they are tried."""
STEP_M = 0.02
"""Distance between two postures on the way."""


@dataclass(frozen=True, eq=False)
class Press:
    """How both hands hold an object."""

    hands: tuple[ArmHand, ArmHand]
    inward: tuple[np.ndarray, np.ndarray]
    """Unit vectors (3,), level, in which the hands press."""
    touching: tuple[np.ndarray, np.ndarray]
    """World-from-gripper (4, 4) where the tips touch."""
    before: tuple[np.ndarray, np.ndarray]
    """Joint angles (N,) before the approach."""


@dataclass(frozen=True, eq=False)
class WideHold:
    """An object between both hands."""

    press: Press
    stood: Object
    """As it stood before."""


def plan_press(hands: Sequence[ArmHand], target: Object) -> Press | str:
    """Return how both hands press on opposite sides of an object, or why they cannot."""
    physics, reason = hands[0].physics, f"{target.name} has no two opposite sides that both hands can press on"
    for hand in hands:
        hand.clearance.refresh()
    for direction, points in _opposite_points(physics, target):
        pairs = (tuple(hands), tuple(reversed(hands)))
        nearer = min(pairs, key=lambda pair: sum(h.distance(p) for h, p in zip(pair, points, strict=True)))
        found = []
        for hand, point, inward in zip(nearer, points, (-direction, direction), strict=True):
            posture = _posture(hand, point, inward, target.name)
            if isinstance(posture, str):
                reason = posture
                break
            found.append(posture)
        if len(found) == 2:
            (first, before), (second, other_before) = found
            return Press((nearer[0], nearer[1]), (-direction, direction), (first, second), (before, other_before))
    return reason


def take(press: Press, target: Object) -> str:
    """Press on an object and lift it by 2 cm; return why it failed, empty on success."""
    hands, name, physics = press.hands, target.name, press.hands[0].physics
    for hand, q, pose in zip(hands, press.before, press.touching, strict=True):
        hand.tool.prepare(Grasp(pose, pose[:3, 3], (0.0,), 0.0, 0.0, 0.0))
        if failure := hand.move_to(q, None):
            return failure
        hand.motion.arrive()
    weight = target.mass * 9.81
    needed = 2 + 2 * weight / (2 * FRICTION)
    _move(press, [APPROACH_M * _approach(pose) for pose in press.touching], 0.9)
    starts = [hand.kinematics.forward(hand.motion.commanded) for hand in hands]
    # Depth in metres to which the hands are commanded: beyond, they push the object away or slide off
    for depth in np.arange(0.001, 0.04, 0.001):
        if min(_forces(physics, hands, name)) > needed:
            break
        paths = _paths(press, starts, [depth * inward for inward in press.inward])
        if paths is None:
            let_go(press)
            return f"out of reach: the hands cannot press on {name}"
        follow_together([hand.motion for hand in hands], paths, 0.06)
    else:
        let_go(press)
        return f"the hands found no hold on {name}"
    if not _move(press, [np.array([0, 0, STEP_M])] * 2, 0.6) or not _is_between(physics, hands, name):
        let_go(press)
        return f"{name} slipped from between the hands when it was lifted"
    return ""


def carry(hold: WideHold, xy: np.ndarray) -> str:
    """Carry an object between both hands to a place (2,) and set it down; return what went wrong, empty on success."""
    hands, name = hold.press.hands, hold.stood.name
    physics = hands[0].physics
    top, low = placement.surface_heights(physics, hold.stood, xy)
    state = physics.state()
    carried = state[name]
    offset = np.array([*(xy - carried.position[:2]), 0.0])
    failure = ""
    for lift in LIFTS_M:
        up = np.array([0, 0, max(top - carried.bottom, 0.0) + lift])
        failure = _why_no_way(hold.press, carried, list(state.objects.values()), up, offset)
        if not failure:
            length = float(np.linalg.norm(offset))
            _move(hold.press, [up] * 2, 0.5 + up[2] / 0.2)
            _move(hold.press, [offset] * 2, 0.5 + length / 0.2)
            break
    if not _is_between(physics, hands, name):
        failure = f"{name} slipped from between the hands on the way"
    now = physics.state()[name]
    down = max(now.bottom - (low if not failure else 0.0), 0.0) + 0.01
    label = physics.label_of(name)

    def stands() -> bool:
        return any(other != physics.gripper and upright > 0.3 for other, upright in physics.contacts(label))

    _move(hold.press, [np.array([0, 0, -down])] * 2, down / LOWERING_SPEED_M_S, stands)
    let_go(hold.press)
    physics.settle(1.5)
    return failure


def let_go(press: Press) -> None:
    """Move both hands away from the object, back as they came."""
    _move(press, [-0.02 * inward for inward in press.inward], 0.3)
    _move(press, [-APPROACH_M * _approach(pose) for pose in press.touching], 0.9)


def why_not_carried(press: Press, target: Object, xy: np.ndarray, others: Sequence[Object]) -> str:
    """Return why an object cannot be carried to a place (2,), by plan alone; empty if it can."""
    offset, failure = np.array([*(xy - target.position[:2]), 0.0]), ""
    for lift in LIFTS_M:
        failure = _why_no_way(press, target, others, np.array([0, 0, lift]), offset, press.touching)
        if not failure:
            return ""
    return failure


def _opposite_points(physics: Physics, target: Object) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]]:
    """Yield level unit vectors (3,) along which two faces lie opposite, and the points (3,) on both faces."""
    centre = physics.centre_of_mass(target.name)
    # 0.025: half of a hand's height, which the table needs below the tips
    height = float(np.clip(centre[2], target.bottom + 0.025, max(target.top - 0.01, target.bottom + 0.025)))
    if height > target.top:
        return
    label, start = physics.label_of(target.name), np.array([*centre[:2], height])
    for angle in target.yaw + np.pi / 2 * np.arange(2):
        direction = np.array([np.cos(angle), np.sin(angle), 0.0])
        points = []
        for sign in (1, -1):
            begin = start + sign * (target.reach + 0.02) * direction
            distance, hit, normal = physics.ray(begin, -sign * direction)
            if hit == label and abs(float(normal @ direction)) > STEEPEST_FACE:
                points.append(begin - sign * distance * direction)
        if len(points) == 2:
            yield direction, (points[0], points[1])


def _posture(hand: ArmHand, point: np.ndarray, inward: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray] | str:
    """Return the gripper's pose (4, 4) with its closed tips at a point, and joint angles (N,) before, or why not."""
    hit = ""
    for tilt, upright in product(TILTS_RAD, (False, True)):
        approach = np.cos(tilt) * inward - np.array([0, 0, np.sin(tilt)])
        level = np.cross(approach, [0.0, 0.0, 1.0])
        closing = np.cross(approach, level) if upright else level
        pinch = point - hand.tool.tip_m * approach
        for pose in (gripper_at(pinch, closing, approach), gripper_at(pinch, -closing, approach)):
            q = hand.kinematics.solve(pose)
            before = None if q is None else hand.kinematics.solve(shifted(pose, -APPROACH_M * approach), q)
            if q is None or before is None:
                continue
            hit = hand.clearance.first_collision(q, 0.0, None, (name,)) or hand.clearance.first_collision(before, 0.0)
            if not hit:
                return pose, before
    reason = f"would collide with {hit}" if hit else "does not reach that far"
    return f"the hand that presses on {name} {reason}"


def _approach(pose: np.ndarray) -> np.ndarray:
    return pose[:3, 2]


def _paths(press: Press, starts: Sequence[np.ndarray], offsets: Sequence[np.ndarray]) -> list[list[np.ndarray]] | None:
    """Return postures of both hands on straight lines from poses (4, 4); None if one cannot follow."""
    count = max(1, int(np.ceil(max(float(np.linalg.norm(offset)) for offset in offsets) / STEP_M)))
    paths: list[list[np.ndarray]] = []
    for hand, start, offset in zip(press.hands, starts, offsets, strict=True):
        q, path = hand.motion.commanded, []
        for share in np.linspace(0, 1, count + 1)[1:]:
            found = hand.kinematics.solve(shifted(start, share * offset), q)
            if found is None:
                return None
            q = found
            path.append(q)
        paths.append(path)
    return paths


def _move(press: Press, offsets: Sequence[np.ndarray], seconds: float, until: Callable[[], bool] | None = None) -> bool:
    """Move both hands in step along straight lines; return whether they can follow."""
    starts = [hand.kinematics.forward(hand.motion.commanded) for hand in press.hands]
    paths = _paths(press, starts, offsets)
    if paths is None:
        return False
    follow_together([hand.motion for hand in press.hands], paths, seconds, until)
    return True


def _why_no_way(
    press: Press,
    carried: Object,
    others: Sequence[Object],
    up: np.ndarray,
    offset: np.ndarray,
    starts: Sequence[np.ndarray] | None = None,
) -> str:
    """Return why an object cannot be lifted, carried level and lowered by these offsets (3,); empty if it can.

    `starts` are the poses (4, 4) of the hands; None for where they are.
    """
    starts = starts or [hand.kinematics.forward(hand.motion.commanded) for hand in press.hands]
    lowest = carried.bottom + up[2]
    for other in others:
        if other.name != carried.name and other.top > lowest - 0.005 and _is_on_the_way(carried, other, offset[:2]):
            return f"{carried.name} would collide with {other.name} on the way"
    level = [shifted(start, up) for start in starts]
    ways = _paths(press, starts, [up] * 2), _paths(press, level, [offset] * 2)
    lowered = _paths(press, [shifted(start, offset) for start in starts], [np.zeros(3)] * 2)
    if ways[0] is None or ways[1] is None or lowered is None:
        return f"out of reach: both hands cannot carry {carried.name} there"
    for hand, first, second, last in zip(press.hands, ways[0], ways[1], lowered, strict=True):
        for q in (*first[::3], *second[::3], *last):
            if hit := hand.clearance.first_collision(q, 0.0, None, (carried.name,)):
                return f"the hand would collide with {hit} when it carries {carried.name}"
    return ""


def _is_on_the_way(carried: Object, other: Object, offset: np.ndarray) -> bool:
    """Whether another object's middle lies within both radii of the way."""
    length = float(np.linalg.norm(offset))
    along = offset / max(length, 1e-9)
    relative = other.position[:2] - carried.position[:2]
    nearest = float(np.clip(relative @ along, 0.0, length)) * along
    return float(np.linalg.norm(relative - nearest)) < carried.reach + other.reach


def _forces(physics: Physics, hands: Sequence[ArmHand], name: str) -> list[float]:
    """Return with how many newtons each hand presses on an object now."""
    label, wrench = physics.label == physics.label_of(name), np.zeros(6)
    forces = []
    for hand in hands:
        own, total = hand.clearance.hand, 0.0
        for number, pair in enumerate(physics.data.contact.geom):
            if own[pair].any() and label[pair].any():
                mujoco.mj_contactForce(physics.model, physics.data, number, wrench)
                total += float(wrench[0])
        forces.append(total)
    return forces


def _is_between(physics: Physics, hands: Sequence[ArmHand], name: str) -> bool:
    """Whether both hands touch an object, and nothing else does."""
    others = {label for label, _ in physics.contacts(physics.label_of(name))} - {physics.gripper}
    return min(_forces(physics, hands, name)) > 0 and not others
