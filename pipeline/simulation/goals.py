"""Goals: frozen predicates on a state, each measured by how many metres it misses.

A goal is met exactly when its `miss` is zero. Distances between objects are between their centres on the ground.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from pipeline.simulation.objects import KitError, Object, Region
from pipeline.simulation.state import State, Zone

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

    def bound(self, objects: Mapping[str, Object], right: np.ndarray, away: np.ndarray) -> "Goal":
        """The same with every order that a key gives written out in names."""
        return self

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
        return max(0.0, float(_zone(state, self.zone).outside(state[self.a].outline).max()) - self.tolerance)


@dataclass(frozen=True)
class Outside(Goal):
    a: str
    zone: str
    tolerance: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.a} outside {self.zone}"

    @property
    def objects(self) -> tuple[str, ...]:
        return (self.a,)

    def miss(self, state: State) -> float:
        """How deep the footprint and the zone reach into each other."""
        return max(0.0, _overlap(_zone(state, self.zone).region, Region(state[self.a].outline)) - self.tolerance)


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
        return max(off_table(state, self.a), float(-state.table.depth(state[self.a].position[:2])), 0.0)


def _zone(state: State, name: str) -> Zone:
    if name not in state.zones:
        raise KitError(f"there is no zone {name!r}; there are: {', '.join(state.zones) or 'none'}")
    return state.zones[name]


def _overlap(one: Region, other: Region) -> float:
    """How deep two convex outlines reach into each other, in metres; zero where they are apart.

    The least way that parts them: along the normal of one of their edges (the separating axis theorem).
    """
    sides = np.concatenate([np.roll(r.polygon, -1, 0) - r.polygon for r in (one, other)])
    normals = np.stack([-sides[:, 1], sides[:, 0]], -1) / np.linalg.norm(sides, axis=1, keepdims=True)
    first, second = one.polygon @ normals.T, other.polygon @ normals.T
    ways = np.minimum(first.max(0) - second.min(0), second.max(0) - first.min(0))
    return max(0.0, float(ways.min()))


def _outside(xy: np.ndarray, outline: np.ndarray) -> float:
    return max(0.0, float(Region(outline).distance(xy)))


def off_table(state: State, name: str) -> float:
    """How far it is from standing on the table, in metres."""
    return 0.0 if state.touches(name, "table") else max(0.0, abs(state[name].bottom) - GAP)


def _between(state: State, a: str, b: str) -> float:
    return float(np.linalg.norm(state[a].position[:2] - state[b].position[:2]))
