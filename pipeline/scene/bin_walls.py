"""Find the walls of the bin, tote or drawer on whose floor the objects stand.

They are where measured points rise beside the visible floor, along most of at least three of its four sides. A table
before a wall has one or two such sides.
"""

from collections.abc import Iterable

import numpy as np

from pipeline.frame import Observation
from pipeline.geometry import transform
from pipeline.scene.mjcf.builder import least_rectangle
from pipeline.scene.placement import WALL_NAME, Shelf
from pipeline.segmentation import Segment

WALL_THICKNESS_M = 0.015
MIN_SIDES = 3
REACH_M = (0.04, 0.15)
"""Metres inside and outside the floor's side in which its wall is looked for: slanted ones lean outwards."""
HEIGHTS_M = (0.02, 0.6)
"""Metres above the floor of points that are looked at."""
MIN_HEIGHT_M = 0.03
"""Height of a wall; lower ones are rims, cloths and noise."""
CELLS, MIN_CELLS = 12, 0.6
"""Cells along a side, and the share of them that must show a wall."""


def find_walls(observation: Observation, segments: Iterable[Segment]) -> tuple[Shelf, ...]:
    """Return the walls around the floor that the objects stand on, each a solid board; none if it is no bin."""
    frame, support = observation.frame, observation.support
    free = frame.depth > 0
    for segment in segments:
        free &= ~segment.mask
    step = max(1, frame.depth.shape[1] // 320)
    some = np.zeros_like(free)
    some[::step, ::step] = free[::step, ::step]
    world = transform(support.world_from_camera, frame.points[some].astype(float))
    rising = (world[:, 2] > HEIGHTS_M[0]) & (world[:, 2] < HEIGHTS_M[1])
    world, rgb = world[rising], frame.rgb[some][rising]
    floor = least_rectangle(support.polygon)
    local = (world[:, :2] - floor.centre) @ floor.axes.T
    walls = []
    for axis, sign in ((0, -1), (0, 1), (1, -1), (1, 1)):
        out, along = sign * local[:, axis] - floor.half[axis], local[:, 1 - axis] / floor.half[1 - axis]
        near = (out > -REACH_M[0]) & (out < REACH_M[1]) & (np.abs(along) < 1)
        cells = np.clip(((along[near] + 1) / 2 * CELLS).astype(int), 0, CELLS - 1)
        tops = [np.percentile(world[near, 2][cells == i], 95) if (cells == i).sum() > 5 else 0.0 for i in range(CELLS)]
        tall = np.array(tops) > MIN_HEIGHT_M
        if tall.mean() < MIN_CELLS:
            continue
        inner = float(np.percentile(out[near], 20))
        ends = np.array([[inner, -1], [inner + WALL_THICKNESS_M, -1], [inner + WALL_THICKNESS_M, 1], [inner, 1]])
        corners = np.empty((4, 2))
        corners[:, axis] = sign * (floor.half[axis] + ends[:, 0])
        corners[:, 1 - axis] = ends[:, 1] * (floor.half[1 - axis] + max(inner, 0.0) + WALL_THICKNESS_M)
        colour = tuple(int(c) for c in np.median(rgb[near], axis=0))
        height = float(np.median(np.array(tops)[tall]))
        walls.append((floor.centre + corners @ floor.axes, height, colour))
    if len(walls) < MIN_SIDES:
        return ()
    return tuple(
        Shelf(f"{WALL_NAME}{number}", outline, height, colour, solid=True)
        for number, (outline, height, colour) in enumerate(walls, 1)
    )
