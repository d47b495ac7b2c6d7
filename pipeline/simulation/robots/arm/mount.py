"""Place the arm's base beside the table, within reach of the objects."""

from collections.abc import Sequence

import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.robots.description import Reach
from pipeline.simulation.robots.robot import Mount

MAX_ASIDE_M = 0.25
"""How far beside the middle of a drawer or door the base should stand at most."""
MAX_OFF_TABLE_M, MAX_OFF_TABLE_FOR_PARTS_M = 0.3, 0.55
"""Distance of the base from the table at most, and where there are drawers or doors on it."""
BASE_CLEARANCE_M = 0.17
"""Free distance around the base."""


def place_base(objects: Sequence[Object], table: Region, away: np.ndarray, reach: Reach) -> Mount:
    """Return a mount beside the table that faces it.

    Chooses the place around the table from which the objects and most of the table are in reach, in front of drawers
    and doors, preferably not between camera and table. `away` is the camera's viewing direction on the table, of shape
    (2,).
    """
    xmin, ymin, xmax, ymax = table.bounds
    x, y = np.meshgrid(np.linspace(xmin, xmax, 9), np.linspace(ymin, ymax, 9))
    ground = np.stack([x.ravel(), y.ravel()], -1)
    ground = ground[table.depth(ground) > 0.03]
    positions = np.array([o.position[:2] for o in objects]).reshape(-1, 2)
    parts = [part for o in objects for part in o.parts if part.upright]
    costs = []
    places = _candidate_places(objects, table, MAX_OFF_TABLE_FOR_PARTS_M if parts else MAX_OFF_TABLE_M)
    for place in places:
        side = (place - table.centre) / max(float(np.linalg.norm(place - table.centre)), 1e-9)
        blocks_view = 0.02 * max(0.0, -float(side @ away)) + 0.005 * abs(float(side @ away))
        worst = float(_reach_error(positions, place, reach).max(initial=0.0))
        before_parts = max((_part_error(part, place, reach) for part in parts), default=0.0)
        costs.append(float(_reach_error(ground, place, reach).mean()) + 4 * worst + blocks_view + 2 * before_parts)
    best = places[int(np.argmin(costs))]
    direction = (positions.mean(0) if len(positions) else table.centre) - best
    return Mount(best, float(np.arctan2(direction[1], direction[0])), reach.near, reach.far)


def _candidate_places(objects: Sequence[Object], table: Region, farthest: float) -> np.ndarray:
    reach = float(np.ptp(table.polygon, axis=0).max()) / 2 + farthest + 0.05
    steps = np.arange(-reach, reach, 0.06)
    x, y = np.meshgrid(table.centre[0] + steps, table.centre[1] + steps)
    points = np.stack([x.ravel(), y.ravel()], -1)
    distance = table.distance(points)
    free = (distance > 0.06) & (distance < farthest)
    for item in objects:
        free &= Region(item.outline).distance(points) > BASE_CLEARANCE_M
    return points[free] if free.any() else points[distance > 0.06]


def _reach_error(points: np.ndarray, base: np.ndarray, reach: Reach) -> np.ndarray:
    """Return by how many metres points (N, 2) are too near or too far, of shape (N,)."""
    distance = np.linalg.norm(points - base, axis=1)
    return np.maximum(reach.near - distance, 0) * 2 + np.maximum(distance - reach.far, 0)


def _part_error(part: ArticulatedPart, base: np.ndarray, reach: Reach) -> float:
    """Return by how many metres a base (2,) is too near or too far from a part's front, or too far beside it."""
    shut = part.at(0.0)
    middle = shut.corners.mean(0)
    outwards = shut.heading(middle)[:2]
    front = middle[:2] + float((shut.corners[:, :2] @ outwards).max() - middle[:2] @ outwards) * outwards
    ahead = float((base - front) @ outwards)
    aside = float(np.linalg.norm(base - front - ahead * outwards))
    near, far = reach.parts
    return max(near - ahead, 0.0) + max(ahead - far, 0.0) + max(aside - MAX_ASIDE_M, 0.0)
