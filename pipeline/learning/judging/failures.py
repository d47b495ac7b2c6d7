"""The first moment at which a failed episode went wrong: something fell, was dropped, or nothing improved any more."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pipeline.learning.episodes import SubtaskEpisode
from pipeline.learning.subtask import Subtask

STEP_S = 0.1
"""Simulated seconds of a control step."""
IMPROVED_M, IMPROVED = 0.005, 0.02
"""Metres of a goal, and share of the reward's weights, that count as progress."""

FailureKind = Literal["fell", "dropped", "lost_goal", "stuck", "late"]


@dataclass(frozen=True)
class Failure:
    """Where a failed episode went wrong."""

    time: float
    """Simulated seconds from its start."""
    kind: FailureKind
    text: str
    """One sentence."""


def failure_of(subtask: Subtask, episode: SubtaskEpisode) -> Failure | None:
    """Return the first moment at which an episode went wrong; None for one that succeeded."""
    if episode.success:
        return None
    end = episode.steps * STEP_S
    if episode.lost:
        return Failure(end, "fell", "An object left the table.")
    if (dropped := _dropped(episode)) is not None:
        name = episode.holding[dropped - 1]
        return Failure(dropped * STEP_S, "dropped", f"{name} was let go before the goal was met.")
    met = np.asarray((episode.misses <= 0).all(axis=1))
    if met.any():
        last = int(np.flatnonzero(met)[-1])
        if last == episode.steps:
            return Failure(end, "late", "The goal was met, but the hand did not let go and come to rest in time.")
        return Failure((last + 1) * STEP_S, "lost_goal", "The goal was met and then lost again.")
    stopped = last_progress(subtask, episode)
    if stopped >= episode.steps - 3:
        return Failure(end, "late", "It was still improving when its time was over.")
    return Failure(stopped * STEP_S, "stuck", f"Nothing improved after {stopped * STEP_S:.1f} s.")


def last_progress(subtask: Subtask, episode: SubtaskEpisode) -> int:
    """Return the control step after which neither a goal nor the weighted terms improved on their best so far."""
    weight = sum(one.weight for one in subtask.reward)
    last = 0
    for values, least in (
        (-episode.misses.sum(axis=1), IMPROVED_M),
        (episode.potentials.sum(axis=1), IMPROVED * weight),
    ):
        best = values[0]
        for step, value in enumerate(values):
            if value > best + least:
                best, last = value, max(last, step)
    return last


def _dropped(episode: SubtaskEpisode) -> int | None:
    """Return the step at which what was held was let go for the last time with a goal still missed."""
    if (episode.misses[-1] <= 0).all():
        return None
    for step in range(len(episode.holding) - 1, 0, -1):
        if episode.holding[step - 1] and not episode.holding[step]:
            return step
    return None
