"""An object upright: kit.upright."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.simulation.goals.goal import BlockedError, Goal, Move, Planner, length
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm, Tolerance
from pipeline.simulation.state import State

TOLERANCE = Tolerance(float(np.radians(15)), widest=0.5, radians=True)


@dataclass(frozen=True)
class Upright(Goal):
    """a stands on its own base."""

    a: str
    tolerance: float = TOLERANCE.default
    sets_place: ClassVar = False
    label: ClassVar = "{a} upright"

    def miss(self, state: State) -> float:
        """Return the way that its top has to swing, in metres."""
        a = state[self.a]
        return max(0.0, (a.tilt - self.tolerance) * float(a.size[2]) / 2)

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move:
        raise BlockedError(f"{self.a} lies on its side, and this gripper turns things about the vertical only")


def upright(a: str, tolerance: float = TOLERANCE.default) -> Goal:
    """Return the goal that a stands on its own base, tilted by at most `tolerance` radians."""
    return Upright(a, length(tolerance))


def _checks(goal: PlannedGoal) -> str:
    (a,) = goal.names
    return f'''
def check_{a}_ends_upright(sim):
    tilt = math.degrees(sim.rollout().end("{a}").tilt)
    assert tilt < 20, f"{a} ends {{tilt:.0f}} degrees from upright"
'''


SPECS = (
    GoalSpec(
        kind="upright",
        goal=Upright,
        function=upright,
        manual='kit.upright("yellow_can", tolerance=0.26)                tilted by at most so many radians',
        order=180,
        forms=(SentenceForm("{} is upright"),),
        commands=(SentenceForm("stand {} upright"),),
        tolerance=TOLERANCE,
        checks=_checks,
    ),
)
