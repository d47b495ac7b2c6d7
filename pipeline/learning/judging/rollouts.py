"""Recorded episodes of a policy: played again in the viewer, at every checkpoint and after an evaluation.

learning/world.xml is the model they were simulated in; learning/<k>_<name>/rollouts/<steps>.npz holds a few validation
episodes of each evaluation, evaluation.npz all those on unseen layouts.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from pipeline.divergence.episode import interpolated
from pipeline.errors import reason_of
from pipeline.learning.episodes import SubtaskEpisode
from pipeline.learning.judging.failures import STEP_S, Failure, failure_of
from pipeline.learning.subtask import LearningError, Subtask
from pipeline.store import parse_json, read_arrays, write_arrays

SHOWN_EPISODES = 4
"""Episodes that are kept of each evaluation during training, failed ones first."""


@dataclass(frozen=True, eq=False)
class RecordedEpisode:
    """One recorded episode."""

    layout: int
    success: bool
    reward: float
    qpos: np.ndarray
    """Every 0.1 s, of shape (T, nq)."""
    potentials: np.ndarray
    """Weighted potential of each term, of shape (T, terms)."""
    misses: np.ndarray
    """Metres by which each goal of the success is missed, of shape (T, goals)."""
    failure: Failure | None = None

    @property
    def times(self) -> np.ndarray:
        """Simulated seconds, of shape (T,)."""
        return np.arange(len(self.qpos)) * STEP_S


def rollout_of(subtask: Subtask, episode: SubtaskEpisode) -> RecordedEpisode:
    """Return what is recorded of an episode."""
    failure = failure_of(subtask, episode)
    return RecordedEpisode(
        episode.layout, episode.success, episode.reward, episode.qpos, episode.potentials, episode.misses, failure
    )


def shown_episodes(rollouts: Sequence[RecordedEpisode]) -> list[RecordedEpisode]:
    """Return at most SHOWN_EPISODES of them: failed and successful ones by turns, so that both are seen."""
    failed = [one for one in rollouts if not one.success]
    solved = [one for one in rollouts if one.success]
    first = failed[: max(SHOWN_EPISODES // 2, SHOWN_EPISODES - len(solved))]
    return [*first, *solved[: SHOWN_EPISODES - len(first)]]


def write_rollouts(path: Path, rollouts: Sequence[RecordedEpisode]) -> None:
    """Write an .npz of rollouts, which may be none. Raises StoreError."""
    about = [
        {"layout": one.layout, "success": one.success, "reward": one.reward, "length": len(one.qpos),
         "failure": asdict(one.failure) if one.failure else None}
        for one in rollouts
    ]  # fmt: skip

    arrays = {
        name: np.concatenate([getattr(one, name) for one in rollouts] or [np.zeros((0, 0))]).astype(np.float32)
        for name in ("qpos", "potentials", "misses")
    }
    write_arrays(path, {"about": json.dumps(about), **arrays})


def read_rollouts(path: Path) -> tuple[RecordedEpisode, ...]:
    """Inverse of `write_rollouts`; none where there is no file. Raises LearningError in one line."""
    found, first = [], 0
    try:
        file = read_arrays(path)
        arrays = [file[name].astype(float) for name in ("qpos", "potentials", "misses")]
        for one in parse_json(str(file["about"])):
            end = first + int(one["length"])
            failure = Failure(**one["failure"]) if one["failure"] else None
            qpos, potentials, misses = (array[first:end] for array in arrays)
            about = int(one["layout"]), bool(one["success"]), float(one["reward"])
            found.append(RecordedEpisode(*about, qpos, potentials, misses, failure))
            first = end
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise LearningError(
            f"{path.parent.name}/{path.name} is damaged ({reason_of(error)}); evaluate the policy again"
        ) from None
    return tuple(found)


def smooth(times: np.ndarray, qpos: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return times (S,) and poses (S, nq) in between, linear in each coordinate: MuJoCo normalises quaternions."""
    # Poses that are shown for each recorded one
    between = np.linspace(times[0], times[-1], (len(times) - 1) * 4 + 1) if len(times) > 1 else times
    return between, interpolated(between, times, qpos)
