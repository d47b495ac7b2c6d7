"""An object that stays upright."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm


@dataclass(frozen=True)
class UprightObject(RewardTerm):
    """Falls as an object tilts away from how it stood at the start."""

    a: str
    term: ClassVar = "upright"
    summary: ClassVar = "(a): a is not tilted from how it stood at the start"

    def potential(self, moment: Moment) -> float:
        """Return 1 for the vertical of the start, 0 for upside down."""
        now, before = moment.state[self.a].rotation[2], moment.start[self.a].rotation[2]
        return float((1 + min(max(now @ before, -1.0), 1.0)) / 2)


TERM = UprightObject
