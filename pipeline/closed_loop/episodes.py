"""Episodes of a policy in an exported environment."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.closed_loop.failure import failure_class, gaps_between
from pipeline.closed_loop.interface_policy import InterfacePolicy
from pipeline.closed_loop.policy import Policy, checked_actions
from pipeline.closed_loop.protocols.http import HttpPolicy
from pipeline.divergence import Episode
from pipeline.divergence.project_episodes import rollout_episode
from pipeline.export.gym_env.environment import TwinEnv
from pipeline.export.gym_env.pictures import PHOTO
from pipeline.simulation.goals.stages import lasting
from pipeline.simulation.run_record import RunRecord
from pipeline.simulation.state import State


@dataclass(frozen=True)
class PolicyEpisode:
    """How an episode of a policy ended."""

    condition: str
    """Id of the condition: the layout's seed with three digits, or "<seed>-<number>" of a drawn one."""
    success: bool
    share: float
    """Of the goals met at the end, in [0, 1]."""
    seconds: float
    """Simulated time until the success, or of the whole episode."""
    failure: str | None = None
    """One of `pipeline.closed_loop.failure.CLASSES`; None after a success, and where nothing could run."""
    reason: str = ""
    """Why it failed, in words; empty after a success."""
    rmse: float | None = None
    """RMSE_norm overall (mean over time) against the real episode of this condition, if there is one."""
    answers: dict[str, Any] | None = None
    """"count", "late" and mean "milliseconds" of a server's answers; None for a policy of this process."""
    rollout: RunRecord | None = field(default=None, compare=False, repr=False)
    """What the robot did; None if nothing ran."""
    episode: Episode | None = field(default=None, compare=False, repr=False)
    """The same with contacts, as it is compared and kept."""


@contextmanager
def opened(folder: Path, images: bool) -> Iterator[TwinEnv]:
    """Yield the environment of a folder; with `images` it draws the pictures of its cameras."""
    env = TwinEnv(render_mode="rgb_array" if images else None, folder=folder)
    try:
        yield env
    finally:
        env.close()


def run_policy(env: TwinEnv, policy: Policy, layout: int, seconds: float, condition: str = "") -> PolicyEpisode:
    """Let a policy control the robot until the task is solved, for so many simulated seconds at most.

    With the render mode "rgb_array" the policy sees the cameras' pictures, too. Raises PolicyError, UnstableError.
    """
    _, info = env.reset(options={"layout": layout})
    solved = bool(info["success"])
    policy.begin(layout, env.instruction)
    data, count = env.world.data, env.action_count
    began = float(data.time)
    times, qpos, commands = [0.0], [data.qpos.copy()], [data.ctrl.copy()]
    left = np.empty((0, count))
    with _closed_after(policy):
        while times[-1] < seconds and not solved:
            if not len(left):
                left = checked_actions(policy.act(env.observe() | _pictures(env), times[-1]), count)
            solved = env.advance(left[0])
            left = left[1:]
            times.append(float(data.time) - began)
            qpos.append(data.qpos.copy())
            commands.append(data.ctrl.copy())
    xml = (Path(env.folder) / "scene" / f"layout_{layout:03d}.xml").read_text(encoding="utf-8")
    rollout = RunRecord(np.array(times), np.array(qpos), np.array(commands), xml=xml, seed=layout)
    condition = condition or f"{layout:03d}"
    episode = as_episode(rollout, f"policy under condition {condition}", env.folder / "scene")
    state = env.world.measure()
    share = float(env.world.share(state))
    gaps = gaps_between(env.world.model, rollout.qpos)
    failure = None if solved else failure_class(episode, *carried_objects(env, state), gaps)
    reason = "" if solved else f"{share:.0%} of the goals met after {times[-1]:.0f} s"
    answers = policy.times.to_json() if isinstance(policy, InterfacePolicy | HttpPolicy) else None
    return PolicyEpisode(condition, solved, share, times[-1], failure, reason, None, answers, rollout, episode)


@contextmanager
def _closed_after(policy: Policy) -> Iterator[None]:
    """End the connection to a policy's server with the episode, whatever ends it."""
    try:
        yield
    finally:
        if isinstance(policy, InterfacePolicy | HttpPolicy):
            policy.close()


def _pictures(env: TwinEnv) -> dict[str, np.ndarray]:
    """Return the picture of the photograph's camera as "image", and those of others by name; none without rendering."""
    image = env.render()
    others = (name for name in env.camera_names if name != PHOTO)
    return {} if image is None else {"image": image} | {name: env.draw(640, 480, camera=name) for name in others}


def as_episode(rollout: RunRecord, source: str, meshes: Path) -> Episode:
    """Return a rollout as an episode with contacts. Raises EpisodeError."""
    return rollout_episode(rollout.times, rollout.qpos, rollout.actions, rollout.xml, (), source, meshes)


def carried_objects(env: TwinEnv, state: State) -> tuple[set[str], set[str]]:
    """Return the objects that goals have to move: of those that do not hold in a state, and of those that hold."""
    goals = lasting([goals for _, goals in env.world.stages])
    missing = {name for goal in goals if not goal.met(state) for name in goal.carried}
    return missing, {name for goal in goals for name in goal.carried} - missing
