"""The arm with its tool in a running world: what it reaches, free paths, and straight lines of the gripper."""

from collections.abc import Callable

import numpy as np

from pipeline.geometry import homogeneous, shifted
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.collision import CollisionChecker, HeldObject
from pipeline.simulation.robots.arm.kinematics import Kinematics
from pipeline.simulation.robots.arm.motion import Motion
from pipeline.simulation.robots.arm.path_planning import plan_path
from pipeline.simulation.robots.arm.tools.tool import Tool
from pipeline.simulation.robots.description import ArmModel


class ControlledArm:
    """Plans and moves for whoever picks, places, pushes or opens something."""

    def __init__(self, physics: Physics, arm: ArmModel, kinematics: Kinematics, motion: Motion, tool: Tool):
        self.physics, self.arm, self.kinematics, self.motion, self.tool = physics, arm, kinematics, motion, tool
        self.clearance = CollisionChecker(physics, arm)

    def reaches(self, points: np.ndarray) -> np.ndarray:
        """Return at which points (N, 2) it can set an object of usual height down, of shape (N,)."""
        distance = np.linalg.norm(points - self.kinematics.base[:2], axis=-1)
        near, far = self.arm.reach.places
        return (distance > near) & (distance < far)

    def way(self, q: np.ndarray, held: HeldObject | None) -> list[np.ndarray] | None:
        """Return a free path to joint angles (N,), from the commanded ones on, level with a load if there is one.

        None if no path was found.
        """
        level = self.level_way(q, held) if held else None
        return level or plan_path(self.motion.commanded, q, self._is_free(held), self.kinematics.model.jnt_range)

    def level_way(self, q: np.ndarray, held: HeldObject) -> list[np.ndarray] | None:
        """Return a free path to joint angles (N,) on which the load keeps its tilt; None if none was found."""
        return self.kinematics.level_path(self.motion.commanded, q, self._is_free(held))

    def _is_free(self, held: HeldObject | None) -> Callable[[np.ndarray], bool]:
        width = self.tool.width
        return lambda q: not self.clearance.first_collision(q, width, held)

    def distance(self, point: np.ndarray) -> float:
        """Return the level distance of a point (2,) or (3,) from the arm's base, in metres."""
        return float(np.linalg.norm(point[:2] - self.kinematics.base[:2]))

    def rise(self, held: HeldObject | None) -> None:
        """Move straight up until the posture is free of collisions, at most eight steps."""
        for _ in range(8):
            if not self.clearance.first_collision(self.motion.commanded, self.tool.width, held):
                return
            self.line(np.array([0, 0, 0.04]), 0.4)

    def line(self, offset: np.ndarray, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Move the gripper in a straight line; return whether `until` became true and stopped it."""
        start = self.kinematics.forward(self.motion.commanded)
        # Distance between postures on a straight line of the gripper
        count = max(1, int(np.ceil(np.linalg.norm(offset) / 0.02)))
        path, q = [], self.motion.commanded
        for fraction in np.linspace(0, 1, count + 1)[1:]:
            solution = self.kinematics.solve(shifted(start, fraction * offset), q)
            if solution is None:
                break
            q = solution
            path.append(q)
        return self.motion.follow(path, max(seconds, 0.1), until) if path else False

    def gripper_pose(self) -> np.ndarray:
        """Return world-from-gripper of shape (4, 4), as it is now."""
        site = self.physics.data.site(f"{self.arm.prefix}{self.arm.tool_site}")
        return homogeneous(site.xmat.reshape(3, 3), site.xpos)
