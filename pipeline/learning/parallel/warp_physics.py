"""MuJoCo's physics of many worlds on an NVIDIA GPU, by MuJoCo Warp (https://mujoco.readthedocs.io/en/stable/mjwarp)."""

from typing import Any

import mujoco
import numpy as np

from pipeline.learning.parallel.worlds import OF_DATA, OF_MODEL, Worlds

CONTACTS, CONSTRAINTS = 128, 512
"""Room for contacts and rows of constraints in each world; what is beyond is left out."""


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
        self._data = mujoco_warp.put_data(model, data, nworld=count, nconmax=CONTACTS, njmax=CONSTRAINTS)
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
