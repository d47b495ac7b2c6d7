"""Height of an object above where it was."""

from dataclasses import dataclass
from typing import ClassVar

from pipeline.learning.terms.term import Moment, RewardTerm
from pipeline.simulation.goals.hand import LIFT


@dataclass(frozen=True)
class Lifted(RewardTerm):
    """Rises with the object's height."""

    a: str
    height: float = LIFT
    term: ClassVar = "lifted"
    summary: ClassVar = "(a, height=0.05): a is that many metres higher than at the start"

    def potential(self, moment: Moment) -> float:
        """Return the share of the height by which the lowest point has risen."""
        risen = moment.state[self.a].bottom - moment.start[self.a].bottom
        return float(min(max(risen / max(self.height, 1e-3), 0.0), 1.0))


TERM = Lifted
