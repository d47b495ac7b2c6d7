"""Free places on the table."""

from collections.abc import Iterable

import numpy as np

from pipeline.simulation.objects import Object, Region

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


def dense(outline: np.ndarray, pitch: float = 0.015) -> np.ndarray:
    """An outline with points every pitch metres along its sides, of shape (N, 2)."""
    ends = np.roll(outline, -1, 0)
    parts = [
        a + (b - a) * np.arange(n)[:, None] / n
        for a, b in zip(outline, ends, strict=True)
        for n in [max(1, int(np.ceil(np.linalg.norm(b - a) / pitch)))]
    ]
    return np.concatenate(parts)


def fits(points: np.ndarray, thing: Object, others: Iterable[Object], gap: float) -> np.ndarray:
    """At which points (N, 2) the thing, as it is turned now, stays gap metres away from all others, of shape (N,)."""
    shape = dense(thing.outline) - thing.position[:2]
    own = Region(thing.outline - thing.position[:2])
    free = np.ones(len(points), bool)
    for other in others:
        near = np.flatnonzero(
            free & (np.linalg.norm(points - other.position[:2], axis=1) < thing.reach + other.reach + gap)
        )
        if len(near):
            apart = Region(other.outline).distance(points[near, None] + shape).min(1)
            around = own.distance(dense(other.outline) - points[near, None]).min(1)
            free[near] = np.minimum(apart, around) >= gap
    return free


def standing(points: np.ndarray, thing: Object, table: Region, margin: float = 0.0) -> np.ndarray:
    """At which points (N, 2) the thing's whole outline is on the table, of shape (N,)."""
    shape = thing.outline - thing.position[:2]
    return table.depth(points[:, None] + shape).min(1) >= margin
