"""Pushes that bring a flat object over an edge, where the fingers get under it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.simulation.objects import Object, Region, hull
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.kinematics import gripper_pose
from pipeline.simulation.robots.arm.tools.edge_grasps import (
    MIN_OVERHANG_M,
    SEARCH_M,
    chord_of,
    directions,
    find_edge,
    left_of,
)
from pipeline.simulation.robots.arm.tools.grasp import Grasp
from pipeline.simulation.robots.arm.tools.grasp_scoring import HALF_TURNS
from pipeline.simulation.robots.description import Fingers

STABLE_M = 0.012
"""Distance of the centre of mass from the edge after a push, at least."""
SPARE_M = 0.004
"""How much deeper than needed for a grasp it must overhang: a push may end a little short."""
START_GAP_M = 0.012
"""Distance of the fingers from the object before they push."""


@dataclass(frozen=True, eq=False)
class EdgePush:
    """A straight push of an object with both open fingers behind it, so that it does not turn."""

    grasp: Grasp
    """The open gripper before the push, looking down."""
    motion: np.ndarray
    """Level motion of the object, world, of shape (3,)."""

    @property
    def path(self) -> np.ndarray:
        """Level motion of the gripper from its start on, world, of shape (3,)."""
        return self.motion * (1 + START_GAP_M / float(np.linalg.norm(self.motion)))


def edge_pushes(
    physics: Physics, target: Object, others: Sequence[Object], fingers: Fingers
) -> tuple[tuple[EdgePush, ...], str]:
    """Return pushes of an object to an edge, the shortest first; where there is none, why not.

    Without a reason for an object that is too high to be pushed.
    """
    # Highest object that is pushed: a higher one may topple
    if target.height > 0.06:
        return (), ""
    found: list[EdgePush] = []
    reason = f"no edge within {SEARCH_M * 100:.0f} cm of {target.name} over which it could be pushed"
    for outwards in directions(target):
        edge = find_edge(physics, target, outwards, 0.0)
        if edge is None:
            continue
        mass = float((physics.centre_of_mass(target.name)[:2] - target.position[:2]) @ outwards)
        # 0.042: depth by which an object overhangs after a push, where it is long enough
        distance = min(0.042 + edge.farthest - edge.front, edge.nearest - mass - STABLE_M)
        if distance <= 0.003 or edge.overhang + distance < MIN_OVERHANG_M + SPARE_M:
            reason = f"{target.name} is too short to be pushed over the edge without falling"
            continue
        if blocker := _in_the_way(target, distance * outwards, others):
            reason = f"{target.name} would collide with {blocker} when it is pushed to the edge"
            continue
        found.append(straight_push(target, outwards, distance, fingers))
    found.sort(key=lambda push: float(np.linalg.norm(push.motion)))
    return tuple(found), "" if found else reason


def straight_push(target: Object, outwards: np.ndarray, distance: float, fingers: Fingers) -> EdgePush:
    """Return the push of an object by `distance` metres along `outwards` (2,)."""
    side, motion = left_of(outwards), np.array([*distance * outwards, 0.0])
    width = float(np.ptp(target.outline @ side))
    opening = float(np.clip(width - 0.03, 0.02, fingers.max_opening))
    reach = opening / 2 + np.array([0.0, 0.004, 0.008])
    chords = [chord_of(target, outwards, sign * aside) for aside in reach.tolist() for sign in (-1, 1)]
    rear = min([chord[0] for chord in chords if chord], default=float((target.outline - target.position[:2]).min()))
    start = target.position[:2] + (rear - fingers.pad_half_width - START_GAP_M) * outwards
    # Height of the fingertips above what the object lies on
    height = target.bottom + 0.004 + fingers.tip_offset(opening)
    hand = gripper_pose(np.array([*start, height]), float(np.arctan2(side[1], side[0])))
    grasp = Grasp(hand, hand[:3, 3].copy(), HALF_TURNS, 0.0, opening, float(np.linalg.norm(motion)), pushes=True)
    return EdgePush(grasp, motion)


def _in_the_way(target: Object, motion: np.ndarray, others: Sequence[Object]) -> str:
    """Return the name of what an object would hit on its straight way (2,); empty for nothing."""
    swept = Region(hull(np.concatenate([target.outline, target.outline + motion])))
    for other in others:
        beside = other.top > target.bottom + 0.002 and other.bottom < target.top
        # Kept free on either side of an object while it is pushed
        if beside and _distance(swept, Region(other.outline)) < 0.004:
            return other.name
    return ""


def _distance(one: Region, other: Region) -> float:
    """Return the distance of two convex regions in metres; 0 where they overlap."""
    difference = Region(hull((one.polygon[:, None] - other.polygon).reshape(-1, 2)))
    return max(float(difference.distance(np.zeros(2))), 0.0)
