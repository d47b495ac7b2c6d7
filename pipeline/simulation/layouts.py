"""Layouts of the objects on the table, drawn from a seed: apart from each other, and where the robot in use reaches."""

from collections.abc import Callable, Sequence

import numpy as np

from pipeline.simulation.objects import Object, Region
from pipeline.simulation.oracle import free_space

Allowed = Callable[[np.ndarray], np.ndarray]
"""Whether points (N, 2) may be the centre of an object, of shape (N,)."""
NARROW_GAPS_M = (0.01, 0.004, 0.0)
"""Gaps between outlines that are tried on a crowded table, where circles around the objects leave no room."""
YAWS_TRIED = 6
"""Yaws drawn for an object on a crowded table."""


def places_at_any_yaw(
    placed: Object, standing: Sequence[Object], table: Region, gap: float, allowed: Allowed
) -> np.ndarray:
    """Return places (N, 2) where the circle around an object stays `gap` metres from all others, or less if needed.

    Empty where even 4 mm leave no room.
    """
    places = np.zeros((0, 2))
    for room in (gap, gap / 2, 0.01, 0.004):
        places = free_space.free_places(table, standing, placed.reach, min(room, gap))
        places = places[allowed(places)]
        if len(places):
            break
    return places


def place_between(
    rng: np.random.Generator, placed: Object, others: Sequence[Object], table: Region, allowed: Allowed
) -> tuple[np.ndarray, float] | None:
    """Draw a place (2,) and a yaw at which an object's outline meets no other's; None where there is none."""
    yaws = [*rng.uniform(-np.pi, np.pi, YAWS_TRIED), placed.yaw]
    grid = free_space.grid(table)
    grid = grid[allowed(grid)]
    for gap in NARROW_GAPS_M:
        for yaw in yaws:
            turned = placed.moved(yaw=float(yaw))
            places = grid[free_space.inside_region(grid, turned, table)]
            places = places[free_space.fits(places, turned, others, gap)]
            if len(places):
                return places[rng.integers(len(places))], float(yaw)
    return None
