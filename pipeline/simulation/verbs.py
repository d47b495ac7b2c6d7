"""The kit's goals as verbs: each looks at what it was given and makes the goal."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from pipeline.simulation.goals import At, Away, Beside, Goal, Inside, InZone, Near, On, OnTable, Outside, Upright
from pipeline.simulation.groups import Count, InRow, Stacked
from pipeline.simulation.keys import KEYS
from pipeline.simulation.objects import KitError
from pipeline.simulation.part_goals import OPEN, SHUT, Closed, InsidePart, Opened


def on(a: str, b: str, tolerance: float = 0.02) -> Goal:
    """a rests on top of b: they touch, a's centre is above b's top (up to tolerance outside), off the table."""
    return On(a, _other(a, b), _length(tolerance))


def inside(a: str, container: str, tolerance: float = 0.01) -> Goal:
    """a is in the container: its centre within the outline, its lowest point below the rim."""
    return Inside(a, _other(a, container), _length(tolerance))


def inside_part(a: str, b: str, part: str, tolerance: float = 0.01) -> Goal:
    """a is in that drawer of b: its centre over the drawer, its lowest point between bottom and rim."""
    return InsidePart(a, _other(a, b), str(part), _length(tolerance))


def opened(a: str, part: str, least: float = OPEN) -> Goal:
    """That drawer, door or lid of a is open by at least this share of its way; a knob is turned so far."""
    if not 0.3 <= least <= 1:
        raise KitError(f"opened: least is {least!r}; a share of 0.3 to 1 is open")
    return Opened(a, str(part), float(least))


def closed(a: str, part: str, most: float = SHUT) -> Goal:
    """That drawer, door or lid of a is open by at most this share of its way."""
    if not 0 <= most <= 0.2:
        raise KitError(f"closed: most is {most!r}; a share of 0 to 0.2 is shut")
    return Closed(a, str(part), float(most))


def stacked(names: Sequence[str], tolerance: float = 0.02) -> Goal:
    """Each stands on the one before; bottom first."""
    return Stacked(_several(names), _length(tolerance))


def in_row(
    names: Sequence[str],
    along: Literal["right", "away"] = "right",
    spacing: float | None = None,
    tolerance: float = 0.03,
    by: str = "",
    falling: bool = False,
) -> Goal:
    """On the table in this order (or in that of a key) along that direction, centres within tolerance of one line."""
    if along not in ("right", "away"):
        raise KitError(f'in_row: along is {along!r}; it may be "right" or "away"')
    if by and by not in KEYS:
        raise KitError(f"in_row: by is {by!r}; it may be {', '.join(KEYS)}")
    spacing = spacing if spacing is None else _length(spacing)
    return InRow(_several(names), along, spacing, _length(tolerance), by, bool(falling))


def sorted_by(names: Sequence[str], key: str, along: Literal["right", "away"] = "right", falling: bool = False) -> Goal:
    """In a row, the least by that key first; what is equal may stand either way round."""
    if key not in KEYS:
        raise KitError(f"sorted_by: the key is {key!r}; it may be {', '.join(KEYS)}")
    return in_row(names, along, by=key, falling=falling)


def in_zone(a: str, zone: str, tolerance: float = 0.0) -> Goal:
    """a's whole footprint lies in the zone (up to tolerance outside)."""
    return InZone(a, zone, _length(tolerance))


def outside(a: str, zone: str, tolerance: float = 0.0) -> Goal:
    """No part of a's footprint lies in the zone (up to tolerance inside)."""
    return Outside(a, zone, _length(tolerance))


def count(
    goals: Sequence[Goal], exactly: int | None = None, at_least: int | None = None, at_most: int | None = None
) -> Goal:
    """So many of these goals hold, whichever; the oracle begins with those named first."""
    goals = tuple(goals)
    if not goals or not all(isinstance(goal, Goal) for goal in goals):
        raise KitError("count takes a list of goals such as [kit.inside('a', 'bowl'), kit.inside('b', 'bowl')]")
    if exactly is None and at_least is None and at_most is None:
        raise KitError("count needs exactly=, at_least= or at_most=")
    least = exactly if exactly is not None else at_least or 0
    most = exactly if exactly is not None else len(goals) if at_most is None else at_most
    if not 0 <= least <= most or least > len(goals):
        raise KitError(f"count: {least} to {most} of {len(goals)} goals cannot be; ask for 0 to {len(goals)}")
    return Count(goals, int(least), int(most))


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
