"""Where the hand is and what it holds: goals of a learned policy's subtasks, which no program can state.

They are measured on states that hold the hand (`State.hand`): the floating gripper, moved by a policy.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.spec import GoalSpec
from pipeline.simulation.objects import KitError
from pipeline.simulation.state import HandState, State

NEAR, LIFT = 0.02, 0.05
"""Metres above an object or beside a part's grasp point that count as reached; metres that an object is lifted."""


@dataclass(frozen=True)
class HandGoal(Goal):
    """A goal about the hand; the hand may move and hold something when it is met."""

    about_hand: ClassVar[bool] = True

    @property
    def carried(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class HandNear(HandGoal):
    """The hand is over an object, or at the grasp point of its part."""

    a: str
    part: str = ""
    tolerance: float = NEAR

    @property
    def name(self) -> str:
        return f"hand at {self.part} of {self.a}" if self.part else f"hand at {self.a}"

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        return ((self.a, self.part),) if self.part else ()

    def miss(self, state: State) -> float:
        """Return metres beside the object's outline or above its top, or from the part's grasp point."""
        tip = hand_of(state).tip
        if self.part:
            return max(0.0, float(np.linalg.norm(tip - grasp_point(state, self.a, self.part))) - self.tolerance)
        a = state[self.a]
        return max(0.0, a.distance_outside(tip[:2]), abs(float(tip[2] - a.top)) - self.tolerance)


@dataclass(frozen=True)
class Held(HandGoal):
    """The hand holds an object above the table."""

    a: str
    height: float = LIFT
    label: ClassVar = "{a} held"

    def miss(self, state: State) -> float:
        """Return the metres that its lowest point lacks; while it is not held at least a centimetre."""
        low = max(0.0, self.height - state[self.a].bottom)
        return low if hand_of(state).holding == self.a else max(low, 0.01)


def hand_of(state: State) -> HandState:
    """Return the hand of a state. Raises KitError where it has none."""
    if state.hand is None:
        raise KitError("this goal is about the hand, which is measured only while a policy moves the floating gripper")
    return state.hand


def grasp_point(state: State, name: str, part: str) -> np.ndarray:
    """Return the world point (3,) of an affordance, or where the tip takes hold of a moving part.

    Raises KitError where there is none.
    """
    if part in state[name].affordances:
        return state[name].affordance(part)
    points = hand_of(state).grasp_points
    if (name, part) not in points:
        raise KitError(f"the hand gets to no place on {part!r} of {name} from the side")
    return points[name, part]


SPECS = (GoalSpec(kind="hand_near", goal=HandNear), GoalSpec(kind="held", goal=Held))
