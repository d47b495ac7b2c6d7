"""The UR5e with a vacuum cup under the floating gripper's actions: mink turns changes of the tip into joint angles.

An action has the same five components, so that a policy learned with one hand can be played and go on learning with the
other. The cup looks straight down. What it touches is held up to the forces of a real vacuum (arm/tools/vacuum.py).
"""

from typing import cast

import mujoco
import numpy as np

from pipeline.learning.subtask import LearningError
from pipeline.simulation.controlled_world import ControlledWorld, ControlRate
from pipeline.simulation.physics import TIMESTEP, CompiledWorld, Physics
from pipeline.simulation.robots.arm.arm_robot import Arm
from pipeline.simulation.robots.arm.kinematics import gripper_pose
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX, prefixed
from pipeline.simulation.robots.arm.tools.vacuum import LIP_SITE, VALVE, Vacuum, weld_name


class ArmControl(ControlledWorld):
    """One world with the arm; between two control steps the servos' commands are the posture that was asked for."""

    def __init__(self, world: CompiledWorld, rate: ControlRate):
        super().__init__(world, rate=rate)
        model, robot = world.model, cast(Arm, world.robot)
        self.suction = int(model.actuator(VALVE).id)
        self._servos = np.array([model.actuator(name).id for name in prefixed(robot.arm.servos)])
        self._lag = np.array(robot.arm.servo_lag)
        self._kinematics = robot.kinematics()
        self._home = self.data.qpos.copy(), self.data.ctrl.copy()
        joints = [j for j in range(model.njnt) if model.joint(j).name.startswith(ARM_PREFIX)]
        self._robot_joints = model.jnt_qposadr[joints]
        bodies = {model.body(joint.body).name: f"{name} {part}" for (name, part), joint in self.physics.parts.items()}
        self._held = {weld_name(name): name for name in world.objects} | {
            weld_name(body): part for body, part in bodies.items()
        }

    @property
    def actions(self) -> int:
        """Number of components of an action."""
        # Changes of the tip's x, y, z and yaw, and suction
        return 5

    def reset(self) -> None:
        """Return to the start of the world."""
        self.physics = Physics(self.world)
        self.data = self.physics.data
        self.vacuum = Vacuum(self.physics)
        self.reached = 1

    def go_home(self) -> None:
        """Bring the arm into its home posture, in a world that has not begun."""
        qpos, ctrl = self._home
        self.data.qpos[self._robot_joints] = qpos[self._robot_joints]
        self.data.ctrl[:] = ctrl

    # ------------------------------------------------------------------ what it holds, and where it is

    @property
    def holding(self) -> int:
        """Weld that holds an object; -1 for none."""
        return self.vacuum.weld

    @holding.setter
    def holding(self, weld: int) -> None:
        self.vacuum.resume(weld)

    @property
    def held(self) -> str:
        """Name of what the cup holds: an object, or "object part"; empty for none."""
        return self._held[self.model.equality(self.holding).name] if self.holding >= 0 else ""

    @property
    def tip(self) -> np.ndarray:
        """World position of the cup's lip, of shape (3,), in metres."""
        return self.data.site(LIP_SITE).xpos.copy()

    @property
    def lag(self) -> np.ndarray:
        """Metres by which the command is ahead of the tip, of shape (3,)."""
        return self._commanded()[:3, 3] - self.tip

    def _commanded(self) -> np.ndarray:
        """Return the commanded world-from-gripper, of shape (4, 4)."""
        return self._kinematics.forward(self.data.ctrl[self._servos])

    # ------------------------------------------------------------------ control steps

    def step(self, action: np.ndarray) -> None:
        """Simulate one control step under a normalised action (5,) in [-1, 1]. Raises UnstableError."""
        action = np.clip(np.asarray(action, float), -1, 1)
        start, end = self.data.ctrl[self._servos].copy(), self._posture(action)
        lead = self._lag * (end - start) / (self.rate.steps * TIMESTEP)
        for share in np.arange(1, self.rate.ramp + 1) / self.rate.ramp:
            self.data.ctrl[self._servos] = start + share * (end - start) + lead
            self.physics.advance(self.rate.steps // self.rate.ramp)
        self.data.ctrl[self._servos] = end
        self._switch(action[-1] > 0)

    def _posture(self, action: np.ndarray) -> np.ndarray:
        """Return the joint angles (6,) that an action asks for; the present ones where the arm does not reach."""
        rate, pose, now = self.rate, self._commanded(), self.data.ctrl[self._servos].copy()
        point = np.clip(pose[:3, 3], self.tip - rate.lead_m, self.tip + rate.lead_m) + action[:3] * rate.slide_m
        yaw = np.arctan2(pose[1, 1], pose[0, 1]) + action[3] * rate.turn_rad
        found = self._kinematics.solve(gripper_pose(point, yaw), start=now)
        return now if found is None else found

    def _switch(self, is_on: bool) -> None:
        if not is_on:
            self.vacuum.release()
        elif not self.vacuum.on and (body := self._touched_body()):
            self.vacuum.grip(body)
        self.data.ctrl[self.suction] = float(is_on)

    def _touched_body(self) -> str:
        """Return the name of the body that the cup touches and can hold; empty for none."""
        model = self.model
        for geom in self.vacuum.touched():
            body = int(model.geom_bodyid[geom])
            while body:
                name = model.body(body).name
                if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_EQUALITY, weld_name(name)) >= 0:
                    return name
                body = int(model.body_parentid[body])
        return ""

    def ramp(self, action: np.ndarray) -> np.ndarray:
        """Raises LearningError: the worlds of a GPU are of the floating gripper."""
        raise LearningError("the arm learns on processors, not on a GPU")

    def action(self, command: np.ndarray) -> np.ndarray:
        """Raises LearningError: demonstrations are of the floating gripper."""
        raise LearningError("demonstrations are of the floating gripper; learn with it, then with the arm")
