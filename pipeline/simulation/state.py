"""States that goals measure: all objects, contacts and zones at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pipeline.simulation.objects import KitError, Object, Region, find_object


@dataclass(frozen=True, eq=False)
class Zone:
    """A flat coloured area on the table; a rectangle along scene.right and scene.away, or a disc."""

    name: str
    xy: np.ndarray
    """World position of the centre, of shape (2,)."""
    size: tuple[float, float]
    """Extents along right and away in metres; the diameter twice for a disc."""
    right: np.ndarray
    """Unit vector, of shape (2,)."""
    disc: bool = False

    @property
    def region(self) -> Region:
        """Its outline; an inscribed polygon for a disc."""
        angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
        square = np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        local = (np.stack([np.cos(angle), np.sin(angle)], -1) if self.disc else square) * np.array(self.size) / 2
        return Region(self.xy + local @ np.stack([self.right, [-self.right[1], self.right[0]]]))

    def outside(self, points: np.ndarray) -> np.ndarray:
        """Return how far points (..., 2) lie outside, in metres, negative inside, of shape (...)."""
        local = np.asarray(points, float) - self.xy
        if self.disc:
            return np.linalg.norm(local, axis=-1) - self.size[0] / 2
        axes = np.stack([self.right, [-self.right[1], self.right[0]]])
        return (np.abs(local @ axes.T) - np.array(self.size) / 2).max(-1)


def find_zone(zones: Mapping[str, Zone], name: str) -> Zone:
    """Return the zone with that name. Raises KitError that lists the zones there are."""
    if name not in zones:
        raise KitError(f"there is no zone {name!r}; there are: {', '.join(zones) or 'none'}")
    return zones[name]


@dataclass(frozen=True, eq=False)
class HandState:
    """The floating gripper at one instant, where a policy moves it."""

    tip: np.ndarray
    """World position of the cup's tip, of shape (3,), in metres."""
    holding: str = ""
    """Name of the object that it holds, or "object part" for a moving part; empty for none."""
    grasp_points: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict)
    """World points (3,) where the tip takes hold of moving parts, by the names of object and part."""


@dataclass(frozen=True, eq=False)
class State:
    """All objects, contacts and zones at one instant."""

    objects: Mapping[str, Object]
    touching: frozenset[frozenset[str]]
    """Pairs of names in contact; the table is called "table"."""
    zones: Mapping[str, Zone]
    table: Region
    right: np.ndarray
    away: np.ndarray
    time: float = 0.0
    """Simulated seconds."""
    hand: HandState | None = None
    """The hand; None where the oracle acts."""

    @cached_property
    def misses(self) -> dict[Any, float]:
        """How far each goal that was measured on this state is from being met, in metres."""
        return {}

    def __getitem__(self, name: str) -> Object:
        return find_object(self.objects.values(), name)

    def touches(self, a: str, b: str) -> bool:
        """Return whether two objects, or an object and "table", are in contact."""
        return frozenset((a, b)) in self.touching

    def zone(self, name: str) -> Zone:
        """Return a zone. Raises KitError that lists the zones there are."""
        return find_zone(self.zones, name)

    def put(self, name: str, xy: Any) -> "State":
        """Return the state with one object standing on the table at xy."""
        objects = {**self.objects, name: self.objects[name].moved(xy, z=0.0)}
        touching = {pair for pair in self.touching if name not in pair} | {frozenset((name, "table"))}
        return replace(self, objects=objects, touching=frozenset(touching))
