"""Objects in a row, in an order: kit.in_row, kit.sorted_by."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pipeline.simulation.goals.beside import MIN_LEAD
from pipeline.simulation.goals.goal import Goal, Move, Planner, height_off_table, length, several_objects
from pipeline.simulation.goals.spec import ALL, GoalSpec, PlannedGoal, SentenceForm, Tolerance, listed, quoted
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.state import State

TOLERANCE = Tolerance(0.03, widest=0.06)
RAINBOW = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "grey", "white")
"""Colours in rainbow order, then those that are not in the rainbow, dark to light."""

KEYS: dict[str, Callable[[Object], Any]] = {
    "size": lambda o: round(o.volume * 1e6),
    "height": lambda o: round(float(o.size[2]) * 1e3),
    "width": lambda o: round(o.radius * 2e3),
    "mass": lambda o: round(o.mass * 1e3),
    "colour": lambda o: RAINBOW.index(o.colour) if o.colour in RAINBOW else len(RAINBOW),
    "name": lambda o: o.name,
}
"""Values to sort by, rising. Rounded to cubic centimetres, millimetres and grams, so that equal objects tie."""


@dataclass(frozen=True)
class InRow(Goal):
    """Objects stand on one line in a given order."""

    names: tuple[str, ...]
    along: Literal["right", "away"] = "right"
    spacing: float | None = None
    tolerance: float = TOLERANCE.default
    by: str = ""
    """A key of `KEYS` that gives the order; empty where `names` are in order."""
    falling: bool = False
    """The greatest comes first."""

    @property
    def name(self) -> str:
        order = f" by {'falling ' if self.falling else ''}{self.by}" if self.by else ""
        return f"in a row ({self.along}){order}: " + ", ".join(self.names)

    @property
    def objects(self) -> tuple[str, ...]:
        return self.names

    @property
    def parts(self) -> tuple[Goal, ...]:
        if len(self.names) == 2 or self.by:
            return (self,)
        return tuple(InRow(pair, self.along, self.spacing, self.tolerance) for pair in pairwise(self.names))

    @property
    def carried(self) -> tuple[str, ...]:
        return self.names[:-1]

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "InRow":
        """Return the row in the order of its key; objects equal by the key keep their present order."""
        if not self.by:
            return self
        key, axis = KEYS[self.by], right if self.along == "right" else away
        present = sorted(self.names, key=lambda name: float(objects[name].position[:2] @ axis))
        names = _sorted_stably(present, lambda name: key(objects[name]), self.falling)
        return replace(self, names=names, by="", falling=False)

    def share(self, state: State) -> float:
        return Goal.share(self._bound_in(state), state)

    def _bound_in(self, state: State) -> "InRow":
        return self.bound({name: state[name] for name in self.names}, state.right, state.away)

    def miss(self, state: State) -> float:
        """Return the worst of: out of order, off the common line, off the table's top, unevenly spaced."""
        if self.by:
            return self._bound_in(state).miss(state)
        objects = [state[name] for name in self.names]
        axis, across = (state.right, state.away) if self.along == "right" else (state.away, state.right)
        centres = np.array([o.position[:2] for o in objects])
        steps = np.diff(centres @ axis)
        uneven = 0.0 if self.spacing is None else float(np.abs(steps - self.spacing).max()) - self.tolerance
        line = centres @ across
        bent = float(np.abs(line - (line.max() + line.min()) / 2).max()) - self.tolerance
        lifted = max(height_off_table(state, o.name) for o in objects)
        return max(0.0, MIN_LEAD - float(steps.min()), bent, uneven, lifted)

    def next_move(self, planner: Planner, state: State, goals: list[Goal]) -> Move:
        return planner.place_in_row(state, self, goals)

    def agreement(self, planned: PlannedGoal, ordered: bool) -> bool | None:
        """Return False only for the reverse order: another one may exchange objects that are equal."""
        if planned.kind != "in_row" or set(planned.names) != set(self.names) or planned.along != self.along:
            return None
        if self.names == planned.names or not ordered:
            return True
        return False if self.names == planned.names[::-1] else None


def in_row(
    names: Sequence[str],
    along: Literal["right", "away"] = "right",
    spacing: float | None = None,
    tolerance: float = TOLERANCE.default,
    by: str = "",
    falling: bool = False,
) -> Goal:
    """Return the goal that the objects stand on the table in this order (or in that of a key) along that direction.

    Their centres lie within `tolerance` of one line and, where `spacing` is given, so far apart, in metres.
    """
    if along not in ("right", "away"):
        raise KitError(f'in_row: along is {along!r}; it may be "right" or "away"')
    if by and by not in KEYS:
        raise KitError(f"in_row: by is {by!r}; it may be {', '.join(KEYS)}")
    spacing = spacing if spacing is None else length(spacing)
    return InRow(several_objects(names), along, spacing, length(tolerance), by, bool(falling))


def sorted_by(names: Sequence[str], key: str, along: Literal["right", "away"] = "right", falling: bool = False) -> Goal:
    """Return the goal of a row, the least by that key first; objects equal by the key may stand in any order."""
    if key not in KEYS:
        raise KitError(f"sorted_by: the key is {key!r}; it may be {', '.join(KEYS)}")
    return in_row(names, along, by=key, falling=falling)


def _sorted_stably(names: list[str], key: Callable[[str], Any], falling: bool) -> tuple[str, ...]:
    """Sort by the key; equal names keep their order, falling or not."""
    ranks = {value: rank for rank, value in enumerate(sorted({key(name) for name in names}, reverse=falling))}
    return tuple(sorted(names, key=lambda name: ranks[key(name)]))


def _call(goal: PlannedGoal, objects: Mapping[str, Any]) -> str:
    return f'kit.in_row([{quoted(goal.names)}], along="{goal.along}")'


def _checks(goal: PlannedGoal) -> str:
    axis, across = ("right", "away") if goal.along == "right" else ("away", "right")
    side = "left to right" if goal.along == "right" else "near to far"
    return f'''
def check_the_row_is_in_order(sim):
    """From {side}: {listed(goal.names)}."""
    run = sim.rollout()
    names = [{quoted(goal.names)}]
    places = [run.end(name).position[:2] @ sim.scene.{axis} for name in names]
    for index in range(1, len(names)):
        ahead = places[index] - places[index - 1]
        assert ahead > 0, f"{{names[index]}} is {{-ahead * 100:.1f}} cm before {{names[index - 1]}}"
    across = [run.end(name).position[:2] @ sim.scene.{across} for name in names]
    bend = max(across) - min(across)
    assert bend < 0.08, f"the row bends by {{bend * 100:.1f}} cm"
'''


SPECS = (
    GoalSpec(
        kind="in_row",
        goal=InRow,
        function=in_row,
        manual=(
            'kit.in_row(["red_cube", "green_cube", "blue_cube"], along="right", spacing=None, tolerance=0.03)    this '
            "order"
        ),
        order=70,
        forms=(
            SentenceForm("{list} stand in a row from left to right", along="right"),
            SentenceForm("{list} stand in a row from near to far", along="away"),
        ),
        commands=(
            SentenceForm("put {list} in a row from left to right in this order", along="right"),
            SentenceForm("put {list} in a row from near to far in this order", along="away"),
        ),
        carried=ALL,
        tolerance=TOLERANCE,
        call=_call,
        checks=_checks,
        compatible=("left_of", "at"),
    ),
    GoalSpec(
        kind="sorted_by",
        goal=InRow,
        function=sorted_by,
        manual=(
            'kit.sorted_by(["red_cube", "green_cube", "blue_cube"], "size", along="right", falling=False)    a row, '
            "least first:\n"
            '                                           by "size" "height" "width" "mass" "colour" (rainbow) "name"'
        ),
        order=80,
    ),
)
