"""Whether the hand holds an object or a part."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm
from pipeline.simulation.goals.hand import hand_of


@dataclass(frozen=True)
class HeldByHand(RewardTerm):
    """1 while it is held."""

    a: str
    part: str = ""
    term: ClassVar = "held"
    summary: ClassVar = "(a, part=''): the hand holds a, or its part"

    def potential(self, moment: Moment) -> float:
        """Return 1 if the hand holds it, else 0."""
        return float(hand_of(moment.state).holding == f"{self.a} {self.part}".strip())


TERM = HeldByHand
