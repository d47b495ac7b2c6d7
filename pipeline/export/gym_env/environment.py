"""A Gymnasium environment of one task on one twin; the simulation itself is in twin_world.py.

    import grs_env
    env = grs_env.make(render_mode="rgb_array")
    observation, info = env.reset(seed=3)

The action moves the robot's actuators: for the floating gripper the changes of x, y, z and yaw, and suction on above 0;
for the arm the changes of its six joints, and the opening of its fingers. All are normalised to [-1, 1].
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from pipeline.export.gym_env.pictures import PHOTO, Pictures, camera_names
from pipeline.export.gym_env.twin_world import CONTROL_SECONDS, TwinWorld
from pipeline.simulation.run_record import SOLVED
from pipeline.simulation.state import State

LIMIT = 1e3
"""Bound of all observed numbers, which are metres, radians and their rates."""
CALM_STEPS = 3
"""Control steps at rest before an episode counts as solved: 0.1 s, as in the sandbox."""
FOLDER = Path(__file__).resolve().parent.parent


class TwinEnv(gymnasium.Env):
    """The task on the layouts of the solution's seeds.

    Observation: a Dict with "state" (joint positions, joint velocities and commands), "objects" (N, 7) with position
    and quaternion wxyz of each object in the order of `object_names`, "image" if `images` is set, and a picture of each
    of `cameras` by its name. The reward is a value in [0, 1] that rises as the goals come nearer. `info` has "success",
    "share" (of the goals met), "goals" (metres that each one misses), "layout" and "instruction".
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": round(1 / CONTROL_SECONDS)}  # noqa: RUF012

    def __init__(
        self,
        render_mode: str | None = None,
        images: bool = False,
        image_size: tuple[int, int] = (128, 96),
        folder: Path = FOLDER,
        max_steps: int = 0,
        cameras: Sequence[str] = (),
    ):
        """Args:
        render_mode: "rgb_array" or None.
        images: Whether the observation has the key "image", drawn from the photograph's camera.
        image_size: Width and height in pixels.
        folder: Folder of the export.
        max_steps: Steps after which an episode is truncated; 0 for what layouts.json says, if it does.
        cameras: Names of the cameras, of `camera_names`, whose pictures the observation has.
        """
        self.render_mode, self.images, self.image_size = render_mode, images, image_size
        self.folder = Path(folder)
        self.task = json.loads((self.folder / "task.json").read_text(encoding="utf-8"))
        self.instruction: str = self.task.get("instruction", "")
        about = json.loads((self.folder / "layouts.json").read_text(encoding="utf-8"))
        self.layouts: list[int] = about["seeds"]
        """Seeds of the layouts."""
        self.max_steps: int = max_steps or about.get("max_steps", 0)
        self._pictures = Pictures(about.get("picture", {}))
        self._is_unused = False
        self._load(self.layouts[0])
        self._is_unused = True  # the first episode may have this world
        self.camera_names = camera_names(self.world.model)
        """The photograph's camera, "photo", those of the robot, and those that a person placed."""
        self.cameras = tuple(cameras)
        if missing := sorted({*cameras} - {*self.camera_names}):
            raise ValueError(f"there is no camera {missing[0]}; there are: {', '.join(self.camera_names)}")
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.action_count,), np.float64)
        spaces: dict[str, gymnasium.Space] = {
            "state": _bounded(self._state().shape),
            "objects": _bounded((len(self.object_names), 7)),
        }
        width, height = image_size
        for name in (*(["image"] if images else []), *self.cameras):
            spaces[name] = gymnasium.spaces.Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = gymnasium.spaces.Dict(spaces)

    @property
    def action_count(self) -> int:
        """Return how many numbers an action has."""
        return len(self.world.model.actuator_ctrlrange)

    def _load(self, layout: int) -> None:
        if self._is_unused and layout == self.layout:
            self.world.reset()
        else:
            self.layout, self.world = layout, TwinWorld(self.folder, layout)
        self._is_unused = False
        self._calm = self._steps = 0
        self._measured: tuple[np.ndarray, State] | None = None
        self.object_names = list(self.world.objects())

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        """Begin an episode. A seed of the solution gives its layout, any other one of them; none draws one at random.

        Args:
            options: {"layout": seed} chooses the layout.
        """
        super().reset(seed=seed)
        if options and "layout" in options:
            chosen = int(options["layout"])
            if chosen not in self.layouts:
                raise ValueError(f"there is no layout {chosen}; there are: {', '.join(map(str, self.layouts))}")
        elif seed is not None:
            chosen = seed if seed in self.layouts else self.layouts[seed % len(self.layouts)]
        else:
            chosen = int(self.np_random.choice(self.layouts))
        self._load(chosen)
        return self.observe(), self._info(self._measure())

    def step(self, action: np.ndarray) -> tuple[dict, float, bool, bool, dict]:
        """Simulate 32 ms. The episode is terminated when the task is solved, and truncated after `max_steps`."""
        self.world.step(action)
        self._steps += 1
        state = self._measure()
        self._calm = self._calm + 1 if self.world.is_at_rest() else 0
        info = self._info(state)
        return self.observe(), self.world.closeness(state), info["success"], 0 < self.max_steps <= self._steps, info

    def advance(self, action: np.ndarray) -> bool:
        """Simulate 32 ms as `step` does; return its "success" alone. Goals are measured where they may count."""
        self.world.step(action)
        self._steps += 1
        self._calm = self._calm + 1 if self.world.is_at_rest() else 0
        if self._calm < CALM_STEPS and not self.world.counts_while_moving:
            return False
        return self.world.share(self._measure()) > SOLVED and self._calm >= CALM_STEPS

    def _measure(self) -> State:
        """Return the state of what the goals are about; that of an earlier step while all of it sleeps."""
        now = self.world.object_coordinates()
        if self._measured is None or not np.array_equal(now, self._measured[0]):
            self._measured = now, self.world.measure()
        return self._measured[1]

    def _info(self, state: State) -> dict[str, Any]:
        share = self.world.share(state)
        solved = share > SOLVED and self._calm >= CALM_STEPS
        goals = self.world.goals(state)
        return {
            "success": solved, "share": share, "goals": goals, "layout": self.layout, "instruction": self.instruction
        }  # fmt: skip

    def _state(self) -> np.ndarray:
        data = self.world.data
        return np.concatenate([data.qpos, data.qvel, data.ctrl])

    def observe(self) -> dict[str, np.ndarray]:
        """Return the observation now."""
        poses = np.stack(list(self.world.objects().values()))
        observation = {"state": np.clip(self._state(), -LIMIT, LIMIT), "objects": np.clip(poses, -LIMIT, LIMIT)}
        observation |= {"image": self.draw(*self.image_size)} if self.images else {}
        return observation | {name: self.draw(*self.image_size, camera=name) for name in self.cameras}

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """Return the view from the photograph's camera, of shape (480, 640, 3), uint8; None without a render mode."""
        return self.draw(640, 480) if self.render_mode == "rgb_array" else None

    def draw(self, width: int, height: int, shadows: bool = True, camera: str = PHOTO) -> np.ndarray:
        """Return the view from a camera of `camera_names`, of shape (height, width, 3), uint8.

        The photograph's camera fills the picture, so another aspect than its own stretches what it shows.
        """
        seed = (self.layout, self._steps, self.camera_names.index(camera))
        return self._pictures.draw(self.world.model, self.world.data, (width, height), camera, shadows, seed)

    def close(self) -> None:
        self._pictures.close()


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One replayed episode of the oracle."""

    actions: np.ndarray
    """Of shape (T, A), normalised."""
    observations: list[dict[str, np.ndarray]]
    """T + 1 observations, the first after the reset."""
    rewards: np.ndarray
    """Of shape (T,)."""
    success: bool


def make(**options: Any) -> gymnasium.Env:
    """Return the environment; the options are those of `TwinEnv`."""
    return TwinEnv(**options)


def make_vec(num_envs: int, vectorization_mode: str = "async", **options: Any) -> gymnasium.vector.VectorEnv:
    """Return several environments as one, each in a process of its own; "sync" steps them in this process in turn."""
    return gymnasium.make_vec("GRS/Twin-v0", num_envs, vectorization_mode, **options)


def demonstration(seed: int, images: bool = False, folder: Path = FOLDER) -> Demonstration:
    """Replay the oracle's actions on the layout of a seed. Raises ValueError if that seed has no demonstration."""
    path = Path(folder) / "layouts" / f"{seed:03d}.npy"
    if not path.is_file():
        there = ", ".join(str(int(file.stem)) for file in sorted(path.parent.glob("*.npy")))
        raise ValueError(f"there is no demonstration of seed {seed}; there are: {there or 'none'}")
    env = TwinEnv(images=images, folder=folder)
    observation, info = env.reset(options={"layout": seed})
    observations, rewards = [observation], []
    actions = np.load(path, allow_pickle=False)
    for action in actions:
        observation, reward, _, _, info = env.step(action)
        observations.append(observation)
        rewards.append(reward)
    env.close()
    return Demonstration(actions, observations, np.array(rewards), info["success"])


def _bounded(shape: tuple[int, ...]) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(-LIMIT, LIMIT, shape, np.float64)
