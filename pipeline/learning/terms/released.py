"""Letting go where a goal is met."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import GoalTerm, Moment
from pipeline.simulation.goals.hand import hand_of


@dataclass(frozen=True)
class Released(GoalTerm):
    """1 once the goal is met and nothing is held; letting go anywhere else earns nothing."""

    term: ClassVar = "released"
    summary: ClassVar = "(goal): the goal is met and the hand holds nothing"

    def potential(self, moment: Moment) -> float:
        """Return 1 if both hold, else 0."""
        return float(not hand_of(moment.state).holding and self.goal.met(moment.state))


TERM = Released
