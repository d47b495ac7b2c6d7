"""Two pairs of arms whose models come in wheels: ALOHA's ViperX arms, and Trossen's WXAI arms of Mobile AI.

A pair is one arm twice. aloha.json and trossen.json hold what `grs-studio robot add` measured on it (2026-11), and the
camera above: that of gym-aloha's model called "top", and that of Mobile AI.
"""

from dataclasses import replace

import numpy as np

from pipeline.simulation.robots.description import ControlMode, RobotDescription
from pipeline.simulation.robots.reading.wheel_arm import WheelArm
from pipeline.simulation.robots.workspace import Place

HALF = float(np.sqrt(0.5))
VIPERX = WheelArm(
    "aloha", "gym-aloha", "0.1.5", "gym_aloha", "assets/bimanual_viperx_transfer_cube.xml", pinch_m=(0.1417, 0, 0),
    pinch_quat_wxyz=(HALF, 0, HALF, 0), tool="vx300s_left/gripper_link", flags="--no-deps ", has_excludes=False,
    renamed=(("vx300s_left/", ""), ("vx300s_left", "base"), ("servo ", "")), coupled=("left_finger", "right_finger"),
)  # fmt: skip
VIPERX_PLACES = (0.0, 0.469, -np.pi / 2), (0.0, -0.469, np.pi / 2)
"""They face each other, as in the model of gym-aloha."""
WXAI = WheelArm(
    "trossen", "trossen-arm-sim", "0.2.3", "trossen_arm_sim", "assets/wxai_follower.xml",
    pinch_m=(0.14402, 0, -0.002026), pinch_quat_wxyz=(0, HALF, 0, HALF), flags="--no-deps ", has_excludes=False,
    renamed=(("left_gripper", "gripper"),),
)  # fmt: skip
WXAI_PLACES = (0.0, 0.3, 0.0), (0.0, -0.3, 0.0)
"""Arms and camera as on Mobile AI: https://github.com/TrossenRobotics/trossen_arm_mujoco, mobile_ai.xml."""


def aloha() -> RobotDescription:
    """Return ALOHA's pair. Raises ModelError where its model is not installed."""
    return replace(
        _pair(VIPERX, VIPERX_PLACES),
        title="ALOHA, two ViperX arms",
        source="oracle, ALOHA",
        phrase="with the two arms of ALOHA",
    )


def trossen() -> RobotDescription:
    """Return Trossen's pair. Raises ModelError where its model is not installed."""
    return replace(
        _pair(WXAI, WXAI_PLACES),
        title="Trossen, two WXAI arms",
        source="oracle, two WXAI arms",
        phrase="with two WXAI arms of Trossen",
    )


def _pair(arm: WheelArm, places: tuple[Place, Place]) -> RobotDescription:
    stored = arm.stored(pair=places)
    pair = stored.description(arm.folder(stored))
    return replace(
        pair,
        note="two arms, by friction, within reach: minutes",
        # Rate hz of ALOHA's control, and of the policies of both
        control_modes=(ControlMode("joint_position", 50.0),),
        origin=f"{arm.wheel} {arm.version}",
        licence="Apache-2.0",
    )
