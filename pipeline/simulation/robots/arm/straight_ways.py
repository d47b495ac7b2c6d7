"""Postures of the arm along the straight ways to an object and away from it, and where it lays down a flat one."""

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import homogeneous, shifted
from pipeline.simulation.objects import Object
from pipeline.simulation.robots.arm.controlled_arm import ControlledArm
from pipeline.simulation.robots.arm.kinematics import nearest_equivalent
from pipeline.simulation.robots.arm.tools.grasp import Grasp

AT_EDGE_COSINE = 0.8
"""Vertical component of the closing direction from which on an object is held from above and below."""
APPROACH_M = 0.10
"""Length of the approach, of the vertical lift, and of the retreat."""
LAY_TILTS = np.radians(np.arange(0, 46, 4))
"""Tilts (rad) at which an object held from above and below may be laid down, far edge first; least first."""


def take_posture(arm: ControlledArm, grasp: Grasp, pose: np.ndarray, name: str) -> np.ndarray | str:
    """Return joint angles (6,) before a grasp with the gripper at a pose (4, 4), or why there are none.

    From there the arm can close in and lift without a change of its elbow or wrist, and hits nothing meanwhile.
    """
    kinematics, edge = arm.kinematics, grasp.at_edge
    reason = f"out of reach: {name} is {arm.distance(grasp.point):.2f} m from the arm's base"
    up = np.array([0, 0, APPROACH_M])
    with kinematics.above_or_beside(edge):
        for q_at in kinematics.solutions(pose):
            hit = arm.clearance.first_collision(q_at, grasp.opening, folded=edge)
            back = [] if hit else straight_way(arm, pose, -APPROACH_M * grasp.approach, q_at)
            hit = hit or first_hit(arm, back, grasp.opening, folded=edge)
            # straight down, it lifts on the way that it came
            steep = not edge and grasp.approach[2] < -0.99
            lift = back if hit or steep or not back else straight_way(arm, pose, up, q_at)
            hit = hit or first_hit(arm, lift, grasp.width, (name,), folded=edge)
            if hit:
                reason = f"the arm would collide with {hit} when it takes {name}"
            elif back and lift:
                return nearest_equivalent(back[-1], arm.motion.commanded, kinematics.model.jnt_range)
    return reason


def laid_down(arm: ControlledArm, target_object: Object, target: np.ndarray) -> np.ndarray | None:
    """Return where the gripper (4, 4) lays down an object that it holds from above and below.

    `target` is world-from-gripper with the object flat on its place, where the lower finger has no room. The object is
    tilted about its far edge until the open gripper collides with nothing. None if it always does.
    """
    inwards = np.array([*target[:2, 2], 0.0]) / np.linalg.norm(target[:2, 2])
    far = float((target_object.outline @ inwards[:2]).max())
    pivot = np.array([*far * inwards[:2], target_object.bottom])
    # Gap between the fingers and the object when they let it go
    width = float(target_object.height) + 0.012
    for tilt in LAY_TILTS:
        turn = Rotation.from_rotvec(tilt * np.cross([0, 0, 1.0], inwards)).as_matrix()
        tilted = homogeneous(turn, pivot - turn @ pivot) @ target
        q = arm.kinematics.solve(tilted)
        if q is not None and not arm.clearance.first_collision(q, width, None, (target_object.name,)):
            return tilted
    return None


def straight_way(arm: ControlledArm, start: np.ndarray, way: np.ndarray, q: np.ndarray) -> list[np.ndarray]:
    """Return postures (6,) along a straight way (3,) from a pose (4, 4), elbow and wrist unchanged; [] if none."""
    path: list[np.ndarray] = []
    for share in (0.25, 0.5, 0.75, 1.0):
        solution = arm.kinematics.solve(shifted(start, share * way), path[-1] if path else q)
        if solution is None:
            return []
        path.append(solution)
    return path


def first_hit(
    arm: ControlledArm, way: list[np.ndarray], width: float, ignored: tuple[str, ...] = (), folded: bool = False
) -> str:
    """Return the name of what the first of some postures (6,) hits; empty if none hits anything."""
    hits = (arm.clearance.first_collision(q, width, None, ignored, folded) for q in way)
    return next(filter(None, hits), "")
