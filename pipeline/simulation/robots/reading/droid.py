"""The robot of DROID: a Franka arm with a Robotiq 2F-85, a camera on its wrist and one beside it.

The model is that of the wheel tabletask (Apache 2.0 and BSD, after MuJoCo Menagerie); droid.json holds what
`grs-studio robot add` measured on it (2026-11), with the home posture of DROID: A. Khazatsky et al., "DROID: A
Large-Scale In-the-Wild Robot Manipulation Dataset" (2024).
"""

import numpy as np

from pipeline.simulation.robots.description import Camera, ControlMode, RobotDescription
from pipeline.simulation.robots.reading.wheel_arm import WheelArm
from pipeline.simulation.robots.workspace import ENTRY

HOME = (0.0, -0.2 * np.pi, 0.0, -0.8 * np.pi, 0.0, 0.6 * np.pi, 0.0)
HALF = float(np.sqrt(0.5))
FRANKA = WheelArm(
    "droid", "tabletask", "0.2.3", "tabletask", "mujoco/robots/assets/droid/model.xml", pinch_m=(0, 0, 0.159),
    pinch_quat_wxyz=(HALF, 0, 0, HALF),
)  # fmt: skip
"""The axes of its gripper's base are turned by a quarter."""


def droid() -> RobotDescription:
    """Return the robot of DROID. Raises ModelError where its model is not installed."""
    stored = FRANKA.stored(home=HOME)
    folder = FRANKA.folder(stored)
    return RobotDescription(
        FRANKA.name, "Franka arm of DROID, 2F-85", "by friction, within reach: about a minute",
        "with the Franka arm of DROID", "oracle, Franka with a 2F-85", ENTRY, stored.arm(folder),
        cameras=tuple(Camera(**camera.model_dump()) for camera in stored.cameras),
        control_modes=tuple(
            # Rate hz of DROID's control, and of its policies' actions
            ControlMode(control, 15.0) for control in ("joint_velocity", "joint_position", "delta_end_effector")
        ),
        origin=f"{FRANKA.wheel} {FRANKA.version}", licence="Apache-2.0, BSD-2-Clause", folder=str(folder),
    )  # fmt: skip
