"""Grasps of drawers and doors from the front: the cup on a smooth place, or the fingers around a handle."""

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.arm.tools import fingers
from pipeline.simulation.arm.tools.grasp import Grasp
from pipeline.simulation.arm.tools.vacuum import CUP_RADIUS_M
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.physics import Physics

PITCH_M = 0.005
"""Pitch of the grid of level rays."""
MAX_ROUGHNESS_M = 0.0022
"""Largest deviation from a plane that the cup's bellows follow."""
STANDOFF_M = 0.004
"""Distance of the cup from the front before it feels for contact."""
MIN_HANDLE_M = 0.012
"""How far a handle protrudes from the front at least."""
GRIP_M = 0.012
"""How far the fingertips reach beyond a handle's outermost point."""
TUBE_ROOM_M = 0.036
"""Half the width of the gripper's flange, which passes by a handle."""
PITCHES_DEG = (0.0, 30.0, 55.0)
"""Angles by which the fingers may come from above the level, in degrees."""
MIN_HEIGHT_M = 0.03
"""Height above the table below which a level gripper has no room."""
SPREAD_M = 0.03
"""Distance between grasps that are tried."""


@dataclass(frozen=True, eq=False)
class _Front:
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


def cup_grasps(physics: Physics, name: str, part: ArticulatedPart, max_grasps: int = 6) -> tuple[Grasp, ...]:
    """Return places on a part where the cup seals, those with the best leverage first."""
    found: list[tuple[float, Grasp]] = []
    for front in _fronts(physics, name, part):
        reach = int(np.ceil(CUP_RADIUS_M / PITCH_M))
        around = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1).T
        around = around[np.linalg.norm(around, axis=1) * PITCH_M <= CUP_RADIUS_M + PITCH_M / 4]
        rows, columns = front.depth.shape
        room = int(np.ceil(TUBE_ROOM_M / PITCH_M))
        for row in range(reach, rows - reach):
            for column in range(reach, columns - reach):
                under = front.depth[row + around[:, 0], column + around[:, 1]]
                if np.isnan(under).any() or np.ptp(under) > MAX_ROUGHNESS_M:
                    continue
                point = front.points[row, column]
                near = front.depth[max(row - room, 0) : row + room + 1, max(column - room, 0) : column + room + 1]
                if np.nanmax(near) > front.depth[row, column] + MAX_ROUGHNESS_M:
                    continue  # a handle beside the cup would be in its way
                hand = _level_hand(point + STANDOFF_M * front.outwards, front.outwards, front.side)
                turns = (0.0, np.pi, np.pi / 2, -np.pi / 2)
                cost = -_leverage(part, point, front.outwards)
                found.append((cost, Grasp(hand, point, turns, 0.0, 0.0, cost, part.name)))
    return _spread(found, max_grasps)


def handle_grasps(physics: Physics, name: str, part: ArticulatedPart, max_grasps: int = 6) -> tuple[Grasp, ...]:
    """Return grasps of what protrudes from a part's front and is narrow enough for the fingers."""
    found: list[tuple[float, Grasp]] = []
    for front in _fronts(physics, name, part):
        depth = front.depth
        if np.isnan(depth).all():
            continue
        plane = float(np.nanmedian(depth))  # of the front itself, which is larger than its handle
        handle = np.nan_to_num(depth, nan=-np.inf) > plane + MIN_HANDLE_M
        if not handle.any() or handle.sum() > 0.5 * np.isfinite(depth).sum():
            continue
        points = front.points[handle]
        outermost = float((points @ front.outwards).max())
        extents = {"side": np.ptp(points @ front.side), "up": np.ptp(points[:, 2])}
        for closing, along in ((np.array([0, 0, 1.0]), "up"), (front.side, "side")):
            width = float(extents[along]) + PITCH_M
            if width > fingers.MAX_OPENING_M - 0.006:
                continue
            middle = (points.max(0) + points.min(0)) / 2
            tip = middle + (outermost - GRIP_M - middle @ front.outwards) * front.outwards
            opening = min(width + 0.02, fingers.MAX_OPENING_M)
            for pitch in np.radians(PITCHES_DEG):
                hand = _level_hand(tip, front.outwards, closing)
                hand[:3, :3] = Rotation.from_rotvec(-pitch * front.side).as_matrix() @ hand[:3, :3]
                hand[:3, 3] -= fingers.tip_offset(width) * hand[:3, 2]
                cost = width - _leverage(part, middle, front.outwards) + 0.05 * float(pitch)
                found.append((cost, Grasp(hand, middle, (0.0, np.pi), width, opening, cost, part.name)))
    return tuple(grasp for _, grasp in sorted(found, key=lambda entry: entry[0])[:max_grasps])


def _fronts(physics: Physics, name: str, part: ArticulatedPart) -> Iterator[_Front]:
    """Yield the part as seen from where it moves to and from the opposite side."""
    ahead = part.heading(part.corners.mean(0)) * [1, 1, 0]
    length = float(np.linalg.norm(ahead))
    if length < 0.3:
        return
    for outwards in (ahead / length, -ahead / length):
        first = _front(physics, name, part, outwards)
        level = first.normal * [1, 1, 0]
        if np.linalg.norm(level) > 0.9:  # look straight at it
            yield _front(physics, name, part, level / np.linalg.norm(level))


def _front(physics: Physics, name: str, part: ArticulatedPart, outwards: np.ndarray) -> _Front:
    side = np.array([-outwards[1], outwards[0], 0])
    across, start = part.corners @ side, float((part.corners @ outwards).max()) + 0.15
    columns = np.arange(across.min() + PITCH_M / 2, across.max(), PITCH_M)
    rows = np.arange(max(part.bottom, MIN_HEIGHT_M) + PITCH_M / 2, part.top, PITCH_M)
    points = np.full((len(rows), len(columns), 3), np.nan)
    normals, normal = [np.zeros(3)], np.zeros(3)
    geoms = set(physics.parts[name, part.name].geoms.tolist())
    groups, geom = np.array([1, 0, 0, 1, 1, 0], np.uint8), np.zeros(1, np.int32)
    for i, z in enumerate(rows):
        for j, along in enumerate(columns):
            origin = start * outwards + along * side + [0, 0, z]
            distance = mujoco.mj_ray(physics.model, physics.data, origin, -outwards, groups, 1, -1, geom, normal)
            if distance >= 0 and int(geom[0]) in geoms:
                points[i, j] = origin - distance * outwards
                normals.append(normal.copy())
    return _Front(outwards, side, points, np.median(normals[1:] or normals, axis=0))


def _leverage(part: ArticulatedPart, point: np.ndarray, outwards: np.ndarray) -> float:
    """Return metres of leverage plus the share of the motion that goes along the cup's axis."""
    along = abs(float(part.heading(point) @ outwards))
    if part.kind == "slide":
        off = point - part.corners.mean(0)
        return along - float(np.linalg.norm(off - (off @ outwards) * outwards))
    arm = point - part.anchor
    return along + float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))


def _level_hand(point: np.ndarray, outwards: np.ndarray, closing: np.ndarray) -> np.ndarray:
    """Return world-from-gripper (4, 4) that approaches against `outwards` and closes along `closing`."""
    hand = np.eye(4)
    hand[:3, 1], hand[:3, 2] = closing, -outwards
    hand[:3, 0] = np.cross(closing, -outwards)
    hand[:3, 3] = point
    return hand


def _spread(found: list[tuple[float, Grasp]], max_grasps: int) -> tuple[Grasp, ...]:
    chosen: list[Grasp] = []
    for _, grasp in sorted(found, key=lambda entry: entry[0]):
        if all(np.linalg.norm(grasp.point - other.point) > SPREAD_M for other in chosen):
            chosen.append(grasp)
        if len(chosen) == max_grasps:
            break
    return tuple(chosen)
