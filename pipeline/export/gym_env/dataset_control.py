"""Control of a twin's robot in the units and at the rate of its LeRobot dataset."""

import mujoco
import numpy as np

from pipeline.simulation.controlled_world import ControlledWorld
from pipeline.simulation.physics import STEPS_PER_RECORD, TIMESTEP

FPS = 15
"""Rate of the dataset in Hz; LeRobot takes whole numbers, and every frame is drawn."""
CONTROL_SECONDS = STEPS_PER_RECORD * TIMESTEP
SAME_INSTANT_S = 1e-6


class ActuatorUnits:
    """What the dataset's state and action say of a robot: positions, and the commands that lead there."""

    def __init__(self, model: mujoco.MjModel):
        """Args:
        model: the robot on its table.
        """
        of_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
        self._suction = np.array([model.actuator(number).name == "suction" for number in range(model.nu)], bool)
        self._joints = np.flatnonzero(of_joint & ~self._suction)
        moved = model.actuator_trnid[self._joints, 0]
        self._addresses = model.jnt_qposadr[moved]
        self.offsets = np.zeros(model.nu)
        """What is added to each command, of shape (A,)."""
        self.offsets[self._joints] = [_home(model, int(joint)) for joint in moved]

    def state(self, qpos: np.ndarray, commands: np.ndarray) -> np.ndarray:
        """Return the state (..., A) at coordinates (..., nq) under commands (..., A)."""
        state = self.action(commands)
        state[..., self._joints] = qpos[..., self._addresses] + self.offsets[self._joints]
        return state

    def action(self, commands: np.ndarray) -> np.ndarray:
        """Return the action (..., A) of commands (..., A); suction is on or off, never between."""
        return np.where(self._suction, np.floor(commands), commands + self.offsets)

    def commands(self, action: np.ndarray) -> np.ndarray:
        """Return the commands (..., A) of an action (..., A)."""
        return action - self.offsets


def _home(model: mujoco.MjModel, joint: int) -> float:
    """Return what is added to a slide of the floating gripper, so that its position is in the world."""
    body = model.body(int(model.jnt_bodyid[joint]))
    if model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_SLIDE or body.name != "gripper":
        return 0.0
    return float(model.jnt_axis[joint] @ body.pos)


def movable_objects(model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the names of the bodies with a free joint."""
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    return tuple(model.body(int(model.jnt_bodyid[joint])).name for joint in free)


class DatasetControl:
    """Leads a robot to the dataset's actions, one a frame, in a straight line."""

    def __init__(self, world: ControlledWorld):
        self._world, self.units = world, ActuatorUnits(world.model)
        self._frame, self._target = 0, world.data.ctrl.copy()

    def is_due(self, seconds: float) -> bool:
        """Whether the next frame begins, so many seconds after the start."""
        return seconds >= self._frame / FPS - SAME_INSTANT_S

    def aim(self, action: np.ndarray) -> None:
        """Begin a frame with an action (A,) of the dataset."""
        self._target, self._frame = self.units.commands(action), self._frame + 1

    def action(self, seconds: float) -> np.ndarray:
        """Return the normalised action (A,) of the control step that begins so many seconds after the start."""
        world = self._world
        share = CONTROL_SECONDS / max(self._frame / FPS - seconds, CONTROL_SECONDS)
        command = world.data.ctrl + share * (self._target - world.data.ctrl)
        if world.suction >= 0:  # on or off, never between
            command[world.suction] = round(float(np.clip(self._target[world.suction], 0, 1)))
        return world.action(command)

    def state(self) -> np.ndarray:
        """Return the dataset's state (A,) now."""
        return self.units.state(self._world.data.qpos, self._world.data.ctrl)
