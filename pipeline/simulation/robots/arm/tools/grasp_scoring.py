"""Judges candidate grasps of the two-finger gripper: a grasp with its cost, or the reason why it was dropped.

A grasp is narrow enough, both faces look at the fingers, and there is room for the open fingers and the palm.
"""

import mujoco
import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.collision import CollisionChecker
from pipeline.simulation.robots.arm.kinematics import gripper_pose
from pipeline.simulation.robots.arm.tools.grasp import DroppedGrasp, Grasp
from pipeline.simulation.robots.arm.tools.grasp_sampling import LineCandidate, RunCandidate, Strip, SurfaceHeights
from pipeline.simulation.robots.description import Fingers

FINGER_CLEARANCES_M = (0.006, 0.014)
"""Distances between an open finger and the object that are tried; the larger one where a wall slopes."""
HALF_TURNS = (0.0, np.pi)
"""The gripper may hold with either finger on either side."""
PAD_HEIGHT_M, PAD_RAY_M, PAD_GIVE_M = 0.037, 0.005, 0.0015
"""Height of a pad, spacing of the levels where its contact is measured, and depth within which it touches."""
MAX_CONTACT_OFFSET_M = 0.025
"""Largest difference in height between the contacts of both pads."""
SLANT_COST_M = 0.05
"""Cost of a flank that slants by 45 degrees."""
TILT_COST_M, LOW_COST = 0.04, 0.5
"""Cost of a level approach, and of each metre by which a line lies below the object's middle."""
MAX_SLANT = np.tan(np.radians(24))
"""Steepest flank that friction holds, as a slope."""
MAX_BALL_SLANT = np.tan(np.radians(12))
"""The same for a ball: the first finger that touches it beside its middle rolls it away."""


def least_cost(candidate: RunCandidate, heights: SurfaceHeights) -> float:
    """Return the cost of a grasp from above if its flanks are perpendicular to the closing direction."""
    return _cost(candidate.strip, candidate.tips, candidate.low, candidate.up - heights.pitch)


def line_cost(candidate: LineCandidate, target: Object) -> float:
    """Return the cost of a grasp along a level line, in metres."""
    offset = candidate.middle - target.position
    wide = 0.1 * max(0.0, candidate.width - 0.07)
    tilted = TILT_COST_M * abs(candidate.tilt) / (np.pi / 2)
    low = LOW_COST * max(0.0, -float(offset[2]))
    return float(np.hypot(*offset[:2])) + SLANT_COST_M * candidate.slope + wide + tilted + low


def score_from_above(
    heights: SurfaceHeights, target: Object, fingers: Fingers, candidate: RunCandidate
) -> Grasp | DroppedGrasp:
    """Judge a grasp from above by the height map: its flanks are measured to 0.7 mm."""
    strip, tips = candidate.strip, candidate.tips

    def dropped(cause: str, blocker: str = "", width: float = candidate.up - candidate.low) -> DroppedGrasp:
        return DroppedGrasp(candidate.pose(target, fingers), width, cause, blocker)

    if candidate.up - candidate.low > fingers.max_object + 2.5 * heights.pitch:
        return dropped("wide")
    edges = (candidate.low, -1), (candidate.up, 1)
    flanks = [_flank(heights, target, fingers, strip, edge, side, tips) for edge, side in edges]
    low, up = (side * max((side * flank[:, 0]).tolist()) for flank, side in zip(flanks, (-1, 1), strict=True))
    width = float(up - low)
    if width > fingers.max_object:
        return dropped("wide", width=width)
    point = target.position[:2] + planar_rotation(strip.yaw) @ np.array([(low + up) / 2, strip.across])
    tip_middle = np.array([*point, tips])
    hand = gripper_pose(tip_middle + np.array([0, 0, fingers.tip_offset(width)]), strip.yaw)
    slant, steepest = max(_slant(flank) for flank in flanks), _max_slant(heights.physics, target)
    length = min(strip.top - 0.001 - tips, PAD_HEIGHT_M)
    slope, apart = (
        (np.inf, 0.0) if slant > steepest else _contact_slope(heights.physics, target, fingers, hand, width, length)
    )
    if slant > steepest or slope > steepest or apart > MAX_CONTACT_OFFSET_M:
        return dropped("sloped", width=width)
    blockers, opening = _blockers_from_above(heights, fingers, strip, low, up, tips)
    if blockers:
        own = heights.physics.label_of(target.name)
        other = next((label for label in blockers if label >= 0 and label != own), None)
        return dropped("blocked", target.name if other is None else heights.physics.label_name(other), width)
    cost = _cost(strip, tips, low, up, max(slant, slope)) + apart
    return Grasp(hand, tip_middle, HALF_TURNS, width, opening, cost)


def score_from_the_side(
    physics: Physics, clearance: CollisionChecker, target: Object, fingers: Fingers, candidate: LineCandidate
) -> Grasp | DroppedGrasp:
    """Judge a grasp along a level line by the gripper's collision shapes."""
    hand = candidate.pose(fingers)

    def dropped(cause: str, blocker: str = "") -> DroppedGrasp:
        return DroppedGrasp(hand, candidate.width, cause, blocker)

    if candidate.width > fingers.max_object:
        return dropped("wide")
    steepest = _max_slant(physics, target)
    if candidate.slope > steepest:
        return dropped("sloped")
    hit, opening = "", 0.0
    for gap in FINGER_CLEARANCES_M:
        opening = min(candidate.width + 2 * gap, fingers.max_opening)
        if not (hit := clearance.gripper_collision(hand, opening)):
            break
    if hit:
        return dropped("blocked", hit)
    slope, apart = _contact_slope(physics, target, fingers, hand, candidate.width, PAD_HEIGHT_M)
    if slope > steepest or apart > MAX_CONTACT_OFFSET_M:
        return dropped("sloped")
    cost = line_cost(candidate, target) + SLANT_COST_M * max(0.0, slope - candidate.slope) + apart
    return Grasp(hand, candidate.middle, HALF_TURNS, candidate.width, opening, cost)


def _max_slant(physics: Physics, target: Object) -> float:
    """Return the steepest flank that the fingers hold: less where the object can only roll."""
    geoms = (physics.label == physics.label_of(target.name)) & (physics.model.geom_contype > 0)
    is_ball = bool((physics.model.geom_type[geoms] == mujoco.mjtGeom.mjGEOM_SPHERE).all())
    return float(MAX_BALL_SLANT if is_ball else MAX_SLANT)


def _cost(strip: Strip, tips: float, low: float, up: float, slant: float = 0.0) -> float:
    """Return the cost of a grasp between two ends along the closing direction, in metres."""
    hold = min(strip.top - tips, 0.037)
    off_centre = float(np.hypot((low + up) / 2, strip.across))
    return off_centre + SLANT_COST_M * slant + 0.6 * (0.037 - hold) + 0.1 * max(0.0, up - low - 0.07)


def _contact_slope(
    physics: Physics, target: Object, fingers: Fingers, hand: np.ndarray, width: float, length: float
) -> tuple[float, float]:
    """Return the slope of the faces along the approach where the pads touch, and the offset between both contacts.

    Casts rays from both pads, over `length` metres from their tips. A pad touches first what stands out most; the
    steeper of both sides counts.
    """
    label = physics.label_of(target.name)
    across, closing, approach = hand[:3, :3].T
    tips = hand[:3, 3] + fingers.tip_offset(width) * approach
    slopes, middles = [], []
    for side in (-1, 1):
        inwards, hits = -side * closing, []
        for aside in np.array([0.0, -0.7, 0.7]) * fingers.pad_half_width:
            pad = tips + aside * across + side * (width / 2 + FINGER_CLEARANCES_M[0]) * closing
            for back in np.arange(0.0035, length, PAD_RAY_M).tolist():
                distance, hit, normal = physics.ray(pad - back * approach, inwards)
                if hit == label:
                    hits.append((distance, back, abs(float(normal @ approach)) / max(float(-normal @ inwards), 1e-6)))
        if not hits:
            return np.inf, 0.0
        first = min(hits)[0]
        touching = np.array([(back, slope) for distance, back, slope in hits if distance < first + PAD_GIVE_M])
        slopes.append(float(np.median(touching[:, 1])))
        middles.append(float(touching[:, 0].mean()))
    return max(slopes), abs(middles[0] - middles[1])


def _flank(
    heights: SurfaceHeights, target: Object, fingers: Fingers, strip: Strip, edge: float, side: int, tips: float
) -> np.ndarray:
    """Return points (N, 2) of the flank at an edge, N at least 1: along and across the closing direction.

    Bisects five lines between a grid step and a half outside the edge and as much inside.
    """
    reach = 1.6 * heights.pitch
    lines = strip.across + np.array([0.0, -0.4, 0.4, -0.8, 0.8]) * fingers.pad_half_width

    def is_solid(along: np.ndarray) -> np.ndarray:
        points = target.position[:2] + np.stack([along, lines], -1) @ planar_rotation(strip.yaw).T
        return heights.is_above(points, tips + 0.003)

    inner, outer = np.full(len(lines), edge - side * reach), np.full(len(lines), edge + side * reach)
    is_met = is_solid(inner)
    inner = np.where(is_solid(outer), outer, inner)
    # Precision of a measured flank
    for _ in range(int(np.ceil(np.log2(2 * reach / 0.0007)))):
        middle = (inner + outer) / 2
        solid = is_solid(middle)
        inner, outer = np.where(solid, middle, inner), np.where(solid, outer, middle)
    return np.stack([inner, lines], -1)[is_met] if is_met.any() else np.array([[edge, strip.across]])


def _slant(flank: np.ndarray) -> float:
    """Return the slope of a flank (N, 2) against the perpendicular of the closing direction, in metres per metre.

    Infinite where fewer than three rays meet it, as at a corner.
    """
    return abs(float(np.polyfit(flank[:, 1], flank[:, 0], 1)[0])) if len(flank) > 2 else np.inf


def _blockers_from_above(
    heights: SurfaceHeights, fingers: Fingers, strip: Strip, low: float, up: float, tips: float
) -> tuple[list[int], float]:
    """Return the labels of what is where the fingers and the palm must go, and how wide the fingers open, in metres."""
    blockers, gap, width = [], 0.0, up - low
    for gap in FINGER_CLEARANCES_M:
        sides = ((low - gap, -1), (up + gap, 1))
        blockers = [b for edge, side in sides if (b := _blocker(heights, fingers, strip, edge, side, tips)) is not None]
        if not blockers or width + 2 * gap > fingers.max_opening:
            break
    opening = min(width + 2 * gap, fingers.max_opening)
    local = strip.local
    palm = (np.abs(local[:, 1] - strip.across) < 0.04) & (np.abs(local[:, 0] - (low + up) / 2) < 0.045)
    palm_height = tips + fingers.tip_offset(opening) + fingers.palm_offset - 0.004
    palm_blockers = heights.labels[palm & (heights.heights > palm_height)]
    return [int(label) for label in (*blockers, *palm_blockers[:1])], opening


def _blocker(
    heights: SurfaceHeights, fingers: Fingers, strip: Strip, edge: float, side: int, tips: float
) -> int | None:
    """Return the label of what is where a finger must go; None if it is free."""
    out = side * (strip.local[:, 0] - edge)  # from the pad of the open finger
    near = np.abs(strip.local[:, 1] - strip.across) < fingers.pad_half_width + 0.003
    # 0.009: thickness of a finger at its tip
    tip = near & (out > -0.002) & (out < 0.009) & (heights.heights > tips - 0.002)
    back = near & (out > -0.002) & (out < fingers.depth) & (heights.heights > tips + 0.008)
    hit = np.flatnonzero(tip | back)
    return int(heights.labels[hit[0]]) if len(hit) else None
