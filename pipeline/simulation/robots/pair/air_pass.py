"""Passes an object from one arm to the other in the air: the middle of "pick, pass, place a cube".

The giver turns it level towards the taker. The taker comes from the opposite side with its fingers turned by a quarter,
so that the fingers of both have room, and it is then set down upside down. So only plain solids are passed in the air.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import shifted
from pipeline.simulation.goals.goal import Move
from pipeline.simulation.objects import Object
from pipeline.simulation.robots.arm.carry_plans import drop_height, pose_of
from pipeline.simulation.robots.arm.collision import HeldObject
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.straight_ways import APPROACH_M
from pipeline.simulation.robots.arm.tools.grasp import Grasp, gripper_at, turned

PLAIN = ("cube", "block", "cylinder")
"""Categories of objects that are the same upside down; a carton or a can is not."""
ASIDE_M = (0.0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3)
"""Distances of the place from the line between both bases."""
ROOM_M = 0.012
"""How much wider than the object the taker's fingers are open."""


@dataclass(frozen=True, eq=False)
class PassPlan:
    """Postures in which both arms hold the object."""

    giver: np.ndarray
    """Joint angles (N,) of the giver."""
    object_from_taker: np.ndarray
    """Pose (4, 4) of the taker's gripper at the object."""
    turns: tuple[float, ...]
    """Turns of the taker's gripper about its approach, in rad, with which it can also set the object down."""
    width: float
    """Width of the object between the taker's fingers, in metres."""


@dataclass(frozen=True, eq=False)
class _Taking:
    """How the taker takes the object."""

    hand: np.ndarray
    """World-from-gripper (4, 4) when it holds."""
    before: np.ndarray
    """Joint angles (N,) before the approach."""
    room: float
    """Distance of the nearest joint from its limit, in rad."""


def plan_pass(giver: ArmHand, taker: ArmHand, held: HeldObject, stood: Object, move: Move) -> PassPlan | str:
    """Return how a held object is passed to the arm that then makes a move with it, or why it is not."""
    fingers, points = taker.arm.fingers, np.concatenate(list(giver.physics.shapes[held.name].values()))
    if stood.category not in PLAIN or fingers is None:
        return f"{held.name} does not look the same upside down"
    object_from_giver = np.linalg.inv(held.hand_from_object)
    approach = -object_from_giver[:3, 2]
    closing = np.cross(approach, object_from_giver[:3, 1])
    width = float(np.ptp(points @ closing))
    if width + ROOM_M > fingers.max_opening:
        wide = f"{held.name} is {width * 100:.1f} cm wide the other way"
        return f"{wide}, the gripper takes {(fingers.max_opening - ROOM_M) * 100:.1f} cm"
    low, high = points.min(0), points.max(0)
    object_from_taker = gripper_at((low + high) / 2, closing, approach)
    giver.clearance.refresh()
    taker.clearance.refresh()
    turns, reason = [], ""
    for turn in (0.0, np.pi):
        taken = HeldObject(held.name, np.linalg.inv(turned(object_from_taker, turn)))
        drop = drop_height(taker, taken, width, _upside_down(stood), move)
        if isinstance(drop, str):
            reason = drop
        else:
            turns.append(turn)
    if not turns:
        return reason
    best: tuple[float, PassPlan] | None = None
    for number, target in enumerate(_targets(giver, taker)):
        q = giver.kinematics.solve(target)
        if q is None or giver.clearance.first_collision(q, giver.tool.width, held):
            continue
        world_from_object = target @ held.hand_from_object
        taker.clearance.refresh()
        taker.clearance.imagine(giver.clearance, q, held)
        found = _postures(taker, world_from_object @ object_from_taker, turns, width, held.name)
        if found is not None and (best is None or found.room > best[0]):
            best = found.room, PassPlan(q, object_from_taker, tuple(turns), width)
        # 0.15: distance of the taker's joints from their limits that suffices: the object never hangs exactly as
        # planned
        # 48: poses after which the best one is taken: each takes 10 to 25 ms
        if best is not None and (best[0] > 0.15 or number > 48):
            break
    return best[1] if best else f"no posture of both arms in which {held.name} is passed"


def execute_pass(giver: ArmHand, taker: ArmHand, plan: PassPlan, held: HeldObject, stood: Object) -> str:
    """Pass an object; return why it failed, empty on success. The giver may still hold it then, or not."""
    name = held.name
    if failure := giver.move_to(plan.giver, held):
        return failure
    giver.motion.arrive()
    taker.clearance.refresh()
    world_from_object = pose_of(giver.physics.state()[name])
    found = _postures(taker, world_from_object @ plan.object_from_taker, plan.turns, plan.width, name)
    if found is None:
        return f"the other arm does not reach {name} where it is passed"
    if failure := taker.move_to(found.before, None):
        return failure
    taker.motion.arrive()
    grasp = Grasp(found.hand, found.hand[:3, 3], (0.0,), plan.width, plan.width + ROOM_M, 0.0)
    taker.tool.prepare(grasp)
    taker.line(APPROACH_M * grasp.approach, 0.9)
    taker.motion.arrive()
    if failure := taker.tool.hold(name, grasp):
        taker.back_off(-grasp.approach)
        return failure
    giver.back_off(-giver.gripper_pose()[:3, 2])
    giver.retreat()
    if not taker.tool.is_holding(name):
        return f"{taker.tool.loss(name)} when it was passed"
    taker.receive(name, _upside_down(stood))
    return ""


def _targets(giver: ArmHand, taker: ArmHand) -> Iterator[np.ndarray]:
    """Yield poses (4, 4) of the giver's gripper in which it offers an object to the taker."""
    base, other = giver.kinematics.base[:2], taker.kinematics.base[:2]
    axis = (other - base) / np.linalg.norm(other - base)
    across = np.array([-axis[1], axis[0]])
    # (0.3, 0.22): heights above the table at which an object is passed
    # (0.0, 0.5, -0.5): directions of the giver's approach, from that of the taker's base on
    for aside, height, turn in product(ASIDE_M, (0.3, 0.22), (0.0, 0.5, -0.5)):
        point = np.array([*((base + other) / 2 + aside * across), height])
        if not (giver.reaches(point[None, :2])[0] and taker.reaches(point[None, :2])[0]):
            continue
        c, s = np.cos(turn), np.sin(turn)
        approach = np.array([*(c * axis + s * across), 0.0])
        level = np.cross(approach, [0.0, 0.0, 1.0])
        for closing in (level, -level, np.array([0, 0, 1.0])):
            yield gripper_at(point, closing, approach)


def _postures(taker: ArmHand, target: np.ndarray, turns: Sequence[float], width: float, name: str) -> _Taking | None:
    """Return how the taker takes an object with its gripper at a pose (4, 4); None if it cannot."""
    opening, limits = width + ROOM_M, taker.kinematics.model.jnt_range
    for turn in turns:
        pose = turned(target, turn)
        q = taker.kinematics.solve(pose)
        q_before = None if q is None else taker.kinematics.solve(shifted(pose, -APPROACH_M * pose[:3, 2]), q)
        if q is None or q_before is None:
            continue
        hits = (
            taker.clearance.first_collision(q, opening, None, (name,)),
            taker.clearance.first_collision(q_before, opening),
        )
        if not any(hits):
            room = min(float(np.minimum(one - limits[:, 0], limits[:, 1] - one).min()) for one in (q, q_before))
            return _Taking(pose, q_before, room)
    return None


def _upside_down(stood: Object) -> Object:
    """Return an object as it stands upside down, turned about its own level axis."""
    turn = Rotation.from_rotvec(np.pi * np.array([np.cos(stood.yaw), np.sin(stood.yaw), 0.0]))
    now = Rotation.from_quat(stood.quat_wxyz, scalar_first=True)
    height = stood.bottom + stood.top - stood.position[2]
    return replace(
        stood, quat_wxyz=(turn * now).as_quat(scalar_first=True), position=np.array([*stood.position[:2], height])
    )
