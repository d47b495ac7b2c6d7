"""Free places on the table and in regions of it, and places drawn from a seed."""

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, Protocol, TypeVar

import numpy as np

from pipeline.simulation.objects import Object, Region, hull

_Candidate = TypeVar("_Candidate")
Packing = dict[str, tuple[np.ndarray, float | None]]
"""By name: the place, of shape (2,), and the yaw; None keeps the present yaw."""
MEASURED_M = 0.01
"""Sizes and places are measured to about 1 cm."""
GRID_PITCH = 0.015
"""Pitch of the grid of candidate places, in metres."""
Allowed = Callable[[np.ndarray], np.ndarray]
"""Whether points (N, 2) may be the centre of an object, of shape (N,)."""


class Obstacle(Protocol):
    """An object, or a shelf above the table."""

    @property
    def outline(self) -> np.ndarray:
        """Convex outline seen from above, of shape (N, 2), anticlockwise."""
        ...


def grid(region: Region, step: float = GRID_PITCH) -> np.ndarray:
    """Return the points of a square grid inside the region, of shape (N, 2)."""
    xmin, ymin, xmax, ymax = region.bounds
    x, y = np.meshgrid(np.arange(xmin, xmax, step) + step / 2, np.arange(ymin, ymax, step) + step / 2)
    points = np.stack([x.ravel(), y.ravel()], -1)
    return points[region.depth(points) > 0]


def clearance(points: np.ndarray, objects: Iterable[Obstacle]) -> np.ndarray:
    """Return the distance of points (N, 2) to the nearest object's outline, negative inside one, of shape (N,)."""
    distance = np.full(len(points), np.inf)
    for obstacle in objects:
        distance = np.minimum(distance, Region(obstacle.outline).distance(points))
    return distance


def free_places(table: Region, objects: Iterable[Obstacle], radius: float, gap: float = 0.0) -> np.ndarray:
    """Return grid points where a disc of that radius fits on the table, gap metres from everything, (N, 2)."""
    points = grid(table)
    points = points[table.depth(points) >= radius]
    return points[clearance(points, objects) >= radius + gap]


def spread_out(
    candidates: Iterable[_Candidate], point: Callable[[_Candidate], np.ndarray], apart: float, most: int
) -> list[_Candidate]:
    """Return the first candidates, at most so many, whose points are more than `apart` metres from each other."""
    chosen: list[_Candidate] = []
    for one in candidates:
        if all(np.linalg.norm(point(one) - point(other)) > apart for other in chosen):
            chosen.append(one)
        if len(chosen) == most:
            break
    return chosen


def farthest_free_place(sim: Any, name: str) -> tuple[float, float]:
    """Return the free place on the table that is farthest from where an object of a kit.Simulation stands."""
    moved = sim[name]
    for gap in (0.03, 0.01, 0.0):
        places = free_places(sim.scene.table, (*sim.objects, *sim.scene.shelves), moved.reach, gap)
        if len(places):
            x, y = places[np.linalg.norm(places - moved.position[:2], axis=1).argmax()]
            return float(x), float(y)
    return float(moved.position[0]), float(moved.position[1])


def fits(points: np.ndarray, placed: Object, others: Iterable[Object], gap: float) -> np.ndarray:
    """Return at which points (N, 2) an object, with its present yaw, stays gap metres from all others, of shape (N,).

    A centre collides exactly where it lies in the Minkowski difference of the two outlines.
    """
    shape = placed.outline - placed.position[:2]
    free = np.ones(len(points), bool)
    for other in others:
        blocked = Region(hull((other.outline[:, None] - shape).reshape(-1, 2)))
        far = np.linalg.norm(points - other.position[:2], axis=1) >= placed.reach + other.reach + gap
        near = np.flatnonzero(free & ~far)
        free[near] = blocked.distance(points[near]) >= gap
    return free


def is_free(
    placed: Object, xy: np.ndarray, others: Iterable[Object], table: Region, gap: float, allowed: Allowed
) -> bool:
    """Whether an object with its present yaw stands at xy (2,) on the table, gap metres from all others."""
    point = xy[None]
    inside = allowed(point)[0] and inside_region(point, placed, table)[0]
    return bool(inside and fits(point, placed, others, gap)[0])


def overlapping(objects: Iterable[Object]) -> list[tuple[Object, Object]]:
    """Return the pairs of objects that reach into each other by more than sizes and places are measured to.

    What lies in a container does not count.
    """

    def reach_in(a: Object, b: Object) -> bool:
        nested = any(box.container and Region(box.outline).contains(one.position[:2]) for box, one in ((a, b), (b, a)))
        beside = min(a.top, b.top) - max(a.bottom, b.bottom) <= MEASURED_M
        return not (nested or beside) and not fits(a.position[None, :2], a, [b], -MEASURED_M)[0]

    return [(a, b) for a, b in combinations(objects, 2) if reach_in(a, b)]


def circle_around(
    middle: Object, objects: Sequence[Object], radius: float | None = None
) -> tuple[dict[str, np.ndarray], float]:
    """Return places (2,) by name on a circle around an object, and the radius in metres below which there is no room.

    Each has a share of the circle by its size. They follow each other as they stand now, turned as little as can be.
    """
    centre = middle.position[:2]
    bearings = {one.name: float(np.arctan2(*(one.position[:2] - centre)[::-1])) for one in objects}
    order = sorted(objects, key=lambda one: bearings[one.name])
    widths = np.array([2 * one.reach + MEASURED_M for one in order])
    between = (widths + np.roll(widths, -1)) / 2
    chords = between / (2 * np.sin(np.minimum(np.pi * between / widths.sum(), np.pi / 2)))
    least = max([middle.reach + widths.max() / 2, *(chords if len(order) > 1 else ())])
    turns = (np.cumsum(widths) - widths / 2) / widths.sum() * 2 * np.pi
    first = np.angle(np.exp(1j * (np.array([bearings[one.name] for one in order]) - turns)).sum())
    directions = np.stack([np.cos(first + turns), np.sin(first + turns)], -1)
    places = centre + (least if radius is None else radius) * directions
    return {one.name: place for one, place in zip(order, places, strict=True)}, float(least)


def inside_region(points: np.ndarray, placed: Object, region: Region, margin: float = 0.0) -> np.ndarray:
    """Return at which points (N, 2) an object's whole outline lies in the region, of shape (N,)."""
    return region.depth(points, placed.outline - placed.position[:2]) >= margin


def pack(region: Region, objects: Sequence[Object], others: Sequence[Object], yaw: float, gap: float) -> Packing | None:
    """Return places and yaws for all objects in a region, the largest first, towards one corner; None if none fit.

    `yaw` is the direction of the region's sides, `others` are the obstacles, `gap` is kept free around each object.
    """
    middle, spread = region.centre, float(np.ptp(region.polygon, axis=0).max())
    points = np.concatenate([middle[None], grid(region, max(0.008, spread / 40))])
    largest_first = sorted(objects, key=lambda o: -o.reach)
    for angle in yaw + np.radians([225, 315, 45, 135]):
        corner = middle + spread * np.array([np.cos(angle), np.sin(angle)])
        order = points[np.argsort(np.linalg.norm(points - corner, axis=1), kind="stable")]
        for yaws in ((None, yaw, yaw + np.pi / 2), (yaw, yaw + np.pi / 2)):
            if packing := _pack(order, region, largest_first, list(others), yaws, gap):
                return packing
    return None


def _pack(
    points: np.ndarray,
    region: Region,
    objects: list[Object],
    others: list[Object],
    yaws: Sequence[float | None],
    gap: float,
) -> Packing | None:
    packing: Packing = {}
    for packed in objects:
        for yaw in yaws:
            turned = packed.moved(yaw=yaw)
            good = points[inside_region(points, turned, region, 0.002)]
            good = good[fits(good, turned, others, gap)] if len(good) else good
            if len(good):
                packing[packed.name] = good[0], yaw
                others = [*others, turned.moved(good[0])]
                break
        else:
            return None
    return packing


def places_at_any_yaw(
    placed: Object, standing: Sequence[Object], table: Region, gap: float, allowed: Allowed
) -> np.ndarray:
    """Return places (N, 2) where the circle around an object stays `gap` metres from all others, or less if needed.

    Empty where even 4 mm leave no room.
    """
    places = np.zeros((0, 2))
    for room in (gap, gap / 2, 0.01, 0.004):
        places = free_places(table, standing, placed.reach, min(room, gap))
        places = places[allowed(places)]
        if len(places):
            break
    return places


def place_between(
    rng: np.random.Generator, placed: Object, others: Sequence[Object], table: Region, allowed: Allowed
) -> tuple[np.ndarray, float] | None:
    """Draw a place (2,) and a yaw at which an object's outline meets no other's; None where there is none."""
    # Yaws drawn for an object on a crowded table
    yaws = [*rng.uniform(-np.pi, np.pi, 6), placed.yaw]
    points = grid(table)
    points = points[allowed(points)]
    # Gaps between outlines that are tried on a crowded table, where circles around the objects leave no room
    for gap in (0.01, 0.004, 0.0):
        for yaw in yaws:
            turned = placed.moved(yaw=float(yaw))
            places = points[inside_region(points, turned, table)]
            places = places[fits(places, turned, others, gap)]
            if len(places):
                return places[rng.integers(len(places))], float(yaw)
    return None
