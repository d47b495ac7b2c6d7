"""The arm with a vacuum gripper, as the paper's robot: GRS performs its tasks on a UR5e with suction."""

from collections.abc import Sequence

import mujoco
import numpy as np

from pipeline.simulation.arm.arm_robot import Arm
from pipeline.simulation.arm.motion import Motion
from pipeline.simulation.arm.tools import vacuum
from pipeline.simulation.arm.tools.suction_tool import SuctionTool
from pipeline.simulation.arm.tools.tool import Tool
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.oracle.robot import Mount
from pipeline.simulation.physics import Physics


class SuctionArm(Arm):
    """A UR5e with a vacuum cup, on a post beside the table."""

    source = "oracle, UR5e with a vacuum gripper"

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
