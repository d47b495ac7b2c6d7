"""The arm pushes a flat object over an edge, where its fingers can take it, or into place after it was laid down."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import shifted
from pipeline.simulation.goals.goal import Move
from pipeline.simulation.robots.arm.carry_plans import why_not_taken
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.kinematics import nearest_equivalent
from pipeline.simulation.robots.arm.straight_ways import APPROACH_M, straight_way
from pipeline.simulation.robots.arm.tools.edge_grasps import MIN_OVERHANG_M, directions, find_edge, left_of
from pipeline.simulation.robots.arm.tools.edge_pushes import SPARE_M, EdgePush, straight_push
from pipeline.simulation.robots.arm.tools.grasp import Grasp, turned
from pipeline.simulation.robots.oracle.carry_planning import riders

PUSH_SPEED_M_S = 0.06
PUSH_ERROR_M = 0.01
"""A push is planned so that the object is still within reach if it ends this far from its planned place."""


@dataclass(frozen=True, eq=False)
class PushPlan:
    """A push and the postures for it."""

    push: EdgePush
    q_before: np.ndarray
    """Joint angles above the start of the push, of shape (6,)."""


def push_plans(arm: ControlledArm, name: str, move: Move | None) -> Iterator[PushPlan | str]:
    """Yield for each push of an object to an edge a plan, or why there is none; at least one.

    After the push the object can be taken and, with a move, be laid down.
    """
    state = arm.physics.state()
    target = state[name]
    if target.container and (load := riders(state, name)):
        yield f"{name} would be tilted with {load[-1]} on it"
        return
    pushes, reason = arm.tool.find_pushes(target)
    if pushes and not state.touches(name, "table"):
        pushes, reason = (), f"{name} does not lie on the table, so it is not pushed"
    if not pushes:
        yield reason
    for push in pushes:
        plan = _posture(arm, push, name)
        if isinstance(plan, str):
            yield plan
            continue
        with arm.physics.shifted(name, push.motion):
            reason = _why_not_taken(arm, name, move)
        arm.clearance.refresh()
        yield reason or plan


def execute_push(arm: ControlledArm, plan: PushPlan, name: str) -> str:
    """Push an object with the open fingers, slowly, and move away. Return why not; empty on success."""
    path = arm.way(plan.q_before, None)
    if path is None:
        return f"the arm finds no way behind {name} without a collision"
    arm.motion.follow(path[1:])
    arm.motion.arrive()
    arm.tool.prepare(plan.push.grasp)
    arm.line(np.array([0, 0, -APPROACH_M]), 0.9)
    way = plan.push.path
    length = float(np.linalg.norm(way))
    arm.line(way, length / PUSH_SPEED_M_S)
    # 0.015: how far the fingers move back from the object after a push
    arm.line(-0.015 / length * way, 0.4)
    arm.line(np.array([0, 0, APPROACH_M]), 0.8)
    arm.physics.settle(1.0)
    return ""


def nudge(arm: ControlledArm, name: str, xy: np.ndarray) -> None:
    """Push an object that was dragged along when it was laid down to its place (2,), where the arm can."""
    state = arm.physics.state()
    if not state.touches(name, "table"):
        return
    target = state[name]
    off = xy - target.position[:2]
    outwards = max(directions(target), key=lambda direction: float(direction @ off))
    distance = float(outwards @ off)
    # An object laid down farther than this from its goal is pushed there
    if distance < 0.008:
        return
    assert arm.arm.fingers is not None
    plan = _posture(arm, straight_push(target, outwards, distance, arm.arm.fingers), name)
    if isinstance(plan, PushPlan):
        execute_push(arm, plan, name)


def _posture(arm: ControlledArm, push: EdgePush, name: str) -> PushPlan | str:
    """Return the plan of a push that the arm reaches without a collision, or why there is none."""
    reason = f"out of reach: the place behind {name} is {arm.distance(push.grasp.point):.2f} m from the arm's base"
    for turn in push.grasp.turns:
        at = turned(push.grasp.hand, turn)
        before = shifted(at, np.array([0, 0, APPROACH_M]))
        for q_at in arm.kinematics.solutions(at):
            q_before = arm.kinematics.solve(before, q_at)
            way = straight_way(arm, at, push.path, q_at)
            if q_before is None or not way:
                continue
            arm.clearance.refresh()
            opening, checks = push.grasp.opening, ((q_before, ()), (q_at, ()), *((q, (name,)) for q in way))
            hits = (arm.clearance.first_collision(q, opening, None, ignored) for q, ignored in checks)
            if hit := next(filter(None, hits), ""):
                reason = f"the arm would collide with {hit} when it pushes {name} to the edge"
                continue
            return PushPlan(push, nearest_equivalent(q_before, arm.motion.commanded, arm.kinematics.model.jnt_range))
    return reason


def _why_not_taken(arm: ControlledArm, name: str, move: Move | None) -> str:
    """Return why an object could not be taken at the edge where it is now; empty if it could."""
    target = arm.physics.state()[name]
    search = arm.tool.find_grasps(target)
    reason = "there is no room for the fingers over the edge"
    arm.clearance.refresh()
    for grasp in search.grasps:
        outwards = -grasp.approach[:2]
        lateral = float((grasp.point[:2] - target.position[:2]) @ left_of(outwards))
        edge = find_edge(arm.physics, target, outwards, lateral, 0.0)
        if edge is None or edge.overhang < MIN_OVERHANG_M + SPARE_M:
            continue
        reason = _why_unsure(arm, grasp, name) or why_not_taken(arm, grasp, target, move)
        if not reason:
            return ""
    return f"pushed over the nearest edge it could not be taken: {reason}"


def _why_unsure(arm: ControlledArm, grasp: Grasp, name: str) -> str:
    """Return why a grasp would be out of reach if a push ended elsewhere by PUSH_ERROR_M; empty otherwise."""
    with arm.kinematics.above_or_beside(True):
        for turn in grasp.turns:
            pose = turned(grasp.hand, turn)
            ends = [shifted(pose, off * grasp.approach) for off in (-PUSH_ERROR_M, PUSH_ERROR_M)]
            if all(arm.kinematics.solve(end) is not None for end in ends):
                return ""
    return f"out of reach: {name} would be {arm.distance(grasp.point):.2f} m from the arm's base"
