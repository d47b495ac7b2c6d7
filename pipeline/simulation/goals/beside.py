"""One object to a side of another, as the camera sees it: kit.left_of, right_of, in_front_of, behind."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pipeline.simulation.goals.goal import Goal, two_objects
from pipeline.simulation.goals.spec import GoalSpec, PlannedGoal, SentenceForm
from pipeline.simulation.state import State

MIN_LEAD = 0.01
"""How much farther to that side a centre has to lie, in metres."""
Side = Literal["left of", "right of", "in front of", "behind"]
OPPOSITE_SIDE: dict[Side, Side] = {
    "left of": "right of",
    "right of": "left of",
    "in front of": "behind",
    "behind": "in front of",
}
SIDES: dict[str, Side] = {
    "left_of": "left of",
    "right_of": "right of",
    "in_front_of": "in front of",
    "behind": "behind",
}
"""The side that each kind asks for."""


@dataclass(frozen=True)
class Beside(Goal):
    """a lies to a side of b."""

    a: str
    b: str
    side: Side
    constrains_place: ClassVar = True
    object_fields: ClassVar = ("a", "b")
    label: ClassVar = "{a} {side} {b}"

    def miss(self, state: State) -> float:
        axis = state.right if self.side in ("left of", "right of") else state.away
        ahead = float((state[self.a].position[:2] - state[self.b].position[:2]) @ axis)
        return max(0.0, MIN_LEAD - (ahead if self.side in ("right of", "behind") else -ahead))

    def opposite(self, sim: Any) -> Goal:
        return replace(self, side=OPPOSITE_SIDE[self.side])

    def canonical(self) -> Goal:
        return Beside(self.b, self.a, OPPOSITE_SIDE[self.side]) if self.side in ("right of", "behind") else self

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        wanted = SIDES.get(planned.kind)
        if wanted is None or set(planned.names) != {self.a, self.b}:
            return None
        side = self.side if self.a == planned.names[0] else OPPOSITE_SIDE[self.side]
        return side == wanted if side in (wanted, OPPOSITE_SIDE[wanted]) else None


def left_of(a: str, b: str) -> Goal:
    """Return the goal that a is farther left than b, as the camera sees it."""
    return Beside(a, two_objects(a, b), "left of")


def right_of(a: str, b: str) -> Goal:
    """Return the goal that a is farther right than b, as the camera sees it."""
    return Beside(a, two_objects(a, b), "right of")


def in_front_of(a: str, b: str) -> Goal:
    """Return the goal that a is nearer to the camera than b."""
    return Beside(a, two_objects(a, b), "in front of")


def behind(a: str, b: str) -> Goal:
    """Return the goal that a is farther from the camera than b."""
    return Beside(a, two_objects(a, b), "behind")


def _checks(goal: PlannedGoal) -> str:
    a, b = goal.names
    axis = "right" if goal.kind in ("left_of", "right_of") else "away"
    ahead = "b - a" if goal.kind in ("left_of", "in_front_of") else "a - b"
    return f'''
def check_{a}_ends_{goal.kind}_{b}(sim):
    """As the camera sees it."""
    run = sim.rollout()
    a, b = run.end("{a}").position[:2], run.end("{b}").position[:2]
    ahead = ({ahead}) @ sim.scene.{axis}
    assert ahead > 0, f"{a} misses by {{-ahead * 100:.1f}} cm being {goal.kind.replace("_", " ")} {b}"
'''


SPECS = tuple(
    GoalSpec(
        kind=function.__name__,
        goal=Beside,
        function=function,
        manual=f'kit.{function.__name__}("red_cube", "blue_cube")'.ljust(57 if note else 0) + note,
        order=order,
        forms=(SentenceForm(f"{{}} is {SIDES[function.__name__]} {{}}"),),
        commands=(SentenceForm(f"put {{}} {words} {{}}"),),
        checks=_checks,
        compatible=("at", "in_zone", "in_row"),
    )
    for order, function, words, note in (
        (140, left_of, "to the left of", "as the camera sees it, by 1 cm or more"),
        (150, right_of, "to the right of", ""),
        (160, in_front_of, "in front of", "nearer to the camera"),
        (170, behind, "behind", ""),
    )
)
