"""Distance to a goal."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm, nearness
from pipeline.simulation.goals.goal import Goal


@dataclass(frozen=True)
class GoalDistance(RewardTerm):
    """Rises as a goal of the registry comes nearer to being met."""

    goal: Goal
    term: ClassVar = "goal_distance"
    summary: ClassVar = "(goal): the goal is missed by little; goal is written as among the success conditions"

    @property
    def objects(self) -> tuple[str, ...]:
        return self.goal.objects

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return self.goal.joints

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the metres by which the goal is missed."""
        return nearness(self.goal.miss(moment.state))


TERM = GoalDistance
