"""Many worlds of one model, advanced together on a GPU and measured one after the other in the same running world.

The physics on an NVIDIA GPU is MuJoCo Warp's (https://mujoco.readthedocs.io/en/stable/mjwarp).
"""

from collections.abc import Sequence
from typing import Any, Protocol

import mujoco
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from pipeline.learning.environment import EpisodeRules, SubtaskEnv
from pipeline.learning.layouts import Layouts
from pipeline.learning.start_states import StartState
from pipeline.learning.subtask import Subtask
from pipeline.learning.subtask_world import RATE, SubtaskWorld
from pipeline.learning.terms import Moment
from pipeline.simulation.controlled_world import ControlledWorld
from pipeline.simulation.physics import UnstableError

OF_DATA = ("qpos", "qvel", "act", "qacc_warmstart", "ctrl", "eq_active")
OF_MODEL = ("eq_data", "body_pos", "body_quat")
"""What differs between worlds: fields of MjData, and of MjModel where grasps and immovable objects are."""


class BatchPhysics(Protocol):
    """Advances all worlds at once."""

    def advance(self, worlds: "Worlds", commands: np.ndarray) -> None:
        """Simulate each world under its commands, of shape (R, N, nu), one after the other; change `worlds.fields`."""
        ...


class Worlds:
    """The states of N worlds of one model; one of them at a time is in the running world, to be measured."""

    def __init__(self, control: ControlledWorld, count: int):
        self.control, self.count = control, count
        self.fields = {name: np.repeat(self._live(name)[None], count, axis=0) for name in (*OF_DATA, *OF_MODEL)}
        """Arrays whose first axis is the world, by the name of MuJoCo's field."""
        self.holding = np.full(count, -1)

    def _live(self, name: str) -> np.ndarray:
        control = self.control
        return getattr(control.data if name in OF_DATA else control.model, name)

    def keep(self, index: int) -> None:
        """Note the running world's state as that of one of the worlds."""
        for name, kept in self.fields.items():
            kept[index] = self._live(name)
        self.holding[index] = self.control.holding

    def restore(self, index: int) -> None:
        """Bring one of the worlds into the running world. Raises UnstableError."""
        speed = self.fields["qvel"][index]
        # Fastest in m/s or rad/s: what moves faster has become unstable
        if not (np.isfinite(self.fields["qpos"][index]).all() and (np.abs(speed) < 1e3).all()):
            raise UnstableError("the physics of one of the worlds blew up")
        for name, kept in self.fields.items():
            self._live(name)[:] = kept[index]
        self.control.holding = int(self.holding[index])
        mujoco.mj_forward(self.control.model, self.control.data)

    def advance(self, actions: np.ndarray, physics: BatchPhysics) -> None:
        """Simulate one control step of every world under its normalised action, of shape (N, nu)."""
        control, commands = self.control, []
        for index, action in enumerate(actions):
            for name in ("ctrl", "qpos"):
                self._live(name)[:] = self.fields[name][index]
            commands.append(control.ramp(action))
        physics.advance(self, np.swapaxes(commands, 0, 1))
        self.fields["ctrl"][:] = [ramp[-1] for ramp in commands]


class OneOfManyWorlds(SubtaskWorld):
    """A subtask in one of many worlds; `Worlds.advance` simulates them before each is measured by `step`."""

    def __init__(self, layouts: Layouts, subtask: Subtask, worlds: Worlds, index: int):
        super().__init__(layouts, subtask, worlds.control)
        self._worlds, self._index = worlds, index
        self._placed = self.physics.world

    def begin(self, start: StartState) -> Moment:
        """Begin an episode. Raises LearningError for a state of another world."""
        moment = super().begin(start)
        self._placed = self.physics.world
        self._worlds.keep(self._index)
        return moment

    def step(self, action: np.ndarray) -> Moment:
        """End the control step that this world has been advanced by. Raises UnstableError."""
        self.physics.world = self._placed
        self._worlds.restore(self._index)
        self.control.arrive(action)
        self._worlds.keep(self._index)
        return self._stepped(action)


class BatchedEnvs(DummyVecEnv):
    """Environments of one subtask whose worlds are advanced together."""

    def __init__(
        self,
        layouts: Layouts,
        subtask: Subtask,
        starts: Sequence[StartState],
        rules: EpisodeRules,
        worlds: Worlds,
        physics: BatchPhysics,
    ):
        self._worlds, self._physics = worlds, physics
        own = [OneOfManyWorlds(layouts, subtask, worlds, index) for index in range(worlds.count)]
        envs = [SubtaskEnv(layouts, subtask, starts, rules, world) for world in own]
        super().__init__([lambda env=env: env for env in envs])

    def step_wait(self) -> VecEnvStepReturn:
        """Simulate all worlds, then measure each."""
        self._worlds.advance(self.actions, self._physics)
        return super().step_wait()


def new_worlds(layouts: Layouts, count: int) -> Worlds:
    """Return so many worlds of a task, all in its base layout."""
    return Worlds(ControlledWorld(layouts.world(), rate=RATE), count)


def is_gpu_there() -> bool:
    """Whether MuJoCo Warp is installed and a GPU that it can use is there."""
    try:
        import mujoco_warp  # noqa: F401 - an optional package
        import warp
    except ImportError:
        return False
    warp.config.quiet = True
    return bool(warp.is_cuda_available())


class WarpPhysics:
    """Advances many worlds of one model on a GPU, in single precision."""

    def __init__(self, model: mujoco.MjModel, count: int, steps: int):
        """Args:
        model: of all worlds.
        count: number of worlds.
        steps: time steps under each command.
        """
        import mujoco_warp
        import warp

        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        self._warp: Any = warp
        self._model = mujoco_warp.put_model(model, batch_sizes=dict.fromkeys(OF_MODEL, count))
        # Room for contacts and rows of constraints in each world; what is beyond is left out
        self._data = mujoco_warp.put_data(model, data, nworld=count, nconmax=128, njmax=512)
        mujoco_warp.step(self._model, self._data)  # compiles the kernels, which a capture cannot
        with warp.ScopedCapture() as capture:
            for _ in range(steps):
                mujoco_warp.step(self._model, self._data)
        self._graph = capture.graph

    def advance(self, worlds: Worlds, commands: np.ndarray) -> None:
        """Simulate each world under its commands, of shape (R, N, nu), one after the other; change `worlds.fields`."""
        for name in (*OF_DATA, *OF_MODEL):
            self._put(name, worlds.fields[name])
        for command in commands:
            self._put("ctrl", command)
            self._warp.capture_launch(self._graph)
        for name in ("qpos", "qvel", "act", "qacc_warmstart"):
            worlds.fields[name][:] = getattr(self._data, name).numpy().reshape(worlds.fields[name].shape)

    def _put(self, name: str, values: np.ndarray) -> None:
        """Copy the values of all worlds into a field on the GPU, where they stay in place for the captured steps."""
        target = getattr(self._data if name in OF_DATA else self._model, name)
        if target.size:
            self._warp.copy(target, self._warp.array(values, dtype=target.dtype, device=target.device))
