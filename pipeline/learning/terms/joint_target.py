"""A part's joint on its way to a target."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm


@dataclass(frozen=True)
class JointTarget(RewardTerm):
    """Rises as a drawer, door, lid or knob comes nearer to a share of its travel: a state reward (Gen2Sim 3.2)."""

    a: str
    part: str
    share: float = 1.0
    term: ClassVar = "joint_target"
    summary: ClassVar = "(a, part, share=1.0): the part of a is open by that share of its travel, 0 shut, 1 open"

    def potential(self, moment: Moment) -> float:
        """Return 1 less the share of the travel that is still to go."""
        return 1 - abs(moment.state[self.a].part(self.part).open - min(max(self.share, 0.0), 1.0))


TERM = JointTarget
