"""Distance to a goal."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import GoalTerm, Moment, nearness


@dataclass(frozen=True)
class GoalDistance(GoalTerm):
    """Rises as a goal of the registry comes nearer to being met."""

    term: ClassVar = "goal_distance"
    summary: ClassVar = "(goal): the goal is missed by little; goal is written as among the success conditions"

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the metres by which the goal is missed."""
        return nearness(self.goal.miss(moment.state))


TERM = GoalDistance
