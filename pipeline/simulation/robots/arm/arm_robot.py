"""The arm as a robot of the oracle, with a two-finger gripper, or a vacuum gripper as the paper's robot has."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pipeline.simulation.cameras import WRIST, looking_at
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm import fingers, robot_model
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.kinematics import Kinematics, gripper_pose
from pipeline.simulation.robots.arm.motion import Motion
from pipeline.simulation.robots.arm.mount import place_base
from pipeline.simulation.robots.arm.planning_hand import PlanningHand
from pipeline.simulation.robots.arm.tools import vacuum
from pipeline.simulation.robots.arm.tools.finger_tool import FingerTool
from pipeline.simulation.robots.arm.tools.suction_tool import SuctionTool
from pipeline.simulation.robots.arm.tools.tool import Tool
from pipeline.simulation.robots.robot import Mount

BASE_HEIGHT_M = 0.02
"""Height of the base above the table."""
HOME_OFFSET_M = 0.42, 0.30
"""Home of the gripper: distance in front of the base, and height above it."""


class Arm:
    """A UR5e with a two-finger gripper, on a post beside the table."""

    cameras = (looking_at(WRIST, robot_model.FLANGE, (0.085, 0.11, 0.0), (0.0, 0.29, 0.0), (-1.0, 0.0, 0.0)),)
    """Beside the flange, across the direction in which fingers close; it looks at what is 19 cm before the flange."""

    def __init__(self, moves: bool = True) -> None:
        """`moves`: whether it acts; otherwise it plans each move and puts the object where it would go."""
        self.moves = moves
        self.base, self.yaw = np.zeros(3), 0.0

    def mount(self, objects: Sequence[Object], table: Region, away: np.ndarray) -> Mount:
        """Return the place beside the table from which the arm reaches these objects."""
        return place_base(objects, table, away)

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add the arm on its mount. Return the gripper's home position, world, of shape (3,)."""
        assert mount is not None
        self.base, self.yaw = np.array([*mount.base, BASE_HEIGHT_M]), mount.yaw
        robot_model.add_arm(spec, self.base, self.yaw, hand=self.tool_specification())
        return self._home_pose()[:3, 3]

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Set the joints and controls of a new world to the home posture."""
        q = Kinematics(self.base, self.yaw).analytic_guess(self._home_pose())
        assert q is not None
        for name, angle in zip(robot_model.JOINTS, q, strict=True):
            data.joint(name).qpos = angle
            data.actuator(name.removesuffix("_joint")).ctrl = angle
        self.ready_tool(data)

    def hand(self, physics: Physics) -> ArmHand:
        """Return the hand in a running world."""
        kinematics = Kinematics(self.base, self.yaw)
        q = kinematics.analytic_guess(self._home_pose())
        assert q is not None
        motion = Motion(physics)
        return (ArmHand if self.moves else PlanningHand)(physics, kinematics, motion, self.tool(physics, motion), q)

    def tool_specification(self) -> mujoco.MjSpec | None:
        """Return the model of the tool on the flange; None for the 2F-85."""
        return None

    def tool(self, physics: Physics, motion: Motion) -> Tool:
        """Return the tool in a running world."""
        return FingerTool(physics, motion)

    def ready_tool(self, data: mujoco.MjData) -> None:
        """Open the fingers in a new world."""
        data.actuator(f"{robot_model.GRIPPER_PREFIX}fingers_actuator").ctrl = fingers.command(fingers.MAX_OPENING_M)

    def _home_pose(self) -> np.ndarray:
        distance, height = HOME_OFFSET_M
        forward = np.array([np.cos(self.yaw), np.sin(self.yaw), 0])
        return gripper_pose(self.base + distance * forward + np.array([0, 0, height]), self.yaw + np.pi / 2)


class SuctionArm(Arm):
    """A UR5e with a vacuum cup, on a post beside the table."""

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add the arm and an open weld for each object. Return the gripper's home position, world, of shape (3,)."""
        home = super().add(spec, objects, table, mount)
        vacuum.add_welds(spec, [o.name for o in objects if not o.fixed])
        vacuum.add_joints(spec, [part.body for o in objects for part in o.parts])
        return home

    def tool_specification(self) -> mujoco.MjSpec:
        """Return the vacuum gripper."""
        return vacuum.specification()

    def tool(self, physics: Physics, motion: Motion) -> Tool:
        """Return the cup in a running world."""
        return SuctionTool(physics)

    def ready_tool(self, data: mujoco.MjData) -> None:
        """Do nothing: the vacuum is off."""
