"""Episodes of a policy from given starts: their success, return and end states."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pipeline.learning.start_states import StartState
from pipeline.simulation.goals.hand import hand_of

if TYPE_CHECKING:  # its package gymnasium comes with the extra "learn"; the Learn page reads episodes without it
    from pipeline.learning.environment import SubtaskEnv


class Acts(Protocol):
    """Anything that chooses actions."""

    def act(self, observation: np.ndarray, explore: bool = False) -> np.ndarray:
        """Return the action (A,) in [-1, 1] for an observation."""
        ...


@dataclass(frozen=True, eq=False)
class SubtaskEpisode:
    """One finished episode."""

    layout: int
    success: bool
    reward: float
    """Undiscounted return."""
    steps: int
    terms: np.ndarray
    """Weighted potential of each term at the end, of shape (T,)."""
    end: StartState
    """The state at its end."""
    actions: np.ndarray
    """Of shape (steps, A)."""
    qpos: np.ndarray
    """Before the first step and after each, of shape (steps + 1, nq)."""
    potentials: np.ndarray
    """Weighted potential of each term at the same instants, of shape (steps + 1, T)."""
    misses: np.ndarray
    """Metres by which each goal of the success is missed, of shape (steps + 1, G)."""
    shifts: np.ndarray
    """Metres of each object of the world from its place at the start, of shape (steps + 1, O)."""
    holding: tuple[str, ...]
    """What the hand holds, as in `HandState`, at the same instants."""
    lost: bool = False
    """Whether it ended because an object left the table, or the physics became unstable."""


def play(
    env: "SubtaskEnv", policy: Acts, starts: Sequence[StartState], explore: bool = False
) -> Iterator[SubtaskEpisode]:
    """Yield an episode from each start, in order."""
    kept, env.starts = env.starts, tuple(starts)
    try:
        for index in range(len(starts)):
            observation, _ = env.reset(options={"start": index})
            yield finish(env, policy, observation, explore)
    finally:
        env.starts = kept


def play_across(
    envs: Mapping[int, "SubtaskEnv"], policy: Acts, starts: Sequence[StartState], explore: bool = False
) -> Iterator[SubtaskEpisode]:
    """Yield an episode from each start in the environment of its variant, one variant after the other."""
    for variant, env in envs.items():
        for episode in play(env, policy, [one for one in starts if one.variant == variant], explore):
            yield replace(episode, end=replace(episode.end, variant=variant))


def finish(env: "SubtaskEnv", policy: Acts, observation: np.ndarray, explore: bool = False) -> SubtaskEpisode:
    """Return the episode that has just begun with an observation, played to its end."""
    total, actions, done, ended, info = 0.0, [], False, False, {}
    seen = [_instant(env)]
    while not done:
        actions.append(policy.act(observation, explore))
        observation, reward, ended, cut_off, info = env.step(actions[-1])
        seen.append(_instant(env))
        total += reward
        done = ended or cut_off
    qpos, potentials, misses, shifts = (np.array([one[index] for one in seen]) for index in range(4))
    return SubtaskEpisode(
        info["layout"], info["success"], total, len(actions), info["terms"], env.world.snapshot(), np.array(actions),
        qpos, potentials, misses, shifts, tuple(one[4] for one in seen), ended and not info["success"],
    )  # fmt: skip


def _instant(env: "SubtaskEnv") -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str]:
    """Return qpos, potentials, misses, shifts and what is held."""
    moment = env.moment
    assert moment is not None
    shifts = np.array(list(moment.shifts.values()))
    held = hand_of(moment.state).holding
    return env.world.data.qpos.copy(), env.world.potentials(moment), moment.misses, shifts, held


def success_rate(episodes: Sequence[SubtaskEpisode]) -> float:
    """Return the share of episodes that succeeded, 0 for none."""
    return sum(one.success for one in episodes) / max(len(episodes), 1)
