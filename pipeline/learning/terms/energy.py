"""Effort spent."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm


@dataclass(frozen=True)
class Energy(RewardTerm):
    """Falls with every action, so that small actions are worth more."""

    allowance: float = 50.0
    term: ClassVar = "energy"
    summary: ClassVar = "(allowance=50): little effort was spent, of so many control steps at full speed"

    def potential(self, moment: Moment) -> float:
        """Return the share of the allowance that is left."""
        return max(0.0, 1 - moment.effort / max(self.allowance, 1.0))


TERM = Energy
