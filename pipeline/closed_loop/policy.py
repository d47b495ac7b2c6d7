"""What a policy is, and what its answers have to be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pipeline.errors import StudioError, single_line

MAX_CHUNK = 500
"""Actions that one answer may hold."""
MAX_BYTES = 64_000_000
"""Of a message: ten pictures of 1080 lines."""
MAX_CLIENTS = 8
"""Of a server of ours at a time; each has a world of its own."""
ANSWER_SECONDS = 60.0
"""For one answer of a server."""


class PolicyError(StudioError):
    """A policy that cannot be asked, or whose answer is no action."""


class Policy(Protocol):
    """Answers observations of the exported environment (`pipeline.export.gym_env.environment.TwinEnv`)."""

    def begin(self, layout: int, instruction: str) -> None:
        """Begin an episode on the layout of that seed, with the task's instruction."""
        ...

    def act(self, observation: Mapping[str, np.ndarray], seconds: float) -> Any:
        """Return the next action (A,), or several (K, A) to be carried out one after the other.

        Args:
            observation: "state", "objects" (N, 7), and "image" (480, 640, 3), uint8, RGB, if pictures are asked for.
            seconds: simulated time since the episode began.
        """
        ...


@dataclass
class AnswerTimes:
    """How long a server took to answer in one episode."""

    count: int = 0
    late: int = 0
    """Answers that took longer than one action of the policy lasts; the others came early enough."""
    seconds: float = 0.0
    """Wall-clock, of all answers together."""

    def add(self, seconds: float, action_s: float) -> None:
        """Count an answer, of a policy whose actions last so long."""
        self.count, self.late, self.seconds = self.count + 1, self.late + (seconds > action_s), self.seconds + seconds

    def to_json(self) -> dict[str, Any] | None:
        """Return "count", "late" and the mean in "milliseconds"; None if nothing was asked."""
        if not self.count:
            return None
        mean = round(1000 * self.seconds / self.count, 2)
        return {"count": self.count, "late": self.late, "milliseconds": mean}


def checked_actions(answer: Any, action_count: int) -> np.ndarray:
    """Return an answer as actions (K, A) within [-1, 1]. Raises PolicyError."""
    try:
        actions = np.atleast_2d(np.asarray(answer, float))
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(f"the policy answered no numbers; an action is {action_count} numbers") from None
    if actions.ndim != 2 or actions.shape[1] != action_count or not 1 <= len(actions) <= MAX_CHUNK:
        raise PolicyError(
            f"the policy answered an array of shape {np.shape(answer)}; expected is ({action_count},), or "
            f"(K, {action_count}) with K up to {MAX_CHUNK}"
        )
    if not np.isfinite(actions).all():
        raise PolicyError("the policy answered NaN or infinity")
    return np.clip(actions, -1.0, 1.0)


def last_line(text: str) -> str:
    """Return what a server's traceback ends with, in one line."""
    lines = [line for line in text[-20_000:].splitlines() if line.strip()]
    return single_line(lines[-1])[:300] if lines else "it gives no reason"
