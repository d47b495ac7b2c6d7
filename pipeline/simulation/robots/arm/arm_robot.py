"""An arm as a robot of the oracle, with a two-finger gripper, or a vacuum gripper as the paper's robot has."""

import re
from collections.abc import Sequence

import mujoco
import numpy as np

from pipeline.simulation.cameras import Camera
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import GRIPPER, Physics
from pipeline.simulation.robots.arm.hand import ArmHand
from pipeline.simulation.robots.arm.kinematics import Kinematics
from pipeline.simulation.robots.arm.motion import Motion
from pipeline.simulation.robots.arm.mount import place_base
from pipeline.simulation.robots.arm.planning_hand import PlanningHand
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX, add_arm, prefixed
from pipeline.simulation.robots.arm.tools import vacuum
from pipeline.simulation.robots.arm.tools.finger_tool import FingerTool
from pipeline.simulation.robots.arm.tools.suction_tool import SuctionTool
from pipeline.simulation.robots.arm.tools.tool import Tool
from pipeline.simulation.robots.arm.ur5e_kinematics import Ur5eKinematics
from pipeline.simulation.robots.description import ArmModel, RobotDescription
from pipeline.simulation.robots.robot import Mount

ROBOT_MARK = "robot"
"""Name of the text of a world that names its robot."""


def robot_named_in(xml: str) -> str:
    """Return the name of the robot that a world's MJCF says it contains; empty if it says none."""
    found = re.search(rf'<text name="{ROBOT_MARK}" data="([^"<>]*)"', xml)
    return found.group(1) if found else ""


class Arm:
    """An arm with a two-finger gripper, on a post beside the table."""

    def __init__(self, moves: bool, description: RobotDescription, arm: ArmModel | None = None) -> None:
        """`moves`: whether it acts; otherwise it plans each move and puts the object where it would go.

        `arm` is one of a pair.
        """
        arm = arm or description.arm
        assert arm is not None
        self.moves, self.description, self.arm = moves, description, arm
        self.base, self.yaw = np.zeros(3), 0.0

    @property
    def cameras(self) -> tuple[Camera, ...]:
        """Cameras of its description; one beside it stands in the frame of its base, the post's."""
        return tuple(
            Camera(
                one.name,
                f"{ARM_PREFIX}{one.mounted_on}" if one.mounted_on else GRIPPER,
                one.position,
                one.quat_wxyz,
                float(np.radians(one.fovy_deg)),
            )
            for one in self.description.cameras
        )

    def mount(self, objects: Sequence[Object], table: Region, away: np.ndarray) -> Mount:
        """Return the place beside the table from which the arm reaches these objects."""
        return place_base(objects, table, away, self.arm.reach)

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add the arm on its mount. Return the gripper's home position, world, of shape (3,)."""
        assert mount is not None
        self.base, self.yaw = np.array([*mount.base, self.arm.base_height]), mount.yaw
        add_arm(spec, self.arm, self.base, self.yaw)
        spec.add_text(name=ROBOT_MARK, data=self.description.name)
        return self.kinematics().home_pose()[:3, 3]

    def kinematics(self) -> Kinematics:
        """Return its kinematics on its mount."""
        at = self.base, self.yaw
        return Ur5eKinematics(*at) if self.arm.analytic == "ur5e" else Kinematics(self.arm, *at)

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Set the joints and controls of a new world to the home posture, the fingers open."""
        q = self.kinematics().home()
        prefix = self.arm.prefix
        for joint, servo, angle in zip(self.arm.joints, self.arm.servos, q, strict=True):
            data.joint(f"{prefix}{joint}").qpos = angle
            data.actuator(f"{prefix}{servo}").ctrl = angle
        if fingers := self.arm.fingers:
            names = prefixed(fingers.actuators, prefix)
            for name, value in zip(names, fingers.command(fingers.max_opening), strict=True):
                data.actuator(name).ctrl = value
        if self.arm.fingers and self.arm.home:  # a model may begin with its fingers closed, or through each other
            for name, value in self.arm.fingers.joint_positions(self.arm.fingers.max_opening).items():
                data.joint(f"{prefix}{name}").qpos = value

    def hand(self, physics: Physics) -> ArmHand:
        """Return the hand in a running world."""
        motion = Motion(physics, self.arm)
        tool = self.tool(physics, motion)
        return (ArmHand if self.moves else PlanningHand)(physics, self.arm, self.kinematics(), motion, tool)

    def tool(self, physics: Physics, motion: Motion) -> Tool:
        """Return the tool in a running world."""
        return FingerTool(physics, motion, self.arm)


class SuctionArm(Arm):
    """An arm with a vacuum cup, on a post beside the table."""

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, mount: Mount | None) -> np.ndarray:
        """Add the arm and an open weld for each object. Return the gripper's home position, world, of shape (3,)."""
        home = super().add(spec, objects, table, mount)
        vacuum.add_welds(spec, [o.name for o in objects if not o.fixed])
        vacuum.add_joints(spec, [part.body for o in objects for part in o.parts])
        return home

    def tool(self, physics: Physics, motion: Motion) -> Tool:
        """Return the cup in a running world."""
        return SuctionTool(physics)
