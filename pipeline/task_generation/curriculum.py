"""The curriculum: which candidate is tried next, by what was measured of those before."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.task_generation.candidates import TaskCandidate
from pipeline.task_generation.demands import LEVELS
from pipeline.task_generation.similarity import TaskProfile, similarity

WINDOW = 4
"""Tasks of a level whose mean success decides about the next level."""
EASY, HARD = 0.75, 0.4
"""Mean success from which the next level is tried, and below which the one before."""
WORTH = 0.2, 0.8
"""Success of a learner, after a small budget, of a task that is worth having."""


@dataclass(frozen=True)
class TriedOutcome:
    """What was measured of one tried task."""

    kind: str
    level: int
    kept: bool
    success: float
    """Of the learner where it was measured, else of the oracle."""


def next_level(outcomes: Sequence[TriedOutcome]) -> int:
    """Return the level to go on at: 1 at first, one more where the last tasks were easy, one less where they failed."""
    level = 1
    recent: list[float] = []
    for outcome in outcomes:
        if outcome.level != level:
            continue
        recent.append(outcome.success)
        mean = sum(recent[-WINDOW:]) / WINDOW
        if len(recent) >= WINDOW and (mean > EASY or mean < HARD):
            level = min(level + 1, LEVELS[-1]) if mean > EASY else max(level - 1, LEVELS[0])
            recent = []
    return level


def choose(
    candidates: Sequence[TaskCandidate], outcomes: Sequence[TriedOutcome], known: Sequence[TaskProfile]
) -> TaskCandidate:
    """Return the candidate whose kind gave kept tasks most often, and that is least like what is kept and solved.

    The share of kept ones is smoothed (Laplace), so that kinds that were not tried yet come early.

    Args:
        candidates: at least one.
        known: the profiles of kept and solved tasks.
    """
    tried, kept = Counter(o.kind for o in outcomes), Counter(o.kind for o in outcomes if o.kept)

    def promise(candidate: TaskCandidate) -> float:
        kind = candidate.task.kind
        novelty = 1 - max((similarity(candidate.profile, one) for one in known), default=0.0)
        return novelty + (kept[kind] + 1) / (tried[kind] + 2)

    return max(candidates, key=promise)  # the first of equals, which is the proposer's own order


def measured_so_far(outcomes: Sequence[TriedOutcome]) -> str:
    """Return what was learned, in words for a language model that proposes the next tasks; empty before the first."""
    lines = []
    for kind in dict.fromkeys(one.kind for one in outcomes):
        own = [one for one in outcomes if one.kind == kind]
        success = sum(one.success for one in own) / len(own)
        kept = sum(one.kept for one in own)
        lines.append(f"{kind}: {len(own)} tried, {kept} kept, mean success {success:.0%}")
    if not lines:
        return ""
    level = next_level(outcomes)
    wish = {1: "one object each, with room", 2: "two or three objects, or a narrow fit", 3: "many objects or steps"}
    return "\n".join([*lines, f"Wanted next: level {level} ({wish[level]}), kinds that succeed between 20 % and 80 %."])
