"""Contact with other objects, by what it does: they move."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm, nearness


@dataclass(frozen=True)
class OthersStill(RewardTerm):
    """Falls when objects other than `a` are pushed from where they stood."""

    a: str
    others: tuple[str, ...]
    term: ClassVar = "others_still"
    summary: ClassVar = "(a, others): the objects in the list others were not pushed while a is handled"

    @property
    def bystanders(self) -> tuple[str, ...]:
        return self.others

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the others to their places, the farthest displacement counting."""
        return nearness(max((moment.shifts[name] for name in self.others), default=0.0))


TERM = OthersStill
