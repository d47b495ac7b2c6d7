"""Distance of the hand to an object or to the grasp point of its part."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.learning.terms.term import Moment, RewardTerm, nearness
from pipeline.simulation.goals.hand import grasp_point, hand_of


@dataclass(frozen=True)
class HandDistance(RewardTerm):
    """Rises as the hand comes near."""

    a: str
    part: str = ""
    term: ClassVar = "hand_distance"
    summary: ClassVar = "(a, part=''): the hand is near the top of a, or near the grasp point of its part"

    def potential(self, moment: Moment) -> float:
        """Return the nearness of the tip to the middle of the object's top, or to the part's grasp point."""
        state = moment.state
        if self.part:
            target = grasp_point(state, self.a, self.part)
        else:
            target = np.array([*state[self.a].position[:2], state[self.a].top])
        return nearness(float(np.linalg.norm(hand_of(state).tip - target)))


TERM = HandDistance
