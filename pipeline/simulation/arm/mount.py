"""Where the arm stands: beside the table, where it reaches what stands on it."""

from collections.abc import Sequence

import numpy as np

from pipeline.simulation.objects import Object, Region

NEAR, FAR = 0.30, 0.74
"""Distances from the base, in metres, at which the gripper looks straight down with ease."""
AWAY = 0.17
"""Kept free around the base, in metres."""


def mount(objects: Sequence[Object], table: Region, away: np.ndarray) -> tuple[np.ndarray, float]:
    """Place of the base on the ground (2,) and its turn, facing the table.

    Among places around the table the one from which most of it, and first of all the things on it, can be reached;
    of equals the one that does not stand between the camera and the table.
    """
    xmin, ymin, xmax, ymax = table.bounds
    x, y = np.meshgrid(np.linspace(xmin, xmax, 9), np.linspace(ymin, ymax, 9))
    ground = np.stack([x.ravel(), y.ravel()], -1)
    ground = ground[table.depth(ground) > 0.03]
    things = np.array([o.position[:2] for o in objects]).reshape(-1, 2)
    prices = []
    places = _places(objects, table)
    for place in places:
        side = (place - table.centre) / max(float(np.linalg.norm(place - table.centre)), 1e-9)
        before = 0.02 * max(0.0, -float(side @ away)) + 0.005 * abs(float(side @ away))
        far = float(_strain(things, place).max(initial=0.0))
        prices.append(float(_strain(ground, place).mean()) + 4 * far + before)
    best = places[int(np.argmin(prices))]
    to = (things.mean(0) if len(things) else table.centre) - best
    return best, float(np.arctan2(to[1], to[0]))


def _places(objects: Sequence[Object], table: Region) -> np.ndarray:
    reach = float(np.ptp(table.polygon, axis=0).max()) / 2 + 0.35
    steps = np.arange(-reach, reach, 0.06)
    x, y = np.meshgrid(table.centre[0] + steps, table.centre[1] + steps)
    points = np.stack([x.ravel(), y.ravel()], -1)
    off = table.distance(points)
    free = (off > 0.06) & (off < 0.3)
    for thing in objects:
        free &= Region(thing.outline).distance(points) > AWAY
    return points[free] if free.any() else points[off > 0.06]


def _strain(points: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Metres by which points (N, 2) lie too near or too far, of shape (N,)."""
    far = np.linalg.norm(points - base, axis=1)
    return np.maximum(NEAR - far, 0) * 2 + np.maximum(far - FAR, 0)
