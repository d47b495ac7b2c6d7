"""The arm opens and shuts parts: it pushes, or takes hold from the front, and follows the joint's path."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import shifted
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.goals.goal import PartMotion
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.kinematics import nearest_equivalent
from pipeline.simulation.robots.arm.tools.grasp import Grasp, turned
from pipeline.simulation.robots.arm.tools.part_grasps import push_grasps
from pipeline.simulation.robots.oracle.oracle import MAX_OPEN_ERROR

APPROACH_M = 0.05
"""Length of the straight approach, and of the retreat."""
FEEL_SPEED_M_S = 0.03
"""Speed while the cup feels for contact."""


def move_part(arm: ControlledArm, motion: PartMotion) -> str:
    """Open or shut a part until it is open by `motion.share`. Return why it failed; empty on success."""
    part, began = arm.physics.state()[motion.object].part(motion.part), arm.physics.time
    reason = ""
    for plan in part_plans(arm, motion, part):
        reason = plan if isinstance(plan, str) else _execute(arm, motion, part, plan)
        if not reason or arm.physics.time > began:  # it moved: the oracle looks again before the next attempt
            break
    return reason


@dataclass(frozen=True, eq=False)
class PartPlan:
    """A grasp of a part, and the posture before it."""

    grasp: Grasp
    q_before: np.ndarray
    """Joint angles of shape (6,)."""


def part_plans(arm: ControlledArm, motion: PartMotion, part: ArticulatedPart) -> Iterator[PartPlan | str]:
    """Yield for each grasp of a part a plan, or why there is none; at least one."""
    name = motion.object
    if not part.upright:
        yield f"{part.name} of {name} turns about a level hinge, and the arm turns parts about the vertical only"
        return
    travel, physics, tool = motion.share * part.end - part.value, arm.physics, arm.tool
    grasps = (*push_grasps(physics, name, part, travel, tool.tip_m), *tool.find_part_grasps(name, part))
    if not grasps:
        yield f"no grasp: {tool.part_refusal(name, part)}"
    for grasp, turn in ((g, t) for g in grasps for t in g.turns):
        yield _plan(arm, motion, part, grasp, turned(grasp.hand, turn))


def _plan(
    arm: ControlledArm, motion: PartMotion, part: ArticulatedPart, grasp: Grasp, pose: np.ndarray
) -> PartPlan | str:
    """Return a plan to take hold with one gripper pose (4, 4), or why there is none."""
    name, kinematics = motion.object, arm.kinematics
    travel = motion.share * part.end - part.value
    before = shifted(pose, -APPROACH_M * grasp.approach)
    arm.clearance.refresh()
    reason = f"out of reach: {part.name} of {name} is {arm.distance(grasp.point):.2f} m from the arm's base"
    if kinematics.solve(_displaced(pose, part, travel)) is None:
        return reason
    for q_at in kinematics.solutions(pose):
        q_before = kinematics.solve(before, q_at)
        if q_before is None or not _follows(arm, pose, part, travel, q_at):
            continue
        q_before = nearest_equivalent(q_before, arm.motion.commanded, kinematics.model.jnt_range)
        hits = (arm.clearance.first_collision(q, grasp.opening) for q in (q_before, q_at))
        if hit := next(filter(None, hits), ""):
            reason = f"the arm would collide with {hit} when it takes {part.name} of {name}"
        else:
            return PartPlan(grasp, q_before)
    return reason


def _follows(arm: ControlledArm, pose: np.ndarray, part: ArticulatedPart, travel: float, q: np.ndarray) -> bool:
    """Whether the arm can follow the part's joint from a posture (6,) without changing its elbow or wrist."""
    for share in (0.25, 0.5, 0.75, 1.0):
        solution = arm.kinematics.solve(_displaced(pose, part, share * travel), q)
        if solution is None:
            return False
        q = solution
    return True


def _execute(arm: ControlledArm, motion: PartMotion, part: ArticulatedPart, plan: PartPlan) -> str:
    """Push the part, or take hold, move it and let go. Return why not; empty on success."""
    name, kinematics, tool, grasp = motion.object, arm.kinematics, arm.tool, plan.grasp
    path = arm.way(plan.q_before, None)
    if path is None:
        return f"the arm finds no way to {part.name} of {name} without a collision"
    arm.motion.follow(path[1:])
    arm.motion.arrive()
    tool.prepare(grasp)
    arm.line(APPROACH_M * grasp.approach, 0.8)
    reason = (_push if grasp.pushes else _pull)(arm, motion, part, grasp)
    back = kinematics.forward(arm.motion.commanded)[:3, 2]
    arm.line(-APPROACH_M * back, 0.6)
    arm.physics.settle(1.5)
    return reason


def _push(arm: ControlledArm, motion: PartMotion, part: ArticulatedPart, grasp: Grasp) -> str:
    """Push the part with the closed hand before it. Return why it is not where it should be; empty on success."""
    travel = motion.share * part.end - part.value
    # 0.005: how far a push leads beyond the part's last position
    _follow_joint(arm, part, travel + np.sign(travel) * 0.005 / max(part.lever, 1e-6))
    off = abs(arm.physics.state()[motion.object].part(part.name).open - motion.share)
    # Share of its travel by which a part may be off after a push
    return "" if off < 0.08 else f"{part.name} of {motion.object} stuck, or the hand slid off it"


def _pull(arm: ControlledArm, motion: PartMotion, part: ArticulatedPart, grasp: Grasp) -> str:
    """Take hold of the part, move it and let go. Return why not; empty on success."""
    name, tool = motion.object, arm.tool
    if tool.feel_m:
        arm.line(tool.feel_m * grasp.approach, tool.feel_m / FEEL_SPEED_M_S, lambda: tool.touches(name))
    reason = tool.hold(name, grasp)
    if not reason:
        _follow_joint(arm, part, motion.share * part.end - part.value)
        off = abs(arm.physics.state()[name].part(part.name).open - motion.share)
        reason = "" if tool.is_holding(name) or off < MAX_OPEN_ERROR else f"{part.name} of {tool.loss(name)}"
    tool.release(lambda opening: not arm.clearance.first_collision(arm.motion.commanded, opening, None, (name,)))
    return reason


def _follow_joint(arm: ControlledArm, part: ArticulatedPart, travel: float) -> None:
    """Move the gripper as the part moves when its joint moves by `travel`."""
    start, q = arm.kinematics.forward(arm.motion.commanded), arm.motion.commanded
    path = []
    # Postures along the joint's path
    for share in np.linspace(0, 1, 24 + 1)[1:]:
        solution = arm.kinematics.solve(_displaced(start, part, share * travel), q)
        if solution is None:
            break
        q = solution
        path.append(q)
    length = float(np.linalg.norm(_displaced(start, part, travel)[:3, 3] - start[:3, 3]))
    if path:
        # 0.12: mean speed of the held point
        arm.motion.follow(path, 0.4 + 1.3 * length / 0.12)
    arm.physics.wait(0.15)


def _displaced(pose: np.ndarray, part: ArticulatedPart, travel: float) -> np.ndarray:
    """Return a gripper pose (4, 4) carried along by the part's joint."""
    moved = pose.copy()
    moved[:3, 3] = part.displaced(pose[None, :3, 3], travel)[0]
    if part.kind != "slide":
        moved[:3, :3] = Rotation.from_rotvec(travel * part.axis).as_matrix() @ pose[:3, :3]
    return moved
