"""The environment with the observations, actions and rate of the LeRobot dataset of the same project."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from pipeline.export.gym_env.dataset_control import CONTROL_SECONDS, FPS, DatasetControl, movable_objects
from pipeline.export.gym_env.environment import FOLDER, LIMIT, TwinEnv
from pipeline.export.gym_env.pictures import PHOTO

SIZE = (320, 240)
"""Width and height of the dataset's pictures, drawn without shadows."""


class DatasetEnv(gymnasium.Env):
    """The task for policies that were trained on the dataset. `info` has "is_success" beside what `TwinEnv` gives.

    Observation: a Dict with "agent_pos" (A,), "environment_state" (7 N) and, if there are cameras, "pixels", a Dict
    with the picture (H, W, 3), uint8, of each. Action: (A,), commands of the actuators in the dataset's units.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": FPS}  # noqa: RUF012
    render_mode = "rgb_array"

    def __init__(self, cameras: Sequence[str] | None = None, image_size: tuple[int, int] = SIZE, folder: Path = FOLDER):
        """Args:
        cameras: Names of the cameras that are observed; None for all.
        image_size: Width and height of their pictures in pixels.
        folder: Folder of the export.
        """
        self._env = TwinEnv(folder=folder)
        self.cameras = tuple(self._env.camera_names if cameras is None else cameras)
        if missing := sorted({*self.cameras} - {*self._env.camera_names}):
            raise ValueError(f"there is no camera {missing[0]}; there are: {', '.join(self._env.camera_names)}")
        self.layouts = self._env.layouts
        self.task = self.task_description = self._env.instruction
        self._size, self._objects = image_size, movable_objects(self._env.world.model)
        self._max_episode_steps = int(np.ceil(self._env.max_steps * CONTROL_SECONDS * FPS))
        self._begin()
        self.action_space = _bounded(self._env.action_count)
        spaces: dict[str, gymnasium.Space] = {
            "agent_pos": _bounded(self._env.action_count),
            "environment_state": _bounded(7 * len(self._objects)),
        }
        if self.cameras:
            picture = gymnasium.spaces.Box(0, 255, (image_size[1], image_size[0], 3), np.uint8)
            spaces["pixels"] = gymnasium.spaces.Dict(dict.fromkeys(self.cameras, picture))
        self.observation_space = gymnasium.spaces.Dict(spaces)

    def _begin(self) -> None:
        self._control, self._start = DatasetControl(self._env.world), float(self._env.world.data.time)

    @property
    def seconds(self) -> float:
        """Simulated seconds since the episode began."""
        return float(self._env.world.data.time) - self._start

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begin an episode, on a layout that is chosen as in `TwinEnv`."""
        super().reset(seed=seed)
        _, info = self._env.reset(seed=seed, options=options)
        self._begin()
        return self._observe(), info | {"is_success": info["success"]}

    def step(self, action: np.ndarray) -> tuple[dict, float, bool, bool, dict]:
        """Simulate one frame of the dataset."""
        self._control.aim(np.asarray(action, float))
        while True:
            _, reward, terminated, truncated, info = self._env.step(self._control.action(self.seconds))
            if terminated or truncated or self._control.is_due(self.seconds):
                return self._observe(), reward, terminated, truncated, info | {"is_success": info["success"]}

    def state(self) -> np.ndarray:
        """Return the dataset's state (A,) now."""
        return self._control.state()

    def _observe(self) -> dict[str, Any]:
        bodies = [self._env.world.data.body(name) for name in self._objects]
        poses = np.concatenate([np.zeros(0), *(np.concatenate([body.xpos, body.xquat]) for body in bodies)])
        observation: dict[str, Any] = {"agent_pos": np.clip(self.state(), -LIMIT, LIMIT)}
        observation["environment_state"] = np.clip(poses, -LIMIT, LIMIT)
        pixels = {name: self._env.draw(*self._size, shadows=False, camera=name) for name in self.cameras}
        return observation | ({"pixels": pixels} if pixels else {})

    def render(self) -> np.ndarray:
        """Return the view from the photograph's camera, of the pictures' size."""
        return self._env.draw(*self._size, shadows=False, camera=PHOTO)

    def close(self) -> None:
        self._env.close()


def _bounded(count: int) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-LIMIT, LIMIT, (count,), np.float64)
