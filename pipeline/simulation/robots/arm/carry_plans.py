"""Plans to take an object with a grasp and to set it down on its place, or why there is none."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import homogeneous, shifted
from pipeline.simulation.goals.goal import Move
from pipeline.simulation.goals.inside import Inside
from pipeline.simulation.objects import Object
from pipeline.simulation.robots.arm.collision import HeldObject
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.straight_ways import (
    APPROACH_M,
    AT_EDGE_COSINE,
    first_hit,
    laid_down,
    straight_way,
    take_posture,
)
from pipeline.simulation.robots.arm.tools.grasp import Grasp, turned
from pipeline.simulation.robots.oracle import placement

DROP_HEIGHTS_M = (0.0, 0.012, 0.025, 0.04, 0.055, 0.075, 0.095)
"""Heights from which an object may be dropped into a container whose walls leave no room for the fingers."""
STEEP_RAD = np.radians(45)
"""Tilt of the gripper up to which it lets go upwards; beyond, it moves back as it came."""


@dataclass(frozen=True, eq=False)
class GraspPlan:
    """A grasp with its joint angles."""

    grasp: Grasp
    path: list[np.ndarray]
    """Joint angles from the current posture to before the grasp, each of shape (6,)."""
    drop: float
    """Height above the support at which the object is released, in metres."""


def plan_carry(arm: ControlledArm, grasp: Grasp, target_object: Object, move: Move) -> GraspPlan | str:
    """Return a plan for a grasp after which the object can also be set down, or why there is none."""
    reason = "out of reach"
    for found in _starts(arm, grasp, target_object, move):
        if isinstance(found, str):
            reason = found
            continue
        q_before, drop = found
        arm.rise(None)
        path = arm.way(q_before, None)
        if path is not None:
            return GraspPlan(grasp, path, drop)
        reason = f"the arm finds no way to {move.object} without a collision"
    return reason


def why_not_taken(arm: ControlledArm, grasp: Grasp, target_object: Object, move: Move | None) -> str:
    """Return why an object cannot be taken with a grasp or, with a move, be set down; empty if it can."""
    reason = ""
    for found in _starts(arm, grasp, target_object, move):
        if not isinstance(found, str):
            return ""
        reason = found
    return reason


def target_pose(
    arm: ControlledArm, target_object: Object, move: Move, held: HeldObject
) -> tuple[np.ndarray | None, float, float]:
    """Return world-from-gripper with the object on its place (None if out of reach), highest and lowest z there."""
    upright = target_object if move.yaw is None else target_object.moved(yaw=move.yaw)
    top, low = placement.surface_heights(arm.physics, upright, move.xy)
    offset = np.array([*(move.xy - upright.position[:2]), top - upright.bottom + 0.002])
    rest = shifted(pose_of(upright), offset)
    target = rest @ np.linalg.inv(held.hand_from_object)
    if abs(target[2, 1]) > AT_EDGE_COSINE:
        target = laid_down(arm, upright.moved(move.xy, top), target)
        return target, top, low
    return (target if arm.kinematics.solve(target) is not None else None), top, low


def pose_of(target_object: Object) -> np.ndarray:
    """Return world-from-object of shape (4, 4)."""
    return homogeneous(target_object.rotation, target_object.position)


def raised(target: np.ndarray, height: float) -> np.ndarray:
    """Return a pose (4, 4) moved up by a height in metres."""
    return shifted(target, np.array([0, 0, height]))


def way_back(world_from_gripper: np.ndarray) -> np.ndarray:
    """Return the unit vector (3,) in which a gripper at a pose (4, 4) leaves what it held: straight up if it can."""
    approach = world_from_gripper[:3, 2]
    return np.array([0, 0, 1.0]) if approach[2] < -np.cos(STEEP_RAD) else -approach


def _starts(
    arm: ControlledArm, grasp: Grasp, target_object: Object, move: Move | None
) -> Iterator[tuple[np.ndarray, float] | str]:
    """Yield for each turn of a grasp the joint angles (6,) before it, and from which height the object is dropped.

    Or why it cannot be taken so or, with a move, not be set down.
    """
    name = target_object.name
    for turn in grasp.turns:
        pose = turned(grasp.hand, turn)
        q_before = take_posture(arm, grasp, pose, name)
        if isinstance(q_before, str):
            yield q_before
            continue
        held = HeldObject(name, np.linalg.inv(pose) @ pose_of(target_object))
        drop = drop_height(arm, held, grasp.width, target_object, move) if move else 0.0
        yield drop if isinstance(drop, str) else (q_before, drop)


def drop_height(arm: ControlledArm, held: HeldObject, width: float, target_object: Object, move: Move) -> float | str:
    """Return the height from which a held object must be dropped, in metres, or why it cannot be set down.

    `width` is that of what is between the fingers, in metres; the object is set down as `target_object` stands.
    """
    target, _, _ = target_pose(arm, target_object, move, held)
    distance = arm.distance(move.xy)
    out_of_reach = f"out of reach: the place for {target_object.name} is {distance:.2f} m from the arm's base"
    if target is None:
        return out_of_reach
    drops = DROP_HEIGHTS_M if isinstance(move.goal, Inside) and move.verb == "place" else DROP_HEIGHTS_M[:1]
    found = posture_above(arm, held, width, target, drops)
    return (found or out_of_reach) if isinstance(found, str) else found[1]


def posture_above(
    arm: ControlledArm, held: HeldObject, width: float, target: np.ndarray, drops: tuple[float, ...]
) -> tuple[np.ndarray, float] | str:
    """Return the first of `postures_above`, or why there is none: empty if the place is out of reach."""
    reason = ""
    for found in postures_above(arm, held, width, target, drops):
        if not isinstance(found, str):
            return found
        reason = found
    return reason


def postures_above(
    arm: ControlledArm, held: HeldObject, width: float, target: np.ndarray, drops: tuple[float, ...]
) -> Iterator[tuple[np.ndarray, float] | str]:
    """Yield joint angles (6,) over the place of a held object, and the first height to drop it from, in metres.

    From there the arm can lower it to world-from-gripper (4, 4), let go and leave without a change of its elbow or
    wrist, and hits nothing. Or why a posture is none. `width` is that of what is between the fingers.
    """
    above, ignored, opening = raised(target, APPROACH_M), (held.name,), width + 0.006
    for q_above in arm.kinematics.solutions(above):
        if over := arm.clearance.first_collision(q_above, width, held):
            yield f"{held.name} would collide with {over} over its place"
            continue
        for drop in drops:
            down = straight_way(arm, above, np.array([0, 0, drop - APPROACH_M]), q_above)
            hit = first_hit(arm, down, opening, ignored)
            if not hit and down:  # the gripper must also get away
                let_go = raised(target, drop)
                back = straight_way(arm, let_go, APPROACH_M * way_back(let_go), down[-1])
                hit = first_hit(arm, back, opening, ignored)
                if back and not hit:
                    yield q_above, drop
                    break
            if hit:
                yield f"the gripper would collide with {hit} when it sets {held.name} down"
