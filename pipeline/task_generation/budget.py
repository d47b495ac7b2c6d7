"""What a learner may spend on one task to measure its worth."""

from dataclasses import dataclass

DEMONSTRATIONS, MAX_DEMONSTRATIONS = 12, 96
"""Where none are asked for: with as many, tasks of one object lie between 0 and 100 % (docs/results)."""

NOT_ASKED = "not asked for"
"""Reason shown for a task whose worth nobody asked to measure."""


@dataclass(frozen=True)
class LearnerBudget:
    """A few demonstrations, and a limit of time."""

    demonstrations: int = DEMONSTRATIONS
    """Layouts on which the oracle shows the task."""
    seed: int = 0
    seconds: float = 90.0
    """Most processor time of one task."""
