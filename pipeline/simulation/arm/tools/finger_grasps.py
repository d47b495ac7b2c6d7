"""Antipodal grasps from above, found in a height map of an object.

The gripper looks down and closes along a horizontal line. In the height map, what is between the fingers is a run of
points higher than the fingertips. It must be narrow enough, its flanks must face the fingers, and there must be room
for the fingers on both sides and for the palm above.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.arm.kinematics import gripper_pose
from pipeline.simulation.arm.tools import fingers
from pipeline.simulation.arm.tools.grasp import Grasp, GraspSearch
from pipeline.simulation.arm.tools.surface_heights import SurfaceHeights, measure_heights
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics

GRASP_DIRECTIONS = 12
"""Closing directions over half a turn."""
FINGER_CLEARANCES_M = (0.006, 0.014)
"""Distances between an open finger and the object that are tried; the larger one where a wall slopes."""
FINGER_TIP_M = 0.009
"""Thickness of a finger at its tip."""
TIP_CLEARANCE_M = 0.004
"""Distance between the fingertips and what is below them."""
GRIP_DEPTHS_M = (0.042, 0.030, 0.018, 0.011)
"""Depths of the fingertips below the top that are tried; the least for rims."""
MAX_OBJECT_WIDTH_M = fingers.MAX_OPENING_M - 0.0025
"""Widest object that fits between the open fingers without touching them."""
HALF_TURNS = (0.0, np.pi)
"""The gripper may hold with either finger on either side."""
FLANK_STEP_M = 0.0007
"""Precision of a measured flank."""
PAD_HEIGHT_M, PAD_RAY_M, PAD_GIVE_M = 0.037, 0.005, 0.0015
"""Height of a pad, spacing of the levels where its contact is measured, and depth within which it touches."""
MAX_CONTACT_OFFSET_M = 0.025
"""Largest difference in height between the contacts of both pads."""
SLOPED = "sloped"
SLANT_COST_M = 0.05
"""Cost of a flank that slants by 45 degrees."""
MAX_SLANT = np.tan(np.radians(24))
"""Steepest flank that friction holds, as a slope."""


@dataclass(frozen=True, eq=False)
class _Strip:
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
class _GraspCandidate:
    """A run of points between the fingers, before its flanks are measured."""

    strip: _Strip
    tips: float
    """Height of the fingertips, in metres."""
    low: float
    up: float
    """Ends of the run along the closing direction, in metres, to one grid step."""
    least_cost: float
    """Cost of the grasp if its flanks are perpendicular to the closing direction."""

    def repeats(self, grasp: Grasp, target: Object) -> bool:
        """Whether a measured grasp is within 8 mm and about 17 degrees."""
        offset = planar_rotation(self.strip.yaw) @ np.array([(self.low + self.up) / 2, self.strip.across])
        closing = abs(float(grasp.hand[:2, 1] @ [np.cos(self.strip.yaw), np.sin(self.strip.yaw)]))
        near = float(np.hypot(*(target.position[:2] + offset - grasp.point[:2]))) < 0.008
        return near and closing > 0.955 and abs(self.tips - grasp.point[2]) < 0.008


def find_grasps(physics: Physics, target: Object, max_grasps: int = 16) -> GraspSearch:
    """Return distinct grasps of an object at its current pose, best first.

    Measuring flanks takes most of the time: it goes in the order of the least cost until there are enough grasps.
    """
    heights = measure_heights(physics, target)
    candidates: list[_GraspCandidate] = []
    widths, blockers, sloped = [np.inf], Counter[str](), False
    for yaw in _closing_directions(target):
        for result in _candidates_along(heights, target, yaw):
            if isinstance(result, _GraspCandidate):
                candidates.append(result)
            else:
                widths.append(result)
    found: list[Grasp] = []
    for candidate in sorted(candidates, key=lambda c: c.least_cost):
        if any(candidate.repeats(grasp, target) for grasp in found):
            continue
        result = _measured_grasp(heights, target, candidate)
        if isinstance(result, float):
            widths.append(result)
        elif isinstance(result, int):
            blockers[physics.label_name(result)] += 1
        elif isinstance(result, str):
            sloped = True
        elif result is not None and not any(result.similar(other) for other in found):
            found.append(result)
        if len(found) >= max_grasps and candidate.least_cost > min(g.cost for g in found):
            break
    blocked_by = next((name for name, _ in blockers.most_common() if name in physics.addresses), "")
    refusal = "" if found or blocked_by else _no_grasp(target, min(widths), sloped)
    return GraspSearch(tuple(sorted(found, key=lambda g: g.cost)[:max_grasps]), blocked_by, refusal)


def _closing_directions(target: Object) -> np.ndarray:
    """Return closing directions in radians, the object's own axes first."""
    sides = target.yaw + np.array([0.0, np.pi / 2])
    return np.concatenate([sides, target.yaw + np.pi * (np.arange(GRASP_DIRECTIONS) + 0.5) / GRASP_DIRECTIONS])


def _candidates_along(heights: SurfaceHeights, target: Object, yaw: float) -> Iterator[_GraspCandidate | float]:
    """Yield grasps that close in one direction, and widths that are too large."""
    local = (heights.points - target.position[:2]) @ planar_rotation(yaw)
    extent = local[heights.own, 1] if heights.own.any() else np.zeros(1)
    reach = float(extent.max() - extent.min()) / 2 - 0.004
    middle = float(extent.max() + extent.min()) / 2
    for across in middle + np.unique(np.clip(np.linspace(-1, 1, 9) * 0.8, -1, 1)) * max(reach, 0.0):
        inside = np.abs(local[:, 1] - across) <= max(fingers.PAD_HALF_WIDTH_M, 1.2 * heights.pitch)
        if not (inside & heights.own).any():
            continue
        strip = _Strip(local, yaw, across, inside, float(heights.heights[inside & heights.own].max()))
        for depth in GRIP_DEPTHS_M:
            tips = max(target.bottom + TIP_CLEARANCE_M, strip.top - depth)
            yield from _candidates_at(heights, strip, tips)
            if tips > strip.top - depth:
                break


def _candidates_at(heights: SurfaceHeights, strip: _Strip, tips: float) -> Iterator[_GraspCandidate | float]:
    """Yield the results of `_candidates_along` for one strip with the fingertips at the height `tips`."""
    high = strip.inside & heights.own & (heights.heights > tips + 0.003)
    if not high.any() or strip.top - tips < 0.008:
        return
    for low, up in _runs(strip.local[high, 0], heights.pitch):
        if up - low > MAX_OBJECT_WIDTH_M + 2.5 * heights.pitch:
            yield float(up - low)
        else:
            yield _GraspCandidate(strip, tips, low, up, _cost(strip, tips, low, up - heights.pitch))


def _cost(strip: _Strip, tips: float, low: float, up: float, slant: float = 0.0) -> float:
    """Return the cost of a grasp between two ends along the closing direction, in metres."""
    hold = min(strip.top - tips, 0.037)
    off_centre = float(np.hypot((low + up) / 2, strip.across))
    return off_centre + SLANT_COST_M * slant + 0.6 * (0.037 - hold) + 0.1 * max(0.0, up - low - 0.07)


def _measured_grasp(
    heights: SurfaceHeights, target: Object, candidate: _GraspCandidate
) -> Grasp | float | int | str | None:
    """Return a grasp with the width between its flanks; the width that is too large, or the label of what blocks it.

    SLOPED if the flanks slant more than friction holds, None if the object itself is in the way.
    """
    strip, tips = candidate.strip, candidate.tips
    local, across = strip.local, strip.across
    edges = (candidate.low, -1), (candidate.up, 1)
    flanks = [_flank(heights, target, strip, edge, side, tips) for edge, side in edges]
    low, up = (side * max((side * flank[:, 0]).tolist()) for flank, side in zip(flanks, (-1, 1), strict=True))
    width = float(up - low)
    if width > MAX_OBJECT_WIDTH_M:
        return width
    slant = max(_slant(flank) for flank in flanks)
    if slant > MAX_SLANT:
        return SLOPED
    slope, apart = _contact_slope(heights, target, candidate, low, up)
    if slope > MAX_SLANT or apart > MAX_CONTACT_OFFSET_M:
        return SLOPED
    finger_blockers, gap = [], 0.0
    for gap in FINGER_CLEARANCES_M:
        sides = ((low - gap, -1), (up + gap, 1))
        finger_blockers = [b for edge, side in sides if (b := _blocker(heights, strip, edge, side, tips)) is not None]
        if not finger_blockers or width + 2 * gap > fingers.MAX_OPENING_M:
            break
    opening = min(width + 2 * gap, fingers.MAX_OPENING_M)
    palm = (np.abs(local[:, 1] - across) < 0.04) & (np.abs(local[:, 0] - (low + up) / 2) < 0.045)
    palm_height = tips + fingers.tip_offset(opening) + fingers.PALM_OFFSET_M - 0.004
    palm_blockers = heights.labels[palm & (heights.heights > palm_height)]
    if blockers := [*finger_blockers, *palm_blockers[:1]]:
        return next((int(label) for label in blockers if label >= 0 and label != heights.label), None)
    point = target.position[:2] + planar_rotation(strip.yaw) @ np.array([(low + up) / 2, across])
    tip_middle = np.array([*point, tips])
    hand = gripper_pose(tip_middle + np.array([0, 0, fingers.tip_offset(width)]), strip.yaw)
    cost = _cost(strip, tips, low, up, max(slant, slope)) + apart
    return Grasp(hand, tip_middle, HALF_TURNS, width, opening, cost)


def _contact_slope(
    heights: SurfaceHeights, target: Object, candidate: _GraspCandidate, low: float, up: float
) -> tuple[float, float]:
    """Return the slope of the faces against the vertical where the pads touch, and the contacts' offset in height.

    Casts level rays from both pads. A pad touches first what stands out most; the steeper of both sides counts.
    """
    strip, physics = candidate.strip, heights.physics
    turn = planar_rotation(strip.yaw)
    levels = np.arange(candidate.tips + 0.0035, min(strip.top - 0.001, candidate.tips + PAD_HEIGHT_M), PAD_RAY_M)
    slopes, middles = [], []
    for edge, side in ((low, -1), (up, 1)):
        inwards = np.array([*(-side * turn[:, 0]), 0.0])
        hits = []
        for across in strip.across + np.array([0.0, -0.7, 0.7]) * fingers.PAD_HALF_WIDTH_M:
            origin = target.position[:2] + turn @ [edge + side * FINGER_CLEARANCES_M[0], across]
            for level in levels.tolist():
                distance, label, normal = physics.ray(np.array([*origin, level]), inwards)
                if label == heights.label:
                    hits.append((distance, level, abs(normal[2]) / max(float(-normal @ inwards), 1e-6)))
        if not hits:
            return np.inf, 0.0
        first = min(hits)[0]
        touching = np.array([(level, slope) for distance, level, slope in hits if distance < first + PAD_GIVE_M])
        slopes.append(float(np.median(touching[:, 1])))
        middles.append(float(touching[:, 0].mean()))
    return max(slopes), abs(middles[0] - middles[1])


def _runs(values: np.ndarray, pitch: float) -> Iterator[tuple[float, float]]:
    """Yield first and last value of each run without a gap, extended by half a pitch on both sides."""
    values = np.sort(values)
    cuts = np.flatnonzero(np.diff(values) > 2.2 * pitch)
    for run in np.split(values, cuts + 1):
        yield float(run[0] - pitch / 2), float(run[-1] + pitch / 2)


def _flank(heights: SurfaceHeights, target: Object, strip: _Strip, edge: float, side: int, tips: float) -> np.ndarray:
    """Return points (N, 2) of the flank at an edge, N at least 1: along and across the closing direction.

    Bisects five lines between a grid step and a half outside the edge and as much inside.
    """
    reach = 1.6 * heights.pitch
    lines = strip.across + np.array([0.0, -0.4, 0.4, -0.8, 0.8]) * fingers.PAD_HALF_WIDTH_M

    def is_solid(along: np.ndarray) -> np.ndarray:
        points = target.position[:2] + np.stack([along, lines], -1) @ planar_rotation(strip.yaw).T
        return heights.is_above(points, tips + 0.003)

    inner, outer = np.full(len(lines), edge - side * reach), np.full(len(lines), edge + side * reach)
    is_met = is_solid(inner)
    inner = np.where(is_solid(outer), outer, inner)
    for _ in range(int(np.ceil(np.log2(2 * reach / FLANK_STEP_M)))):
        middle = (inner + outer) / 2
        solid = is_solid(middle)
        inner, outer = np.where(solid, middle, inner), np.where(solid, outer, middle)
    return np.stack([inner, lines], -1)[is_met] if is_met.any() else np.array([[edge, strip.across]])


def _slant(flank: np.ndarray) -> float:
    """Return the slope of a flank (N, 2) against the perpendicular of the closing direction, in metres per metre.

    Infinite where fewer than three rays meet it, as at a corner.
    """
    return abs(float(np.polyfit(flank[:, 1], flank[:, 0], 1)[0])) if len(flank) > 2 else np.inf


def _blocker(heights: SurfaceHeights, strip: _Strip, edge: float, side: int, tips: float) -> int | None:
    """Return the label of what is where a finger must go; None if it is free."""
    out = side * (strip.local[:, 0] - edge)  # from the pad of the open finger
    near = np.abs(strip.local[:, 1] - strip.across) < fingers.PAD_HALF_WIDTH_M + 0.003
    tip = near & (out > -0.002) & (out < FINGER_TIP_M) & (heights.heights > tips - 0.002)
    back = near & (out > -0.002) & (out < fingers.FINGER_DEPTH_M) & (heights.heights > tips + 0.008)
    hit = np.flatnonzero(tip | back)
    return int(heights.labels[hit[0]]) if len(hit) else None


def _no_grasp(target: Object, narrowest: float, sloped: bool) -> str:
    limit = f"the gripper takes {MAX_OBJECT_WIDTH_M * 100:.1f} cm at most"
    if sloped:
        return f"no grasp: {target.name} slopes where it is narrow enough for the fingers; {limit}"
    if np.isfinite(narrowest):
        return f"no grasp: {target.name} is {narrowest * 100:.1f} cm wide where it is narrowest, {limit}"
    return f"no grasp: no two opposite sides of {target.name} can be reached from above; {limit}"
