"""Free places on the table."""

from collections.abc import Iterable, Sequence

import numpy as np

from pipeline.simulation.objects import Object, Region, hull

Packing = dict[str, tuple[np.ndarray, float | None]]
"""By name: place, of shape (2,), and turn; None keeps the present turn."""
STEP = 0.015
"""Pitch of the grid that places are looked for on, in metres."""


def grid(region: Region, step: float = STEP) -> np.ndarray:
    """Points of a square grid inside the region, of shape (N, 2)."""
    xmin, ymin, xmax, ymax = region.bounds
    x, y = np.meshgrid(np.arange(xmin, xmax, step) + step / 2, np.arange(ymin, ymax, step) + step / 2)
    points = np.stack([x.ravel(), y.ravel()], -1)
    return points[region.depth(points) > 0]


def clearance(points: np.ndarray, objects: Iterable[Object]) -> np.ndarray:
    """Distance of points (N, 2) to the nearest object's outline, negative inside one, of shape (N,)."""
    room = np.full(len(points), np.inf)
    for thing in objects:
        room = np.minimum(room, Region(thing.outline).distance(points))
    return room


def free(table: Region, objects: Iterable[Object], radius: float, gap: float = 0.0) -> np.ndarray:
    """Grid points where a disc of that radius fits on the table, gap metres from everything, of shape (N, 2)."""
    points = grid(table)
    points = points[table.depth(points) >= radius]
    return points[clearance(points, objects) >= radius + gap]


def fits(points: np.ndarray, thing: Object, others: Iterable[Object], gap: float) -> np.ndarray:
    """At which points (N, 2) the thing, as it is turned now, stays gap metres away from all others, of shape (N,).

    A centre collides exactly where it lies in the Minkowski difference of the two outlines.
    """
    shape = thing.outline - thing.position[:2]
    free = np.ones(len(points), bool)
    for other in others:
        blocked = Region(hull((other.outline[:, None] - shape).reshape(-1, 2)))
        far = np.linalg.norm(points - other.position[:2], axis=1) >= thing.reach + other.reach + gap
        near = np.flatnonzero(free & ~far)
        free[near] = blocked.distance(points[near]) >= gap
    return free


def standing(points: np.ndarray, thing: Object, region: Region, margin: float = 0.0) -> np.ndarray:
    """At which points (N, 2) the thing's whole outline lies in the region, of shape (N,)."""
    return region.depth(points, thing.outline - thing.position[:2]) >= margin


def pack(region: Region, things: Sequence[Object], others: Sequence[Object], turn: float, gap: float) -> Packing | None:
    """Places and turns for all things in a region, the largest first, towards one corner; None if they do not fit."""
    middle, spread = region.centre, float(np.ptp(region.polygon, axis=0).max())
    points = np.concatenate([middle[None], grid(region, max(0.008, spread / 40))])
    for angle in turn + np.radians([225, 315, 45, 135]):
        corner = middle + spread * np.array([np.cos(angle), np.sin(angle)])
        order = points[np.argsort(np.linalg.norm(points - corner, axis=1), kind="stable")]
        for turns in ((None, turn, turn + np.pi / 2), (turn, turn + np.pi / 2)):
            if found := _pack(order, region, sorted(things, key=lambda o: -o.reach), list(others), turns, gap):
                return found
    return None


def _pack(
    points: np.ndarray,
    region: Region,
    things: list[Object],
    others: list[Object],
    turns: Sequence[float | None],
    gap: float,
) -> Packing | None:
    found: Packing = {}
    for thing in things:
        for yaw in turns:
            turned = thing.moved(yaw=yaw)
            good = points[standing(points, turned, region, 0.002)]
            good = good[fits(good, turned, others, gap)] if len(good) else good
            if len(good):
                found[thing.name] = good[0], yaw
                others = [*others, turned.moved(good[0])]
                break
        else:
            return None
    return found
