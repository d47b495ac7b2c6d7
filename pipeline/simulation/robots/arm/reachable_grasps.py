"""What the arm can take where it stands, for proposals and for a person to look at: nothing moves."""

from dataclasses import replace
from itertools import islice

from pipeline.geometry import shifted
from pipeline.simulation.robots.arm.carry_plans import why_not_taken
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.edge_motion import PushPlan, push_plans
from pipeline.simulation.robots.arm.tools.grasp import DroppedGrasp, Grasp, GraspSearch, turned

REACH_CHECKS = 6
"""Grasps whose reach is checked before a task is proposed."""
MAX_PUSH_PLANS = 4
"""Pushes to an edge that are planned before a task is proposed."""


def why_not_picked(arm: ControlledArm, name: str) -> str:
    """Return why there is no grasp of an object within reach; empty if there is, or if others are in its way."""
    target = arm.physics.state()[name]
    search = arm.tool.find_grasps(target)
    if search.refusal:
        plans = list(islice(push_plans(arm, name, None), MAX_PUSH_PLANS))
        pushed = any(isinstance(plan, PushPlan) for plan in plans)
        return "" if pushed else "; ".join(filter(None, (search.refusal, str(plans[0]))))
    if any(grasp.at_edge for grasp in search.grasps):
        arm.clearance.refresh()
        reasons = [why_not_taken(arm, grasp, target, None) for grasp in search.grasps[:REACH_CHECKS]]
        return "" if "" in reasons else reasons[0]
    poses = [turned(grasp.hand, turn) for grasp in search.grasps[:REACH_CHECKS] for turn in grasp.turns]
    if not poses or any(arm.kinematics.solve(pose) is not None for pose in poses):
        return ""
    return f"out of reach: {name} is {arm.distance(target.position):.2f} m from the arm's base"


def reachable_grasps(arm: ControlledArm, name: str) -> GraspSearch:
    """Return the grasps of an object where it stands, without those that the arm does not reach or collides at.

    Where there are none and a push to an edge helps: those after the push, drawn on the object where it is now.
    """
    search = arm.tool.find_grasps(arm.physics.state()[name])
    arm.clearance.refresh()
    kept, dropped = [], list(search.dropped)
    for grasp in search.grasps:
        reach, hits = _postures(arm, grasp)
        if reach and not all(hits):
            kept.append(grasp)
        else:
            dropped.append(DroppedGrasp(grasp.hand, grasp.width, "blocked" if hits else "reach", (*hits, "")[0]))
    return replace(search, grasps=tuple(kept or _after_push(arm, search, name)), dropped=tuple(dropped))


def _postures(arm: ControlledArm, grasp: Grasp) -> tuple[bool, list[str]]:
    """Return whether the arm reaches a grasp, and for each posture there what it collides with."""
    with arm.kinematics.above_or_beside(grasp.at_edge):
        found = [q for turn in grasp.turns if (q := arm.kinematics.solve(turned(grasp.hand, turn))) is not None]
    return bool(found), [arm.clearance.first_collision(q, grasp.opening) for q in found]


def _after_push(arm: ControlledArm, search: GraspSearch, name: str) -> list[Grasp]:
    """Return the grasps after the first push that is possible, moved back by it."""
    plans = islice(push_plans(arm, name, None), MAX_PUSH_PLANS) if search.refusal else ()
    plan = next((plan for plan in plans if isinstance(plan, PushPlan)), None)
    if plan is None:
        return []
    with arm.physics.shifted(name, plan.push.motion):
        target = arm.physics.state()[name]
        found = arm.tool.find_grasps(target).grasps
        arm.clearance.refresh()
        taken = [grasp for grasp in found if not why_not_taken(arm, grasp, target, None)]
    arm.clearance.refresh()
    return [
        replace(grasp, hand=shifted(grasp.hand, -plan.push.motion), point=grasp.point - plan.push.motion)
        for grasp in taken
    ]
