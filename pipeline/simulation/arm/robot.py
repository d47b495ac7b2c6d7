"""The arm as a robot of the oracle: where it stands, where it waits, its hand."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pipeline.simulation.arm import body, fingers
from pipeline.simulation.arm.hand import ArmHand
from pipeline.simulation.arm.kinematics import Kinematics, pose
from pipeline.simulation.arm.mount import mount
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics

RAISED = 0.02
"""Of the base above the table's top, in metres."""
READY = 0.42, 0.30
"""Where the gripper waits: before the base and above the table, in metres."""


class Arm:
    """A UR5e on a post beside the table."""

    source = "oracle, UR5e with a 2F-85"

    def __init__(self) -> None:
        self.base, self.turn = np.zeros(3), 0.0

    def add(self, spec: mujoco.MjSpec, objects: Sequence[Object], table: Region, away: np.ndarray) -> np.ndarray:
        place, self.turn = mount(objects, table, away)
        self.base = np.array([*place, RAISED])
        body.add_arm(spec, self.base, self.turn)
        return self._home()[:3, 3]

    def ready(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Brings a fresh world's arm to where it waits."""
        q = Kinematics(self.base, self.turn).guess(self._home())
        assert q is not None
        for name, angle in zip(body.JOINTS, q, strict=True):
            data.joint(name).qpos = angle
            data.actuator(name.removesuffix("_joint")).ctrl = angle
        data.actuator(f"{body.HAND}fingers_actuator").ctrl = fingers.command(fingers.WIDEST)

    def hand(self, physics: Physics) -> ArmHand:
        kinematics = Kinematics(self.base, self.turn)
        q = kinematics.guess(self._home())
        assert q is not None
        return ArmHand(physics, kinematics, q)

    def _home(self) -> np.ndarray:
        out, up = READY
        ahead = np.array([np.cos(self.turn), np.sin(self.turn), 0])
        return pose(self.base + out * ahead + np.array([0, 0, up]), self.turn + np.pi / 2)
