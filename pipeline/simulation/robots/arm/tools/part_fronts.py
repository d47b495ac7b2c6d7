"""A drawer or door as the arm sees it along level directions, and poses of the hand before it."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.tools.grasp import gripper_at

PITCH_M = 0.005
"""Pitch of the grid of level rays."""
SPREAD_M = 0.03
"""Distance between grasps that are tried."""


@dataclass(frozen=True, eq=False)
class PartFront:
    """A part as seen along a level direction, on a grid of (rows, columns) points."""

    outwards: np.ndarray
    """Level unit vector (3,) from the part towards the hand."""
    side: np.ndarray
    """Level unit vector (3,) along the columns."""
    points: np.ndarray
    """World points that the rays meet, of shape (rows, columns, 3); NaN where they meet something else."""

    normal: np.ndarray
    """Median of the surface's normals, of shape (3,); zero if no ray meets the part."""

    @property
    def depth(self) -> np.ndarray:
        """Position along `outwards` in metres, of shape (rows, columns)."""
        return self.points @ self.outwards


def part_fronts(physics: Physics, name: str, part: ArticulatedPart) -> Iterator[PartFront]:
    """Yield the part as seen from where it moves to and from the opposite side, a sliding one from both sides, too."""
    ahead = part.heading(part.corners.mean(0)) * [1, 1, 0]
    length = float(np.linalg.norm(ahead))
    if length < 0.3:
        return
    ahead /= length
    beside = np.array([-ahead[1], ahead[0], 0])
    for outwards in (ahead, -ahead, beside, -beside) if part.kind == "slide" else (ahead, -ahead):
        first = _front(physics, name, part, outwards)
        level = first.normal * [1, 1, 0]
        if np.linalg.norm(level) > 0.9:  # look straight at it
            yield _front(physics, name, part, level / np.linalg.norm(level))


def _front(physics: Physics, name: str, part: ArticulatedPart, outwards: np.ndarray) -> PartFront:
    side = np.array([-outwards[1], outwards[0], 0])
    across, start = part.corners @ side, float((part.corners @ outwards).max()) + 0.15
    columns = np.arange(across.min() + PITCH_M / 2, across.max(), PITCH_M)
    # 0.03: height above the table below which a level gripper has no room
    rows = np.arange(max(part.bottom, 0.03) + PITCH_M / 2, part.top, PITCH_M)
    points = np.full((len(rows), len(columns), 3), np.nan)
    normals = []
    geoms = set(physics.parts[name, part.name].geoms.tolist())
    for i, z in enumerate(rows):
        for j, along in enumerate(columns):
            origin = start * outwards + along * side + [0, 0, z]
            distance, geom, normal = physics.ray_to_geom(origin, -outwards)
            if distance >= 0 and geom in geoms:
                points[i, j] = origin - distance * outwards
                normals.append(normal)
    return PartFront(outwards, side, points, np.median(normals or [np.zeros(3)], axis=0))


def leverage(part: ArticulatedPart, point: np.ndarray, outwards: np.ndarray) -> float:
    """Return metres of leverage plus the share of the motion that goes along the cup's axis."""
    along = abs(float(part.heading(point) @ outwards))
    if part.kind == "slide":
        off = point - part.corners.mean(0)
        return along - float(np.linalg.norm(off - (off @ outwards) * outwards))
    arm = point - part.anchor
    return along + float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))


def hand_before(
    point: np.ndarray, outwards: np.ndarray, closing: np.ndarray, pitch: float = 0.0, beyond: float = 0.0
) -> np.ndarray:
    """Return world-from-gripper (4, 4) that approaches a point (3,) against the level direction `outwards`.

    The fingers close along `closing` where it is level. The hand comes from above by `pitch` radians; its tips are
    `beyond` metres beyond the pinch point.
    """
    hand = gripper_at(point, closing, -outwards)
    side = np.array([-outwards[1], outwards[0], 0])
    hand[:3, :3] = Rotation.from_rotvec(-pitch * side).as_matrix() @ hand[:3, :3]
    hand[:3, 3] = point - beyond * hand[:3, 2]
    return hand
