"""Grasps of drawers and doors from the front: the cup on a smooth place, the fingers around a handle, or a push."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.free_space import spread_out
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.tools.grasp import Grasp, gripper_at
from pipeline.simulation.robots.arm.tools.seals import MAX_ROUGHNESS_M, STANDOFF_M
from pipeline.simulation.robots.arm.tools.vacuum import CUP_RADIUS_M
from pipeline.simulation.robots.description import Fingers

PUSH_TURNS = (0.0, np.pi / 2, np.pi, -np.pi / 2)

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


def cup_grasps(physics: Physics, name: str, part: ArticulatedPart, max_grasps: int = 6) -> tuple[Grasp, ...]:
    """Return places on a part where the cup seals, those with the best leverage first."""
    found: list[tuple[float, Grasp]] = []
    for front in _part_fronts(physics, name, part):
        reach = int(np.ceil(CUP_RADIUS_M / PITCH_M))
        around = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1).T
        around = around[np.linalg.norm(around, axis=1) * PITCH_M <= CUP_RADIUS_M + PITCH_M / 4]
        rows, columns = front.depth.shape
        # 0.036: half the width of the gripper's flange, which passes by a handle
        room = int(np.ceil(0.036 / PITCH_M))
        for row in range(reach, rows - reach):
            for column in range(reach, columns - reach):
                under = front.depth[row + around[:, 0], column + around[:, 1]]
                if np.isnan(under).any() or np.ptp(under) > MAX_ROUGHNESS_M:
                    continue
                point = front.points[row, column]
                near = front.depth[max(row - room, 0) : row + room + 1, max(column - room, 0) : column + room + 1]
                if np.nanmax(near) > front.depth[row, column] + MAX_ROUGHNESS_M:
                    continue  # a handle beside the cup would be in its way
                hand = _hand_before(point + STANDOFF_M * front.outwards, front.outwards, front.side)
                turns = (0.0, np.pi, np.pi / 2, -np.pi / 2)
                cost = -leverage(part, point, front.outwards)
                found.append((cost, Grasp(hand, point, turns, 0.0, 0.0, cost, part.name)))
    return _spread_out(found, max_grasps)


def handle_grasps(
    physics: Physics, name: str, part: ArticulatedPart, fingers: Fingers, max_grasps: int = 6
) -> tuple[Grasp, ...]:
    """Return grasps of what protrudes from a part's front and is narrow enough for the fingers."""
    found: list[tuple[float, Grasp]] = []
    for front in _part_fronts(physics, name, part):
        depth = front.depth
        if np.isnan(depth).all():
            continue
        plane = float(np.nanmedian(depth))  # of the front itself, which is larger than its handle
        # How far a handle protrudes from the front at least
        handle = np.nan_to_num(depth, nan=-np.inf) > plane + 0.007
        if not handle.any() or handle.sum() > 0.5 * np.isfinite(depth).sum():
            continue
        points = front.points[handle]
        outermost = float((points @ front.outwards).max())
        # 0.012: how far the fingertips reach at most beyond a handle's outermost point
        # 0.002: distance that the fingertips keep from the front
        grip = min(0.012, outermost - plane - 0.002)
        extents = {"side": np.ptp(points @ front.side), "up": np.ptp(points[:, 2])}
        for closing, along in ((np.array([0, 0, 1.0]), "up"), (front.side, "side")):
            width = float(extents[along]) + PITCH_M
            if width > fingers.max_opening - 0.006:
                continue
            middle = (points.max(0) + points.min(0)) / 2
            tip = middle + (outermost - grip - middle @ front.outwards) * front.outwards
            opening = min(width + 0.02, fingers.max_opening)
            # Angles by which the fingers may come from above the level, in degrees
            for pitch in np.radians((0.0, 30.0, 55.0)):
                hand = _hand_before(tip, front.outwards, closing, float(pitch), fingers.tip_offset(width))
                cost = width - leverage(part, middle, front.outwards) + 0.05 * float(pitch)
                found.append((cost, Grasp(hand, middle, (0.0, np.pi), width, opening, cost, part.name)))
    return tuple(grasp for _, grasp in sorted(found, key=lambda entry: entry[0])[:max_grasps])


def push_grasps(
    physics: Physics, name: str, part: ArticulatedPart, travel: float, tip: float, max_places: int = 3
) -> tuple[Grasp, ...]:
    """Return poses of the closed hand from which it pushes a part while its joint moves by `travel`.

    `tip` is the distance in metres from the pinch point to the end of the closed hand. Empty where the part moves
    towards the hand.
    """
    found: list[tuple[float, Grasp]] = []
    for front in _part_fronts(physics, name, part):
        depth, outwards = front.depth, front.outwards
        for row, column in np.argwhere(np.isfinite(depth)):
            point = front.points[row, column]
            motion = np.sign(travel * part.end) * part.heading(point)
            # Cosine of the largest angle between the push and the part's motion
            if -float(motion @ outwards) < 0.8:
                continue
            inset = float(np.nanmax(depth) - depth[row, column])  # a handle is in the way beside it
            cost = inset - leverage(part, point, outwards)
            hand = _hand_before(point + STANDOFF_M * outwards, outwards, front.side, beyond=tip)
            found.append((cost, Grasp(hand, point, PUSH_TURNS, 0.0, 0.0, cost, part.name, pushes=True)))
    places = _spread_out(found, max_places)
    # Angles by which the hand may come from above the level, in degrees
    return tuple(
        _from_above(grasp, float(pitch), tip) for pitch in np.radians((0.0, 30.0, 55.0, 75.0)) for grasp in places
    )


def _from_above(grasp: Grasp, pitch: float, tip: float) -> Grasp:
    """Return a level push that comes from above by `pitch` radians instead."""
    outwards, closing = -grasp.approach, grasp.hand[:3, 1]
    hand = _hand_before(grasp.hand[:3, 3] + tip * grasp.approach, outwards, closing, pitch, tip)
    return replace(grasp, hand=hand)


def _spread_out(found: list[tuple[float, Grasp]], most: int) -> tuple[Grasp, ...]:
    """Return the grasps of least cost, at most so many, that are SPREAD_M apart, from pairs of a cost and a grasp."""
    ordered = (grasp for _, grasp in sorted(found, key=lambda entry: entry[0]))
    return tuple(spread_out(ordered, lambda grasp: grasp.point, SPREAD_M, most))


def _part_fronts(physics: Physics, name: str, part: ArticulatedPart) -> Iterator[PartFront]:
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


def _hand_before(
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
