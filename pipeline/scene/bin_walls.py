"""Find the walls of the bin, tote or drawer on whose floor the objects stand.

They are where measured points rise beside the visible floor, along most of at least three of its four sides. A table
before a wall has one or two such sides.
"""

from collections.abc import Iterable

import numpy as np

from pipeline.frame import Observation
from pipeline.geometry import transform
from pipeline.scene.mjcf.table_edge import Rectangle, least_rectangle
from pipeline.scene.placement import WALL_NAME, Shelf
from pipeline.segmentation import Segment

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


def find_walls(observation: Observation, segments: Iterable[Segment]) -> tuple[Shelf, ...]:
    """Return the walls around the floor that the objects stand on, each a solid board; none if it is no bin."""
    frame, floor = observation.frame, least_rectangle(observation.support.polygon)
    shown = np.any([segment.mask for segment in segments] or [np.zeros(frame.depth.shape, bool)], axis=0)
    world, local, rgb = _rising(observation, ~shown, floor)
    of_objects, local_objects, _ = _rising(observation, shown, floor)
    walls, beyond = [], np.zeros(len(of_objects), bool)
    for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
        out, along = sign * local[:, axis] - floor.half[axis], local[:, 1 - axis] / floor.half[1 - axis]
        near = (out > -REACH_M[0]) & (out < REACH_M[1]) & (np.abs(along) < 1)
        cells = np.clip(((along[near] + 1) / 2 * CELLS).astype(int), 0, CELLS - 1)
        tops = [np.percentile(world[near, 2][cells == i], 95) if (cells == i).sum() > 5 else 0.0 for i in range(CELLS)]
        tall = np.array(tops) > MIN_HEIGHT_M
        if tall.mean() < MIN_CELLS:
            continue
        wide = (out > -REACH_M[0]) & (out < MAX_LEAN_M) & (np.abs(along) < 1)
        inner, lean, height = _face(out[near], world[near, 2], out[wide], world[wide, 2])
        # what was measured of an object is on this side of the wall
        reached = sign * local_objects[:, axis] - floor.half[axis] - lean * of_objects[:, 2]
        if (inside := (reached > inner) & (reached < inner + MAX_SHIFT_M)).sum() > 20:
            inner = float(np.percentile(reached[inside], 90))
        beyond |= reached > inner + WALL_THICKNESS_M
        ends = np.array([[inner, -1], [inner + WALL_THICKNESS_M, -1], [inner + WALL_THICKNESS_M, 1], [inner, 1]])
        corners = np.empty((4, 2))
        corners[:, axis] = sign * (floor.half[axis] + ends[:, 0])
        corners[:, 1 - axis] = ends[:, 1] * (floor.half[1 - axis] + max(inner, 0.0) + WALL_THICKNESS_M)
        colour = tuple(int(c) for c in np.median(rgb[near], axis=0))
        outwards = sign * floor.axes[axis]
        walls.append((floor.centre + corners @ floor.axes, height, colour, (lean * outwards[0], lean * outwards[1])))
    # Share of the objects' points beyond the walls from which they stand around a part of the floor, not around them
    if len(walls) < MIN_SIDES or (len(beyond) and beyond.mean() > 0.1):
        return ()
    return tuple(
        Shelf(f"{WALL_NAME}{number}", outline, height, colour, solid=True, lean=lean)
        for number, (outline, height, colour, lean) in enumerate(walls, 1)
    )


def _rising(
    observation: Observation, pixels: np.ndarray, floor: Rectangle
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points (N, 3) above the floor that some pixels (H, W) show, x and y along its sides, and colours."""
    frame = observation.frame
    step = max(1, frame.depth.shape[1] // 320)
    some = np.zeros_like(pixels)
    some[::step, ::step] = (pixels & (frame.depth > 0))[::step, ::step]
    world = transform(observation.support.world_from_camera, frame.points[some].astype(float))
    rising = (world[:, 2] > HEIGHTS_M[0]) & (world[:, 2] < HEIGHTS_M[1])
    world = world[rising]
    return world, (world[:, :2] - floor.centre) @ floor.axes.T, frame.rgb[some][rising]


def wall_share(observation: Observation, mask: np.ndarray, walls: Iterable[Shelf]) -> float:
    """Return the share of a mask's measured points (H, W) that lie on the walls, in [0, 1]."""
    known = mask & (observation.frame.depth > 0)
    world = transform(observation.support.world_from_camera, observation.frame.points[known].astype(float))
    on_wall = np.zeros(len(world), bool)
    for wall in walls:
        foot = least_rectangle(wall.outline)
        local = np.abs((world[:, :2] - world[:, 2:] * wall.lean - foot.centre) @ foot.axes.T)
        on_wall |= (local < foot.half + ON_WALL_M).all(axis=1) & (world[:, 2] > HEIGHTS_M[0] / 2)
    return float(on_wall.mean()) if len(world) else 0.0


def _face(out: np.ndarray, z: np.ndarray, all_out: np.ndarray, all_z: np.ndarray) -> tuple[float, float, float]:
    """Return a wall's distance outside the floor's side, its lean, and its height, in metres.

    The face is the line out = distance + lean * z through most points (N,), then through all that lie near it.
    """
    inner, lean = float(np.percentile(out, 20)), 0.0
    # 0.05, 0.02, 0.012: metres from the face within which points are its own, in each round
    for tolerance in (0.05, 0.02, 0.012, 0.012):
        own = np.abs(all_out - inner - lean * all_z) < tolerance
        if own.sum() < 20:
            break
        lean, inner = np.polyfit(all_z[own], all_out[own], 1)
        lean = float(np.clip(lean, 0.0, 1.5))
        inner = float(np.median(all_out[own] - lean * all_z[own]))
    own = np.abs(all_out - inner - lean * all_z) < 0.012
    return inner, lean, float(np.percentile(all_z[own] if own.any() else z, 97))
