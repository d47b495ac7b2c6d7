"""Samples candidate grasps of the two-finger gripper: where its fingers could close along a level line.

From above, lines are found in a height map: what is between the fingers is a run of points higher than the fingertips,
a rim or a handle included. From the side, they are found by level rays from both sides. Nothing is judged here
(grasp_scoring.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.objects import Object, Region
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.kinematics import gripper_pose
from pipeline.simulation.robots.description import Fingers

DIRECTIONS = 12
"""Closing directions over half a turn, besides the object's own axes."""
TILTS = tuple(np.radians((30.0, 60.0, 85.0)))
"""Angles between the approach and straight down from which a level line is approached, to either side."""

MARGIN_M = 0.05
"""How far the map extends beyond the object."""


@dataclass(frozen=True, eq=False)
class SurfaceHeights:
    """Heights from above, on a grid of N points."""

    physics: Physics
    name: str
    """Name of the object."""
    points: np.ndarray
    """World x and y in metres, of shape (N, 2)."""
    heights: np.ndarray
    """World z in metres, of shape (N,); -1 where there is nothing."""
    own: np.ndarray
    """Whether a point is on the object, of shape (N,)."""
    labels: np.ndarray
    """Label of the object at each point, of shape (N,)."""
    pitch: float
    """Grid spacing in metres."""

    def is_above(self, points: np.ndarray, height: float) -> np.ndarray:
        """Cast rays at further points (N, 2). Return where the object is seen above a height, of shape (N,)."""
        heights, labels, _ = self.physics.surface(points)
        return (labels == self.physics.label_of(self.name)) & (heights > height)


@dataclass(frozen=True, eq=False)
class Strip:
    """The part of a height map that the fingers sweep in one closing direction."""

    local: np.ndarray
    """Grid points along and across the closing direction, relative to the object, of shape (N, 2)."""
    yaw: float
    """Closing direction, in radians."""
    across: float
    """Offset of the strip across the closing direction, in metres."""
    inside: np.ndarray
    """Whether a point is in the strip, of shape (N,)."""
    top: float
    """Height of the object in the strip, in metres."""


@dataclass(frozen=True, eq=False)
class RunCandidate:
    """A run of points of a height map between the fingers, approached from straight above."""

    strip: Strip
    tips: float
    """Height of the fingertips, in metres."""
    low: float
    up: float
    """Ends of the run along the closing direction, in metres, to one grid step."""

    def pose(self, target: Object, fingers: Fingers) -> np.ndarray:
        """Return world-from-gripper (4, 4) with the fingers closed on the run."""
        offset = planar_rotation(self.strip.yaw) @ np.array([(self.low + self.up) / 2, self.strip.across])
        tips = np.array([*(target.position[:2] + offset), self.tips])
        return gripper_pose(tips + np.array([0, 0, fingers.tip_offset(self.up - self.low)]), self.strip.yaw)


@dataclass(frozen=True, eq=False)
class LineCandidate:
    """A level line through an object, approached at a tilt."""

    middle: np.ndarray
    """Middle between the points where both fingers touch, world, of shape (3,)."""
    width: float
    """Distance between these points, in metres."""
    slope: float
    """Steeper slope of both faces against the perpendicular of the line, in metres per metre."""
    yaw: float
    tilt: float
    """Closing direction, and angle of the approach from straight down about it, in radians."""
    depth: float
    """Distance of the fingertips beyond the line, in metres."""

    def pose(self, fingers: Fingers) -> np.ndarray:
        """Return world-from-gripper (4, 4) with the fingers closed on the line."""
        c, s = np.cos(self.tilt), np.sin(self.tilt)
        world_from_gripper = gripper_pose(self.middle, self.yaw)
        world_from_gripper[:3, :3] @= np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
        world_from_gripper[:3, 3] += (self.depth - fingers.tip_offset(self.width)) * world_from_gripper[:3, 2]
        return world_from_gripper


def _closing_directions(target: Object) -> np.ndarray:
    """Return closing directions in radians, the object's own axes first."""
    sides = target.yaw + np.array([0.0, np.pi / 2])
    return np.concatenate([sides, target.yaw + np.pi * (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS])


def sample_from_above(heights: SurfaceHeights, target: Object, fingers: Fingers) -> Iterator[RunCandidate]:
    """Yield runs in all closing directions, wider ones than the gripper opens included."""
    for yaw in _closing_directions(target).tolist():
        local = (heights.points - target.position[:2]) @ planar_rotation(yaw)
        extent = local[heights.own, 1] if heights.own.any() else np.zeros(1)
        reach = float(extent.max() - extent.min()) / 2 - 0.004
        middle = float(extent.max() + extent.min()) / 2
        for across in middle + np.linspace(-0.8, 0.8, 9) * max(reach, 0.0):
            inside = np.abs(local[:, 1] - across) <= max(fingers.pad_half_width, 1.2 * heights.pitch)
            if not (inside & heights.own).any():
                continue
            strip = Strip(local, yaw, float(across), inside, float(heights.heights[inside & heights.own].max()))
            # Depths of the fingertips below the top that are tried; the least for rims
            for depth in (0.042, 0.030, 0.018, 0.011):
                # Distance between the fingertips and what is below them
                tips = max(target.bottom + 0.004, strip.top - depth)
                yield from _runs_at(heights, strip, tips)
                if tips > strip.top - depth:
                    break


def sample_from_the_side(physics: Physics, target: Object) -> Iterator[LineCandidate]:
    """Yield level lines in all closing directions, each approached from both sides at all tilts."""
    for yaw in _closing_directions(target).tolist():
        turn = planar_rotation(yaw)
        local = (target.outline - target.position[:2]) @ turn
        middle, half = (local.max(0) + local.min(0)) / 2, np.ptp(local, axis=0) / 2
        # Heights of level lines, as shares of the object's height
        for level in target.bottom + np.array((0.25, 0.5, 0.75)) * target.height:
            # Offsets of level lines from the object's middle, as shares of half its extent across them
            for across in middle[1] + np.array((-0.6, 0.0, 0.6)) * half[1]:
                hits = _touched(physics, target, turn, float(across), float(level), float(half[0]) + 0.01, middle[0])
                if hits is None:
                    continue
                (low, first), (up, second) = hits
                point = target.position[:2] + turn @ np.array([(low + up) / 2, across])
                line = np.array([*point, level]), up - low, max(first, second), yaw
                for tilt in (sign * tilt for tilt in TILTS for sign in (-1, 1)):
                    # Distances of the fingertips beyond a level line
                    for depth in (0.012, 0.026):
                        yield LineCandidate(*line, tilt, depth)


def _runs_at(heights: SurfaceHeights, strip: Strip, tips: float) -> Iterator[RunCandidate]:
    """Yield the runs of one strip with the fingertips at the height `tips`."""
    high = strip.inside & heights.own & (heights.heights > tips + 0.003)
    # Least depth of the fingertips below the top
    if not high.any() or strip.top - tips < 0.008:
        return
    values = np.sort(strip.local[high, 0])
    for run in np.split(values, np.flatnonzero(np.diff(values) > 2.2 * heights.pitch) + 1):
        yield RunCandidate(strip, tips, float(run[0] - heights.pitch / 2), float(run[-1] + heights.pitch / 2))


def _touched(
    physics: Physics, target: Object, turn: np.ndarray, across: float, level: float, half: float, middle: float
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return offset along the line and slope of the face where each finger would touch; None if one misses."""
    label, hits = physics.label_of(target.name), []
    for side in (-1, 1):
        start = target.position[:2] + turn @ np.array([middle + side * half, across])
        inwards = np.array([*(-side * turn[:, 0]), 0.0])
        distance, hit, normal = physics.ray(np.array([*start, level]), inwards)
        if hit != label:
            return None
        facing = abs(float(normal @ inwards))
        slope = float(np.sqrt(max(1 - facing**2, 0.0))) / max(facing, 1e-6)
        hits.append((middle + side * (half - distance), slope))
    return hits[0], hits[1]


def measure_heights(physics: Physics, target: Object) -> SurfaceHeights:
    """Cast rays down on an object and 5 cm around it, with a pitch of 3 to 7 mm."""
    low, high = target.outline.min(0) - MARGIN_M, target.outline.max(0) + MARGIN_M
    pitch = float(np.clip((high - low).max() / 56, 0.003, 0.007))
    x, y = np.meshgrid(np.arange(low[0], high[0], pitch), np.arange(low[1], high[1], pitch))
    points = np.stack([x.ravel(), y.ravel()], -1)
    points = points[Region(target.outline).distance(points) < MARGIN_M]
    heights, labels, _ = physics.surface(points)
    own = labels == physics.label_of(target.name)
    return SurfaceHeights(physics, target.name, points, np.nan_to_num(heights, nan=-1.0), own, labels, pitch)
