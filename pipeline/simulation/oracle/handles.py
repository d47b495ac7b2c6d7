"""Grasp points on drawers, doors and knobs: on a side, where the part protrudes and the hand can reach it."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.oracle.gripper import CUP_RADIUS
from pipeline.simulation.physics import Physics

RAY_PITCH = 0.01
"""Pitch of the grid of rays, in metres."""
APPROACH = 0.03
"""Metres in front of the part at which the hand comes down."""
MIN_FACING = 0.8
"""Smallest component of a surface's normal towards the hand."""
MIN_HEIGHT = 0.012
"""Metres above the table below which the hand does not reach."""
COLUMN_RADIUS = 0.0075
"""Radius in metres of the free column above a grasp point: the cup, less what it may brush."""
MAX_POINTS = 4
"""Grasp points that are tried."""
ALONG_BONUS = 3.0
"""Metres of protrusion or leverage that pulling along the part's motion is worth."""


@dataclass(frozen=True, eq=False)
class GraspPoint:
    """A point on a part's side."""

    position: np.ndarray
    """World, of shape (3,)."""
    outwards: np.ndarray
    """Level unit vector (3,) from the part towards the hand."""


def grasp_points(physics: Physics, name: str, part: ArticulatedPart) -> tuple[GraspPoint, ...]:
    """Return at most MAX_POINTS grasp points on a part of an object, best first; empty where none is reached."""
    ahead = part.heading(part.corners.mean(0)) * [1, 1, 0]
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 0.3 else np.array([1.0, 0, 0])
    sideways = np.array([-ahead[1], ahead[0], 0])
    scored = [
        (_score(part, point), point)
        for direction in (ahead, -ahead, sideways, -sideways)
        for point in _visible_points(physics, name, part, direction)
    ]
    chosen: list[GraspPoint] = []
    for _, point in sorted(scored, key=lambda entry: -entry[0]):
        distinct = all(np.linalg.norm(point.position - other.position) > 0.02 for other in chosen)
        if distinct and _is_reachable(physics, point):
            chosen.append(point)
        if len(chosen) == MAX_POINTS:
            break
    return tuple(chosen)


def _visible_points(physics: Physics, name: str, part: ArticulatedPart, direction: np.ndarray) -> list[GraspPoint]:
    """Return where level rays against `direction` hit the part first."""
    side = np.array([-direction[1], direction[0], 0])
    low, high = part.corners.min(0)[2], part.corners.max(0)[2]
    across, start = part.corners @ side, float((part.corners @ direction).max()) + 0.15
    geoms = physics.parts[name, part.name].geoms
    groups, geom, normal = np.array([1, 0, 0, 1, 1, 0], np.uint8), np.zeros(1, np.int32), np.zeros(3)
    found = []
    for z in np.arange(max(low, MIN_HEIGHT) + RAY_PITCH / 3, high, RAY_PITCH * 2 / 3):
        for along in np.arange(across.min() + RAY_PITCH / 2, across.max(), RAY_PITCH):
            origin = start * direction + along * side + [0, 0, z]
            distance = mujoco.mj_ray(physics.model, physics.data, origin, -direction, groups, 1, -1, geom, normal)
            if distance >= 0 and geom[0] in geoms and normal @ direction > MIN_FACING:
                found.append(GraspPoint(origin - distance * direction, direction))
    return found


def _score(part: ArticulatedPart, point: GraspPoint) -> float:
    """Return metres of protrusion and of leverage, plus a bonus where pulling there moves the part."""
    out = float((point.position - part.corners.mean(0)) @ point.outwards)
    along = abs(float(part.heading(point.position) @ point.outwards))
    if part.kind == "slide":
        off = point.position - part.corners.mean(0)
        return ALONG_BONUS * along + out - 0.1 * float(np.linalg.norm(off - (off @ point.outwards) * point.outwards))
    arm = point.position - part.anchor
    lever = float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))
    return ALONG_BONUS * along + out + lever


def _is_reachable(physics: Physics, point: GraspPoint) -> bool:
    """Return whether nothing stands where the hand comes down and approaches the part."""
    angle = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    disc = np.concatenate([np.zeros((1, 2)), COLUMN_RADIUS * np.stack([np.cos(angle), np.sin(angle)], -1)])
    steps = np.linspace(CUP_RADIUS, CUP_RADIUS + APPROACH, 5)
    places = point.position[:2] + steps[:, None] * point.outwards[:2]
    heights, _, _ = physics.surface((places[:, None] + disc).reshape(-1, 2))
    return bool(np.nan_to_num(heights, nan=0.0).max() < point.position[2] - 0.008)
