"""Where two fingers can take hold of a thing from above: antipodal places found in its heights.

The gripper looks down and closes along a line on the ground. On a map of heights the thing between the fingers is a
run of points higher than the tips; it must be narrow enough, its flanks must face the fingers, and there must be room
for the fingers on both sides and for the palm above.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.simulation.arm import fingers
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics

TURNS = 12
"""Directions tried over half a turn."""
CLEAR = 0.006
"""Kept between an open finger and the thing, in metres."""
ABOVE = 0.004
"""Kept between the tips and what is below them, in metres."""
GRIP = 0.030
"""How far below the top the tips go at most for a thin wall, and at least for anything that is as high, in metres."""
WIDEST = fingers.WIDEST - 0.0025
"""What goes between the open fingers without brushing them, in metres."""
SLANT = np.tan(np.radians(24))
"""Steepest flank against the finger that friction holds."""


@dataclass(frozen=True, eq=False)
class Grasp:
    """One way to take hold from above."""

    point: np.ndarray
    """Midway between the fingers at the height of their tips, world, of shape (3,)."""
    turn: float
    """Direction in which the fingers close, about world z, in radians; half a turn more is the same grasp."""
    width: float
    """Of what is between the fingers, in metres."""
    opening: float
    """How wide to open before, in metres."""
    price: float
    """The lower the better; metres from the middle, and what else speaks against it."""


@dataclass(frozen=True, eq=False)
class Grasps:
    """All ways found, best first."""

    found: tuple[Grasp, ...]
    barred_by: str
    """Name of the object whose removal would help, empty for none."""
    narrowest: float
    """The least width that was met, in metres."""


@dataclass(frozen=True, eq=False)
class _Map:
    """Heights around a thing, seen from above."""

    points: np.ndarray
    heights: np.ndarray
    own: np.ndarray
    labels: np.ndarray
    pitch: float


def grasps(physics: Physics, thing: Object, most: int = 24) -> Grasps:
    """Ways to take hold of a thing as it now lies, best first, no two alike."""
    view = _look(physics, thing)
    found: list[Grasp] = []
    bars: list[str] = []
    widths: list[float] = [np.inf]
    for turn in _turns(thing):
        for one in _along(view, thing, turn):
            if isinstance(one, Grasp):
                found.append(one)
            elif isinstance(one, float):
                widths.append(one)
            else:
                bars.append(physics.name(one))
    bars = [name for name in bars if name in physics.addresses]
    return Grasps(_unlike(sorted(found, key=lambda g: g.price), most), max(set(bars), key=bars.count) if bars else "",
                  min([*widths, *(g.width for g in found)]))  # fmt: skip


def _look(physics: Physics, thing: Object) -> _Map:
    low, high = thing.outline.min(0) - 0.05, thing.outline.max(0) + 0.05
    pitch = float(np.clip((high - low).max() / 56, 0.003, 0.007))
    x, y = np.meshgrid(np.arange(low[0], high[0], pitch), np.arange(low[1], high[1], pitch))
    points = np.stack([x.ravel(), y.ravel()], -1)
    points = points[Region(thing.outline).distance(points) < 0.05]
    heights, labels, _ = physics.surface(points)
    return _Map(points, np.nan_to_num(heights, nan=-1.0), labels == physics.index(thing.name), labels, pitch)


def _turns(thing: Object) -> np.ndarray:
    """Along the thing's own sides first."""
    sides = thing.yaw + np.array([0.0, np.pi / 2])
    return np.concatenate([sides, thing.yaw + np.pi * (np.arange(TURNS) + 0.5) / TURNS])


def _along(view: _Map, thing: Object, turn: float) -> Iterator[Grasp | float | int]:
    """Grasps that close in one direction; widths that are too wide; labels of what bars a grasp."""
    c, s = np.cos(turn), np.sin(turn)
    local = (view.points - thing.position[:2]) @ np.array([[c, -s], [s, c]])
    extent = local[view.own, 1] if view.own.any() else np.zeros(1)
    reach = float(extent.max() - extent.min()) / 2 - 0.004
    middle = float(extent.max() + extent.min()) / 2
    for across in middle + np.unique(np.clip(np.linspace(-1, 1, 9) * 0.8, -1, 1)) * max(reach, 0.0):
        strip = np.abs(local[:, 1] - across) <= max(fingers.PAD, 1.2 * view.pitch)
        if not (strip & view.own).any():
            continue
        top = float(view.heights[strip & view.own].max())
        for depth in (0.042, GRIP, 0.018):
            tips = max(thing.bottom + ABOVE, top - depth)
            yield from _at(view, thing, local, strip, across, turn, tips, top)
            if tips > top - depth:
                break


def _at(view: _Map, thing: Object, local: np.ndarray, strip: np.ndarray, across: float, turn: float, tips: float,
        top: float) -> Iterator[Grasp | float | int]:  # fmt: skip
    high = strip & view.own & (view.heights > tips + 0.003)
    if not high.any() or top - tips < 0.008:
        return
    for low, up in _runs(local[high, 0], view.pitch):
        width = up - low
        if width > WIDEST:
            yield float(width)
            continue
        between = high & (local[:, 0] > low - 1e-6) & (local[:, 0] < up + 1e-6)
        slant = max(_slant(local[between], view.pitch, side) for side in (1, -1))
        if slant > SLANT:
            continue
        bars = [_barred(view, local, across, low, -1, tips), _barred(view, local, across, up, 1, tips)]
        opening = min(width + 2 * CLEAR, fingers.WIDEST)
        palm = (np.abs(local[:, 1] - across) < 0.04) & (np.abs(local[:, 0] - (low + up) / 2) < 0.045)
        under = tips + fingers.tip(opening) + fingers.PALM - 0.004
        roof = view.labels[palm & (view.heights > under)]
        blocked = [*(b for b in bars if b is not None), *roof[:1]]
        if blocked:
            if others := [int(b) for b in blocked if b >= 0 and b != _own(view)]:
                yield others[0]
            continue
        where = np.array([(low + up) / 2, across])
        c, s = np.cos(turn), np.sin(turn)
        point = thing.position[:2] + np.array([[c, -s], [s, c]]) @ where
        hold = min(top - tips, 0.037)
        price = float(np.linalg.norm(where)) + 0.05 * slant + 0.6 * (0.037 - hold) + 0.1 * max(0, width - 0.07)
        yield Grasp(np.array([*point, tips]), turn, width, opening, price)


def _own(view: _Map) -> int:
    own = view.labels[view.own]
    return int(own[0]) if len(own) else -2


def _runs(values: np.ndarray, pitch: float) -> Iterator[tuple[float, float]]:
    """First and last of each run of values without a gap, half a pitch wider on both sides."""
    values = np.sort(values)
    cuts = np.flatnonzero(np.diff(values) > 2.2 * pitch)
    for part in np.split(values, cuts + 1):
        yield float(part[0] - pitch / 2), float(part[-1] + pitch / 2)


def _slant(points: np.ndarray, pitch: float, side: int) -> float:
    """How steeply a flank runs away from square to the closing direction: metres sideways per metre across."""
    rows = np.round(points[:, 1] / (1.5 * pitch))
    edge = np.array([(points[rows == r, 1].mean(), (side * points[rows == r, 0]).max()) for r in np.unique(rows)])
    return abs(float(np.polyfit(edge[:, 0], edge[:, 1], 1)[0])) if len(edge) > 2 else 0.0


def _barred(view: _Map, local: np.ndarray, across: float, edge: float, side: int, tips: float) -> int | None:
    """What stands where a finger must go: its label, None for nothing."""
    out = side * (local[:, 0] - edge)
    near = np.abs(local[:, 1] - across) < fingers.PAD + 0.003
    tip = near & (out > 0.001) & (out < CLEAR + 0.009) & (view.heights > tips - 0.002)
    back = near & (out > 0.001) & (out < CLEAR + fingers.FINGER) & (view.heights > tips + 0.008)
    hit = np.flatnonzero(tip | back)
    return int(view.labels[hit[0]]) if len(hit) else None


def _unlike(found: list[Grasp], most: int) -> tuple[Grasp, ...]:
    """Leaves out what differs from a better one by less than 1 cm and 15 degrees."""
    kept: list[Grasp] = []
    for one in found:
        if len(kept) == most:
            break
        if not any(np.linalg.norm(one.point - k.point) < 0.01 and abs(np.sin(one.turn - k.turn)) < 0.26 for k in kept):
            kept.append(one)
    return tuple(kept)
