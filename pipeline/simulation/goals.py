"""Goals: frozen predicates on a state, each measured by how many metres it misses.

A goal is met exactly when its `miss` is zero. Distances between objects are between their centres on the ground.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from pipeline.simulation.objects import KitError, Region
from pipeline.simulation.state import State

GAP = 0.01
"""A thing rests on another when they touch or are this close, in metres."""
BESIDE = 0.01
"""How much farther left, right, behind or in front a centre has to lie, in metres."""
FALL_OFF = 0.1
"""`value` falls to 1/e of its start over this miss, in metres."""

Side = Literal["left of", "right of", "in front of", "behind"]


@dataclass(frozen=True)
class Goal:
    """One thing that shall hold at the end."""

    @property
    def name(self) -> str:
        """For a person to read."""
        raise NotImplementedError

    @property
    def objects(self) -> tuple[str, ...]:
        """Names of the objects it is about."""
        raise NotImplementedError

    @property
    def parts(self) -> "tuple[Goal, ...]":
        """The goals it consists of; itself where it is simple."""
        return (self,)

    def miss(self, state: State) -> float:
        """How far from met, in metres; zero when met."""
        raise NotImplementedError

    def met(self, state: State) -> bool:
        return bool(self.miss(state) <= 0)

    def share(self, state: State) -> float:
        """Share of its parts that are met, in [0, 1]."""
        return float(np.mean([part.met(state) for part in self.parts]))

    def value(self, state: State) -> float:
        """In [0, 1]: 1 when met, falling smoothly with the distance still missing."""
        miss = self.miss(state)
        return 1.0 if miss <= 0 else float(0.9 * np.exp(-miss / FALL_OFF))


@dataclass(frozen=True)
class On(Goal):
    a: str
    b: str
    tolerance: float = 0.02

    @property
    def name(self) -> str:
        return f"{self.a} on {self.b}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def miss(self, state: State) -> float:
        """Beside b's outline, above or below its top; a that also stands on the table is as far as b is high."""
        a, b = state[self.a], state[self.b]
        beside = _outside(a.position[:2], b.outline) - self.tolerance
        lifted = 0.0 if state.touches(a.name, b.name) else abs(a.bottom - b.top) - GAP
        grounded = b.height if state.touches(a.name, "table") else 0.0
        upside = float(b.position[2] - a.position[2])
        return max(0.0, beside, lifted, grounded, upside)


@dataclass(frozen=True)
class Inside(Goal):
    a: str
    container: str
    tolerance: float = 0.01

    @property
    def name(self) -> str:
        return f"{self.a} inside {self.container}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.container)

    def miss(self, state: State) -> float:
        """Centre outside the container's outline, or lowest point not below the rim, or standing on the table."""
        a, b = state[self.a], state[self.container]
        beside = _outside(a.position[:2], b.outline) - self.tolerance + 0.01
        above = a.bottom - (b.top - min(0.01, b.height / 4))
        below = b.bottom - 0.01 - a.bottom
        grounded = b.height if state.touches(a.name, "table") else 0.0
        return max(0.0, beside, above, below, grounded)


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

    @property
    def name(self) -> str:
        return f"in a row ({self.along}): " + ", ".join(self.names)

    @property
    def objects(self) -> tuple[str, ...]:
        return self.names

    @property
    def parts(self) -> tuple[Goal, ...]:
        if len(self.names) == 2:
            return (self,)
        return tuple(InRow(pair, self.along, self.spacing, self.tolerance) for pair in pairwise(self.names))

    def miss(self, state: State) -> float:
        """The worst of: out of order, off the common line, off the table's top, unevenly spaced."""
        objects = [state[name] for name in self.names]
        axis, across = (state.right, state.away) if self.along == "right" else (state.away, state.right)
        centres = np.array([o.position[:2] for o in objects])
        steps = np.diff(centres @ axis)
        uneven = 0.0 if self.spacing is None else float(np.abs(steps - self.spacing).max()) - self.tolerance
        line = centres @ across
        bent = float(np.abs(line - (line.max() + line.min()) / 2).max()) - self.tolerance
        lifted = max(_off_table(state, o.name) for o in objects)
        return max(0.0, BESIDE - float(steps.min()), bent, uneven, lifted)


@dataclass(frozen=True)
class InZone(Goal):
    a: str
    zone: str
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.a} in {self.zone}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        """How far the whole footprint reaches outside the zone."""
        if self.zone not in state.zones:
            raise KitError(f"there is no zone {self.zone!r}; there are: {', '.join(state.zones) or 'none'}")
        return max(0.0, float(state.zones[self.zone].outside(state[self.a].outline).max()) - self.tolerance)


@dataclass(frozen=True)
class At(Goal):
    a: str
    xy: tuple[float, float]
    tolerance: float = 0.03

    @property
    def name(self) -> str:
        return f"{self.a} at ({self.xy[0]:.2f}, {self.xy[1]:.2f})"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        return max(0.0, float(np.linalg.norm(state[self.a].position[:2] - self.xy)) - self.tolerance)


@dataclass(frozen=True)
class Near(Goal):
    a: str
    b: str
    distance: float = 0.15

    @property
    def name(self) -> str:
        return f"{self.a} within {self.distance * 100:.0f} cm of {self.b}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def miss(self, state: State) -> float:
        return max(0.0, _between(state, self.a, self.b) - self.distance)


@dataclass(frozen=True)
class Away(Goal):
    a: str
    b: str
    distance: float = 0.25

    @property
    def name(self) -> str:
        return f"{self.a} at least {self.distance * 100:.0f} cm from {self.b}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def miss(self, state: State) -> float:
        return max(0.0, self.distance - _between(state, self.a, self.b))


@dataclass(frozen=True)
class Beside(Goal):
    a: str
    b: str
    side: Side

    @property
    def name(self) -> str:
        return f"{self.a} {self.side} {self.b}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a, self.b)

    def miss(self, state: State) -> float:
        axis = state.right if self.side in ("left of", "right of") else state.away
        ahead = float((state[self.a].position[:2] - state[self.b].position[:2]) @ axis)
        return max(0.0, BESIDE - (ahead if self.side in ("right of", "behind") else -ahead))


@dataclass(frozen=True)
class Upright(Goal):
    a: str
    tolerance: float = float(np.radians(15))

    @property
    def name(self) -> str:
        return f"{self.a} upright"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        """The way its top has to swing, in metres."""
        a = state[self.a]
        return max(0.0, (a.tilt - self.tolerance) * float(a.size[2]) / 2)


@dataclass(frozen=True)
class OnTable(Goal):
    a: str

    @property
    def name(self) -> str:
        return f"{self.a} on the table"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        return max(_off_table(state, self.a), float(-state.table.depth(state[self.a].position[:2])), 0.0)


def on(a: str, b: str, tolerance: float = 0.02) -> Goal:
    """a rests on top of b: they touch, a's centre is above b's top (up to tolerance outside), off the table."""
    return On(a, _other(a, b), _length(tolerance))


def inside(a: str, container: str, tolerance: float = 0.01) -> Goal:
    """a is in the container: its centre within the outline, its lowest point below the rim."""
    return Inside(a, _other(a, container), _length(tolerance))


def stacked(names: Sequence[str], tolerance: float = 0.02) -> Goal:
    """Each stands on the one before; bottom first."""
    return Stacked(_several(names), _length(tolerance))


def in_row(
    names: Sequence[str],
    along: Literal["right", "away"] = "right",
    spacing: float | None = None,
    tolerance: float = 0.03,
) -> Goal:
    """On the table in this order along that direction, centres within tolerance of one line."""
    if along not in ("right", "away"):
        raise KitError(f'in_row: along is {along!r}; it may be "right" or "away"')
    return InRow(_several(names), along, spacing if spacing is None else _length(spacing), _length(tolerance))


def in_zone(a: str, zone: str, tolerance: float = 0.0) -> Goal:
    """a's whole footprint lies in the zone (up to tolerance outside)."""
    return InZone(a, zone, _length(tolerance))


def at(a: str, xy: Sequence[float], tolerance: float = 0.03) -> Goal:
    """a's centre is at xy."""
    x, y = (float(v) for v in xy)
    return At(a, (x, y), _length(tolerance))


def near(a: str, b: str, distance: float = 0.15) -> Goal:
    """The centres of a and b are at most distance apart."""
    return Near(a, _other(a, b), _length(distance))


def away(a: str, b: str, distance: float = 0.25) -> Goal:
    """The centres of a and b are at least distance apart."""
    return Away(a, _other(a, b), _length(distance))


def left_of(a: str, b: str) -> Goal:
    """a is farther left than b, as the camera sees it."""
    return Beside(a, _other(a, b), "left of")


def right_of(a: str, b: str) -> Goal:
    """a is farther right than b, as the camera sees it."""
    return Beside(a, _other(a, b), "right of")


def in_front_of(a: str, b: str) -> Goal:
    """a is nearer to the camera than b."""
    return Beside(a, _other(a, b), "in front of")


def behind(a: str, b: str) -> Goal:
    """a is farther from the camera than b."""
    return Beside(a, _other(a, b), "behind")


def upright(a: str, tolerance: float = float(np.radians(15))) -> Goal:
    """a stands on its own foot, up to a tilt of tolerance radians."""
    return Upright(a, _length(tolerance))


def on_table(a: str) -> Goal:
    """a stands on the table's top, on nothing else."""
    return OnTable(a)


def _outside(xy: np.ndarray, outline: np.ndarray) -> float:
    return max(0.0, float(Region(outline).distance(xy)))


def _off_table(state: State, name: str) -> float:
    return 0.0 if state.touches(name, "table") else max(0.0, abs(state[name].bottom) - GAP)


def _between(state: State, a: str, b: str) -> float:
    return float(np.linalg.norm(state[a].position[:2] - state[b].position[:2]))


def _other(a: str, b: str) -> str:
    if a == b:
        raise KitError(f"a goal needs two different objects, not {a!r} twice")
    return b


def _several(names: Sequence[str]) -> tuple[str, ...]:
    names = (names,) if isinstance(names, str) else tuple(names)
    if len(names) < 2 or len(set(names)) < len(names):
        raise KitError(f"needs at least two different objects, got: {', '.join(map(str, names)) or 'none'}")
    return names


def _length(value: float) -> float:
    if not (isinstance(value, int | float | np.number) and np.isfinite(value) and value >= 0):
        raise KitError(f"a tolerance or distance is a number of metres, zero or more, not {value!r}")
    return float(value)
