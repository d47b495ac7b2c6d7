"""A LeRobot policy, trained on the dataset of `grs-studio export --format lerobot`: its units, rate and pictures."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pipeline.closed_loop.policies import Policy, checked_numbers
from pipeline.export.gym_env.dataset_control import DatasetControl, movable_objects
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.pictures import PHOTO
from pipeline.export.lerobot.dataset import HEIGHT_PX, WIDTH_PX


class LerobotPolicy:
    """Asks a policy once a frame of the dataset, and leads the robot there in a straight line.

    The policy gets what a row of the dataset holds: "state" (A,), "objects" (N, 7), "image" (240, 320, 3) without
    shadows, and such a picture of each other camera under its name. Its answer is the dataset's action (A,), or
    several, one a frame.
    """

    def __init__(self, env: TwinEnv, policy: Policy):
        """Args:
        env: the environment that the policy controls.
        policy: answers in the units of the dataset, as `lerobot_server.py` does.
        """
        self._env, self._policy = env, policy

    def begin(self, layout: int, instruction: str) -> None:
        self._policy.begin(layout, instruction)
        self._control = DatasetControl(self._env.world)
        self._objects = movable_objects(self._env.world.model)
        self._queue = np.empty((0, self._env.action_count))

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> np.ndarray:
        if self._control.is_due(seconds):
            if not len(self._queue):
                answer = self._policy.act(self._row(), seconds)
                self._queue = checked_numbers(answer, self._env.action_count)
            self._control.aim(self._queue[0])
            self._queue = self._queue[1:]
        return self._control.action(seconds)

    def _row(self) -> dict[str, Any]:
        """Return the observation that a row of the dataset holds."""
        data = self._env.world.data
        poses = [data.body(name) for name in self._objects]
        objects = np.array([np.concatenate([body.xpos, body.xquat]) for body in poses]).reshape(-1, 7)
        pictures = {name: self._env.draw(WIDTH_PX, HEIGHT_PX, False, name) for name in self._env.camera_names}
        pictures["image"] = pictures.pop(PHOTO)
        return {"state": self._control.state(), "objects": objects} | pictures
