"""The task as a benchmark of vla-eval (tried with 0.8.0): each episode is a layout of the twin.

A model server gets {"images": {camera: (H, W, 3)}, "state": (A,), "objects": (N, 7), "task_description": text} and
answers {"actions": (A,)}, both in the units of the LeRobot dataset of the same project, 15 times a second.
"""

import math
import os
from typing import Any

import numpy as np
from vla_eval.benchmarks.base import StepBenchmark, StepResult
from vla_eval.render import configure_mujoco_render
from vla_eval.specs import IMAGE_RGB, LANGUAGE, DimSpec
from vla_eval.types import Action, EpisodeResult, Observation, Task


class TwinBenchmark(StepBenchmark):
    """One task on the layouts of its solved seeds; `share` is the share of its goals met at the end."""

    render_backends = frozenset({"gpu", "cpu"})

    @classmethod
    def configure_render(cls, mode: str) -> dict[str, str]:
        return configure_mujoco_render(mode)

    def __init__(self, cameras: list[str] | None = None, width: int = 320, height: int = 240):
        """Args:
        cameras: Names of the cameras whose pictures are sent; None for all.
        width, height: Of the pictures, in pixels.
        """
        super().__init__()
        os.environ.setdefault("MUJOCO_GL", "egl")
        from grs_env import DatasetEnv  # MuJoCo chooses its renderer at import, after configure_render

        self._env = DatasetEnv(cameras=cameras, image_size=(width, height))

    def get_tasks(self) -> list[Task]:
        return [{"name": self._env.task_description, "suite": "twin"}]

    def reset(self, task: Task) -> Any:
        self._success, self._share = False, 0.0
        layout = self._env.layouts[task.get("episode_idx", 0) % len(self._env.layouts)]
        observation, _ = self._env.reset(options={"layout": layout})
        self._recorder.record_video(self.render())
        return observation

    def step(self, action: Action) -> StepResult:
        wanted = np.asarray(action.get("actions", action.get("action")), float)
        expected = self._env.action_space.shape
        if wanted.shape != expected or not np.isfinite(wanted).all():
            raise ValueError(f"the action has the shape {wanted.shape}; expected are {expected} finite numbers")
        observation, reward, terminated, truncated, info = self._env.step(wanted)
        self._success, self._share = info["is_success"], info["share"]
        self._recorder.record_video(self.render())
        self._recorder.record_step(reward=float(reward), done=terminated, success=self._success, action=wanted)
        return StepResult(observation, float(reward), terminated or truncated, info)

    def make_obs(self, raw_obs: Any, task: Task) -> Observation:
        return {
            "images": raw_obs["pixels"],
            "state": raw_obs["agent_pos"],
            "objects": raw_obs["environment_state"],
            "task_description": task["name"],
        }

    def get_step_result(self, step_result: StepResult) -> EpisodeResult:
        return {"success": self._success, "share": self._share}

    async def get_time(self) -> float:
        return self._env.seconds

    def get_metric_keys(self) -> dict[str, str]:
        return {"success": "mean", "share": "mean"}

    def get_metadata(self) -> dict[str, Any]:
        return {"max_steps": self._env._max_episode_steps, "max_episodes_per_task": len(self._env.layouts)}

    def get_action_spec(self) -> dict[str, DimSpec]:
        return {"actions": DimSpec("actions", math.prod(self._env.action_space.shape), "actuator_commands")}

    def get_observation_spec(self) -> dict[str, DimSpec]:
        state = DimSpec("state", math.prod(self._env.action_space.shape), "actuator_positions")
        return {name: IMAGE_RGB for name in self._env.cameras} | {"state": state, "language": LANGUAGE}

    def get_hold_action(self, last_action: Action | None) -> Action:
        return last_action or {"actions": self._env.state()}

    def render(self) -> np.ndarray:
        return self._env.render()

    def cleanup(self) -> None:
        self._env.close()
