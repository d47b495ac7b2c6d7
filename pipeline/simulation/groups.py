"""Goals about several things at once: stacks, rows, counts."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from pipeline.simulation.goals import BESIDE, FALL_OFF, Goal, On, off_table
from pipeline.simulation.keys import KEYS
from pipeline.simulation.objects import Object
from pipeline.simulation.state import State


@dataclass(frozen=True)
class Stacked(Goal):
    names: tuple[str, ...]
    tolerance: float = 0.02

    @property
    def name(self) -> str:
        return "stacked, bottom first: " + ", ".join(self.names)

    @property
    def objects(self) -> tuple[str, ...]:
        return self.names

    @property
    def parts(self) -> tuple[Goal, ...]:
        return tuple(On(upper, lower, self.tolerance) for lower, upper in pairwise(self.names))

    def miss(self, state: State) -> float:
        return max(part.miss(state) for part in self.parts)


@dataclass(frozen=True)
class InRow(Goal):
    names: tuple[str, ...]
    along: Literal["right", "away"] = "right"
    spacing: float | None = None
    tolerance: float = 0.03
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

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "InRow":
        """What is equal by the key stays in the order it stands in."""
        if not self.by:
            return self
        key, axis = KEYS[self.by], right if self.along == "right" else away
        ahead = sorted(self.names, key=lambda name: float(objects[name].position[:2] @ axis))
        names = _by_key(ahead, lambda name: key(objects[name]), self.falling)
        return replace(self, names=names, by="", falling=False)

    def share(self, state: State) -> float:
        return Goal.share(self._in(state), state)

    def _in(self, state: State) -> "InRow":
        return self.bound({name: state[name] for name in self.names}, state.right, state.away)

    def miss(self, state: State) -> float:
        """The worst of: out of order, off the common line, off the table's top, unevenly spaced."""
        if self.by:
            return self._in(state).miss(state)
        objects = [state[name] for name in self.names]
        axis, across = (state.right, state.away) if self.along == "right" else (state.away, state.right)
        centres = np.array([o.position[:2] for o in objects])
        steps = np.diff(centres @ axis)
        uneven = 0.0 if self.spacing is None else float(np.abs(steps - self.spacing).max()) - self.tolerance
        line = centres @ across
        bent = float(np.abs(line - (line.max() + line.min()) / 2).max()) - self.tolerance
        lifted = max(off_table(state, o.name) for o in objects)
        return max(0.0, BESIDE - float(steps.min()), bent, uneven, lifted)


@dataclass(frozen=True)
class Count(Goal):
    goals: tuple[Goal, ...]
    least: int
    most: int

    @property
    def name(self) -> str:
        many = f"{self.least}" if self.least == self.most else f"{self.least} to {self.most}"
        many = f"at least {self.least}" if self.most >= len(self.goals) > self.least else many
        return f"{many} of: " + "; ".join(goal.name for goal in self.goals)

    @property
    def objects(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for goal in self.goals for name in goal.objects))

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Count":
        return replace(self, goals=tuple(goal.bound(objects, right, away) for goal in self.goals))

    def holding(self, state: State) -> list[Goal]:
        """Those of its goals that are met."""
        return [goal for goal in self.goals if goal.met(state)]

    def chosen(self, state: State, refused: Container[Goal] = ()) -> list[Goal]:
        """As many as have to hold: those that do, then the first of the others that were not given up."""
        holding = self.holding(state)
        others = [goal for goal in self.goals if goal not in holding and goal not in refused]
        return [*holding, *others][: self.least]

    def surplus(self, state: State) -> list[Goal]:
        """Those that hold beyond the most that may."""
        return self.holding(state)[self.most :]

    def miss(self, state: State) -> float:
        """What the last one still missing misses by; what is too many counts as `FALL_OFF` each."""
        far = sorted(goal.miss(state) for goal in self.goals)
        over = len(self.surplus(state))
        return max(0.0, far[self.least - 1] if self.least else 0.0, over * FALL_OFF)

    def share(self, state: State) -> float:
        met = len(self.holding(state))
        return 1.0 if self.met(state) else min(met / max(self.least, 1), self.most / max(met, 1), 0.99)


def _by_key(names: list[str], key: Callable[[str], Any], falling: bool) -> tuple[str, ...]:
    """Sorted; what is equal stays as it is, falling or not."""
    order = {value: place for place, value in enumerate(sorted({key(name) for name in names}, reverse=falling))}
    return tuple(sorted(names, key=lambda name: order[key(name)]))
