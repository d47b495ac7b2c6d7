"""The hand behind an object, on the side from which it is pushed to its place."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.learning.terms.approach import place_of
from pipeline.learning.terms.term import Moment, RewardTerm, nearness
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import hand_of

GAP_M, LOW_M = 0.02, 0.02
"""Metres between the hand and the object's box, and highest point above its bottom at which it is pushed."""


@dataclass(frozen=True)
class Behind(RewardTerm):
    """Rises as the hand comes to where it would push the object to its place."""

    goal: Goal
    term: ClassVar = "behind"
    summary: ClassVar = (
        "(goal): the hand is low behind the goal's first object, opposite to its place, from where it can push it"
    )

    @property
    def objects(self) -> tuple[str, ...]:
        return self.goal.objects

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the hand to that point; at the place itself, every side is behind."""
        a = moment.state[self.goal.objects[0]]
        way = place_of(self.goal, moment.state) - a.position[:2]
        tip = hand_of(moment.state).tip
        distance = float(np.linalg.norm(way))
        unit = way / distance if distance > GAP_M else a.position[:2] - tip[:2]
        unit = unit / max(float(np.linalg.norm(unit)), 1e-6)
        reach = float(np.linalg.norm(a.size[:2])) / 2 + GAP_M
        point = np.array([*(a.position[:2] - reach * unit), a.bottom + min(LOW_M, a.height / 2)])
        return nearness(float(np.linalg.norm(tip - point)))


TERM = Behind
