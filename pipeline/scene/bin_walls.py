"""Find the walls of the bin, tote or drawer on whose floor the objects stand.

They are where measured points rise beside the visible floor, along most of at least three of its four sides. A table
before a wall has one or two such sides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pipeline.frame import Observation
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.geometry import transform
from pipeline.scene.mjcf.table_edge import Rectangle, least_rectangle
from pipeline.scene.placement import WALL_NAME, Wall
from pipeline.segmentation import Segment
from pipeline.store import digest

WALL_THICKNESS_M = 0.015
MIN_SIDES = 3
REACH_M = (0.04, 0.15)
"""Metres inside and outside the floor's side in which its wall is looked for: slanted ones lean outwards."""
MAX_SHIFT_M = 0.05
"""Metres by which an object's points may move a wall outwards."""
ON_WALL_M = 0.012
"""Metres from a wall within which a point lies on it."""
MAX_LEAN_M = 0.4
"""Metres outside the floor's side that a leaning wall reaches."""
HEIGHTS_M = (0.02, 0.6)
"""Metres above the floor of points that are looked at."""
MIN_HEIGHT_M = 0.03
"""Height of a wall; lower ones are rims, cloths and noise."""
CELLS, MIN_CELLS = 12, 0.6
"""Cells along a side, and the share of them that must show a wall."""
MAX_BEYOND = 0.1
"""Share of the objects' points beyond the walls: above it, they stand around a part of the floor, not around them."""


class _Side(NamedTuple):
    """Points above the floor, as one of its four sides sees them."""

    out: np.ndarray
    """Metres outside the side, of shape (N,)."""
    along: np.ndarray
    """From -1 to 1 between the ends of the side, of shape (N,)."""
    height: np.ndarray
    """Metres above the floor, of shape (N,)."""


def find_walls(observation: Observation, segments: Sequence[Segment]) -> tuple[Wall, ...]:
    """Return the walls around the floor that the objects stand on; none if it is no bin. The frame keeps them."""
    support = observation.support
    masks = [(segment.mask_digest, segment.kind) for segment in segments]
    key = digest("walls", support.world_from_camera, support.polygon, masks)
    return keep_with_frame(observation.frame, key, lambda: _find_walls(observation, segments))


def _find_walls(observation: Observation, segments: Sequence[Segment]) -> tuple[Wall, ...]:
    floor = least_rectangle(observation.support.polygon)
    free, of_objects = np.ones(observation.frame.depth.shape, bool), np.zeros(observation.frame.depth.shape, bool)
    for segment in segments:
        if segment.kind != "wall or furniture":
            free &= ~segment.mask
        if segment.kind == "object":
            of_objects |= segment.mask
    points, rgb = _points_above(observation, free)
    objects, _ = _points_above(observation, of_objects)
    walls, beyond = [], np.zeros(len(objects), bool)
    for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
        background, contents = (_side(cloud, floor, axis, sign) for cloud in (points, objects))
        if not _rises(background):
            continue
        inner, lean, height = _face(background)
        # what was measured of an object is on this side of the wall
        reached = contents.out - lean * contents.height
        if (into := (reached > inner) & (reached < inner + MAX_SHIFT_M)).sum() > 20:
            inner = float(np.percentile(reached[into], 90))
        beyond |= (reached > inner + WALL_THICKNESS_M) & (contents.height < height)
        walls.append(_wall(floor, axis, sign, inner, lean, height, rgb[_is_near(background)]))
    if len(walls) < MIN_SIDES or (len(beyond) and beyond.mean() > MAX_BEYOND):
        return ()
    return tuple(replace(wall, name=f"{WALL_NAME}{number}") for number, wall in enumerate(walls, 1))


def on_walls_share(observation: Observation, mask: np.ndarray, walls: Iterable[Wall]) -> float:
    """Return the share of a mask's measured points (H, W) that lie on the walls, in [0, 1]."""
    known = mask & (observation.frame.depth > 0)
    world = transform(observation.support.world_from_camera, observation.frame.points[known].astype(float))
    on_wall = np.zeros(len(world), bool)
    for wall in walls:
        foot = least_rectangle(wall.outline)
        local = np.abs((world[:, :2] - world[:, 2:] * wall.lean - foot.centre) @ foot.axes.T)
        on_wall |= (local < foot.half + ON_WALL_M).all(axis=1) & (world[:, 2] > HEIGHTS_M[0] / 2)
    return float(on_wall.mean()) if len(world) else 0.0


def _points_above(observation: Observation, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (N, 3) above the floor that the pixels of a mask (H, W) show, and their colours (N, 3)."""
    frame = observation.frame
    step = max(1, frame.depth.shape[1] // 320)
    every = np.zeros_like(mask)
    every[::step, ::step] = (mask & (frame.depth > 0))[::step, ::step]
    world = transform(observation.support.world_from_camera, frame.points[every].astype(float))
    above = (world[:, 2] > HEIGHTS_M[0]) & (world[:, 2] < HEIGHTS_M[1])
    return world[above], frame.rgb[every][above]


def _side(points: np.ndarray, floor: Rectangle, axis: int, sign: int) -> _Side:
    local = (points[:, :2] - floor.centre) @ floor.axes.T
    return _Side(sign * local[:, axis] - floor.half[axis], local[:, 1 - axis] / floor.half[1 - axis], points[:, 2])


def _is_near(side: _Side, most: float = REACH_M[1]) -> np.ndarray:
    """Return which points lie beside a side, at most so many metres outside, of shape (N,)."""
    return (side.out > -REACH_M[0]) & (side.out < most) & (np.abs(side.along) < 1)


def _rises(side: _Side) -> bool:
    """Whether most of a side has a wall beside it."""
    near = _is_near(side)
    cells = np.clip(((side.along[near] + 1) / 2 * CELLS).astype(int), 0, CELLS - 1)
    heights = [side.height[near][cells == i] for i in range(CELLS)]
    # Fewest points of a cell that show something
    return float(np.mean([len(one) > 5 and np.percentile(one, 95) > MIN_HEIGHT_M for one in heights])) >= MIN_CELLS


def _face(side: _Side) -> tuple[float, float, float]:
    """Return a wall's distance outside the floor's side, its lean, and its height, in metres.

    The face is the line out = distance + lean * height through most points, then through all that lie near it.
    """
    wide = _is_near(side, MAX_LEAN_M)
    out, height = side.out[wide], side.height[wide]
    distance, lean = float(np.percentile(side.out[_is_near(side)], 20)), 0.0
    # 0.05, 0.02: metres from the face within which points are its own, in the first rounds
    for tolerance in (0.05, 0.02, ON_WALL_M, ON_WALL_M):
        own = np.abs(out - distance - lean * height) < tolerance
        if own.sum() < 20:
            break
        # 1.5: lean of 56 degrees from upright, beyond which it is no wall
        lean = float(np.clip(np.polyfit(height[own], out[own], 1)[0], 0.0, 1.5))
        distance = float(np.median(out[own] - lean * height[own]))
    own = np.abs(out - distance - lean * height) < ON_WALL_M
    return distance, lean, float(np.percentile(height[own] if own.any() else height, 97))


def _wall(floor: Rectangle, axis: int, sign: int, inner: float, lean: float, height: float, rgb: np.ndarray) -> Wall:
    """Return the wall that stands `inner` metres outside a side of the floor, of the median of its colours (N, 3)."""
    outer = inner + WALL_THICKNESS_M
    ends = np.array([[inner, -1], [outer, -1], [outer, 1], [inner, 1]])
    corners = np.empty((4, 2))
    corners[:, axis] = sign * (floor.half[axis] + ends[:, 0])
    corners[:, 1 - axis] = ends[:, 1] * (floor.half[1 - axis] + max(inner, 0.0) + WALL_THICKNESS_M)
    red, green, blue = (int(c) for c in np.median(rgb, axis=0))
    x, y = lean * sign * floor.axes[axis]
    return Wall("", floor.centre + corners @ floor.axes, height, (red, green, blue), (float(x), float(y)))
