"""The state of the twin's robot as policies describe it (joints, gripper, tool), and the commands that lead there.

A state is a vector (A,) with a number for each actuator in the units of `ActuatorUnits`: rad, m or the actuator's own.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.export.gym_env.twin_world import TwinWorld
from pipeline.export.lerobot.episodes import ActuatorUnits, actuator_names
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.robots.description import SIDES

TOOL_SITES = ("pinch", "grasp", "tcp", "tool", "tip", "attachment_site")
"""Ends of the names of the site that is the tool, the best first: Menagerie's and common models' names."""
DAMPING = 0.02
"""Of the least-squares inverse kinematics, in the Jacobian's units: keeps joints slow near singular postures."""


class RobotState:
    """Reads and moves the robot of one world."""

    def __init__(self, world: TwinWorld):
        """Args:
        world: with the robot at the start of an episode; its base does not move.
        """
        self.world, self.model = world, world.model
        self.units = ActuatorUnits(world.model)
        self.names = actuator_names(world.model)
        kinds = [self._is_gripper(number) for number in range(self.model.nu)]
        self.grippers = [number for number, is_gripper in enumerate(kinds) if is_gripper]
        self.joints = [number for number, is_gripper in enumerate(kinds) if not is_gripper]
        moved = self.model.actuator_trnid[self.joints, 0]
        self._addresses, self._dofs = self.model.jnt_qposadr[moved], self.model.jnt_dofadr[moved]
        self._scratch = mujoco.MjData(self.model)
        self._site = self._tool_site()
        sites = [self.model.site(number).name for number in range(self.model.nsite)]
        self.tools = max(1, len({name.partition("/")[0] for name in sites} & set(SIDES)))
        """Number of tools: each arm of a pair has one."""
        self._body = -1 if self._site >= 0 else self.model.body(GRIPPER).id
        base = self.model.body(GRIPPER).id
        moves = self.model.body_dofnum[base] > 0  # the floating gripper has no base: its frame is the table's
        self.base = np.zeros(3) if moves else world.data.xpos[base].copy()
        self.base_rotation = np.eye(3) if moves else world.data.xmat[base].reshape(3, 3).copy()

    def _is_gripper(self, number: int) -> bool:
        if self.model.actuator_trntype[number] != mujoco.mjtTrn.mjTRN_JOINT or number == self.world.suction:
            return True
        return any(word in self.names[number].lower() for word in ("grip", "finger"))

    def _tool_site(self) -> int:
        names = [self.model.site(number).name for number in range(self.model.nsite)]
        found = [number for end in TOOL_SITES for number, name in enumerate(names) if name.endswith(end)]
        return found[0] if found else -1

    def matching(self, numbers: list[int], pattern: str) -> list[int]:
        """Return the actuators among `numbers` whose names match a pattern."""
        return [
            number
            for number in numbers
            if fnmatchcase(self.model.actuator(number).name, pattern) or fnmatchcase(self.names[number], pattern)
        ]

    def commands(self, state: np.ndarray) -> np.ndarray:
        """Return the commands (A,) that lead to a state (A,)."""
        return self.units.commands(state)

    def commanded(self) -> np.ndarray:
        """Return the state (A,) to which the present commands lead."""
        return self.units.action(self.world.data.ctrl.copy())

    def now(self) -> np.ndarray:
        """Return the present state (A,)."""
        data = self.world.data
        state = self.units.state(data.qpos, data.ctrl)
        for number in self.grippers:
            if number != self.world.suction:
                state[number] = self._command_at_rest(number)
        return state

    def _command_at_rest(self, number: int) -> float:
        """Return the command at which a position servo would rest where it is now; its present one if it is none."""
        gain, bias = self.model.actuator_gainprm[number], self.model.actuator_biasprm[number]
        if gain[0] == 0 or bias[1] == 0:
            return float(self.world.data.ctrl[number])
        return float(-(bias[0] + bias[1] * self.world.data.actuator_length[number]) / gain[0])

    def closed_share(self, number: int, value: float) -> float:
        """Return how far a gripper is closed at a value of its state: 0 open, 1 closed."""
        opened, closed = self._ends(number)
        return (value - opened) / (closed - opened)

    def gripper_value(self, number: int, share: float) -> float:
        """Inverse of `closed_share`."""
        opened, closed = self._ends(number)
        return opened + float(np.clip(share, 0, 1)) * (closed - opened)

    def _ends(self, number: int) -> tuple[float, float]:
        """Return the values of an open and of a closed gripper: fingers on slides are open at their largest."""
        if number == self.world.suction:
            return 0.0, 1.0
        low, high = map(float, self.model.actuator_ctrlrange[number])
        of_joint = self.model.actuator_trntype[number] == mujoco.mjtTrn.mjTRN_JOINT
        joint = int(self.model.actuator_trnid[number, 0])
        slides = of_joint and self.model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_SLIDE
        return (high, low) if slides else (low, high)

    def tool(self, state: np.ndarray | None = None) -> tuple[np.ndarray, Rotation]:
        """Return position (3,) in metres and rotation of the tool in the base's frame, now or in a state (A,)."""
        data = self.world.data if state is None else self._at(state)
        position = data.site_xpos[self._site] if self._site >= 0 else data.xpos[self._body]
        matrix = data.site_xmat[self._site] if self._site >= 0 else data.xmat[self._body]
        inverse = self.base_rotation.T
        return inverse @ (position - self.base), Rotation.from_matrix(inverse @ matrix.reshape(3, 3))

    def moved_tool(self, state: np.ndarray, translation: np.ndarray, rotation: np.ndarray) -> np.ndarray:
        """Return the state (A,) whose tool is moved in the base's frame, by damped least squares.

        Args:
            state: from which it moves, of shape (A,).
            translation: in metres, of shape (3,).
            rotation: rotation vector in radians, of shape (3,).
        """
        data, jacobian = self._at(state), np.zeros((6, self.model.nv))
        if self._site >= 0:
            mujoco.mj_jacSite(self.model, data, jacobian[:3], jacobian[3:], self._site)
        else:
            mujoco.mj_jacBody(self.model, data, jacobian[:3], jacobian[3:], self._body)
        jacobian = jacobian[:, self._dofs]
        wanted = np.concatenate([self.base_rotation @ translation, self.base_rotation @ rotation])
        square = jacobian @ jacobian.T + DAMPING**2 * np.eye(6)
        moved = state.copy()
        moved[self.joints] += jacobian.T @ np.linalg.solve(square, wanted)
        return moved

    def _at(self, state: np.ndarray) -> mujoco.MjData:
        """Return data with the joints of a state (A,), for kinematics."""
        self._scratch.qpos[:] = self.world.data.qpos
        self._scratch.qpos[self._addresses] = self.units.commands(state)[self.joints]
        mujoco.mj_kinematics(self.model, self._scratch)
        mujoco.mj_comPos(self.model, self._scratch)
        return self._scratch

    def command(self, numbers: list[int], values: Sequence[float] | np.ndarray) -> None:
        """Set the commands of grippers, as a client reports them."""
        for number, value in zip(numbers, values, strict=True):
            self.world.data.ctrl[number] = float(value) - self.units.offsets[number]

    def put_all(self, state: np.ndarray) -> None:
        """Set positions, velocities and commands of the whole world, as the environment observes them."""
        data, model = self.world.data, self.model
        data.qpos[:], data.qvel[:], data.ctrl[:] = np.split(state, [model.nq, model.nq + model.nv])
        mujoco.mj_forward(model, data)

    def put(self, joints: np.ndarray, numbers: list[int]) -> None:
        """Set positions of joints, as a client reports them: a mirror of the client's robot."""
        for number, value in zip(numbers, joints, strict=True):
            joint = int(self.model.actuator_trnid[number, 0])
            command = float(value) - self.units.offsets[number]
            self.world.data.qpos[self.model.jnt_qposadr[joint]] = self.world.data.ctrl[number] = command
