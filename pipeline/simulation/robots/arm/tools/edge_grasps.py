"""Grasps of what overhangs an edge: the gripper comes level from outside, one finger above the object, one below."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.collision import CollisionChecker
from pipeline.simulation.robots.arm.tools.grasp import DroppedGrasp, Grasp, gripper_at
from pipeline.simulation.robots.arm.tools.grasp_scoring import (
    FINGER_CLEARANCES_M,
    HALF_TURNS,
    MAX_SLANT,
)
from pipeline.simulation.robots.description import Fingers

MIN_OVERHANG_M = 0.022
"""Least depth by which an object overhangs where a finger gets under it."""
SEARCH_M, SEARCH_STEP_M = 0.4, 0.01
"""How far beyond an object an edge is looked for, and the first step."""
SQUARE = ("box", "cube")
OBLIQUE, OBLIQUE_COST_M = np.radians([-25.0, 25.0, -45.0, 45.0]), 0.1
"""Angles by which the gripper may come from beside the direction of a box's side, and the cost of each radian."""


@dataclass(frozen=True, eq=False)
class Edge:
    """The edge of what supports an object, in one level direction from its centre."""

    outwards: np.ndarray
    """Unit vector of shape (2,)."""
    lateral: float
    """Offset of the strip from the object's centre to the left of `outwards`, in metres."""
    front: float
    """Distance of the object's outermost point in the strip from its centre, in metres."""
    nearest: float
    """Distance at which the support ends first across the strip, in metres."""
    farthest: float
    """Distance from which on nothing supports the strip, in metres."""

    @property
    def overhang(self) -> float:
        """Depth by which the object overhangs over the whole strip, in metres; negative where it does not."""
        return self.front - self.farthest

    @property
    def inwards(self) -> np.ndarray:
        """Level unit vector towards the object, of shape (3,)."""
        return np.array([*-self.outwards, 0.0])

    def point(self, centre: np.ndarray, along: float) -> np.ndarray:
        """Return the ground point (2,) of the strip's middle line at a distance from the centre (2,)."""
        return centre + along * self.outwards + self.lateral * left_of(self.outwards)


def edge_grasps(
    physics: Physics, clearance: CollisionChecker, target: Object, fingers: Fingers
) -> tuple[list[Grasp], list[DroppedGrasp]]:
    """Return grasps of an object where it overhangs, the deepest first, and the candidates that were dropped."""
    clearance.refresh()
    found: list[Grasp] = []
    dropped: list[DroppedGrasp] = []
    for outwards, lateral, cost in _strips(target):
        edge = find_edge(physics, target, outwards, lateral, 0.0)
        if edge is None or edge.overhang < MIN_OVERHANG_M:
            continue
        result = _judge(physics, clearance, target, fingers, edge, cost)
        if isinstance(result, Grasp):
            found.append(result)
        else:
            dropped.append(result)
    return sorted(found, key=lambda grasp: grasp.cost), dropped


def directions(target: Object) -> Iterator[np.ndarray]:
    """Yield level unit vectors (2,) along which an object is held or pushed: its own axes, more for what is round."""
    # 12: directions that are tried around an object that is no box
    count = 4 if target.shape in SQUARE else 12
    for angle in target.yaw + np.arange(count) * 2 * np.pi / count:
        yield np.array([np.cos(angle), np.sin(angle)])


def find_edge(
    physics: Physics, target: Object, outwards: np.ndarray, lateral: float, beyond: float = SEARCH_M
) -> Edge | None:
    """Return where the support of an object ends in a direction (2,), up to `beyond` metres in front of it.

    None where it does not end, or where the object's outline leaves the strip.
    """
    centre, side = target.position[:2], left_of(outwards)
    ends, fronts = [], []
    # Half the width of the strip that a finger needs
    for aside in lateral + np.array([-1, 0, 1]) * 0.013:
        chord = chord_of(target, outwards, float(aside))
        if chord is None:
            return None
        start = max(min(0.0, chord[1]), chord[0])
        along = np.arange(start, chord[1] + beyond + SEARCH_STEP_M, SEARCH_STEP_M)
        bare = _is_bare(physics, target, centre + along[:, None] * outwards + aside * side)
        if not bare.any() or bare[0]:
            return None
        first = int(bare.argmax())
        low, high = along[first - 1], along[first]
        for _ in range(4):
            middle = (low + high) / 2
            if _is_bare(physics, target, (centre + middle * outwards + aside * side)[None])[0]:
                high = middle
            else:
                low = middle
        ends.append(float(high))
        fronts.append(chord[1])
    return Edge(outwards, lateral, min(fronts), min(ends), max(ends))


def chord_of(target: Object, outwards: np.ndarray, lateral: float) -> tuple[float, float] | None:
    """Return where a line through an object's outline begins and ends, in metres from its centre; None if it misses.

    The line runs along `outwards` (2,), `lateral` metres to the left of the centre.
    """
    points = target.outline - target.position[:2]
    along, off = points @ outwards, points @ left_of(outwards) - lateral
    next_along, next_off = np.roll(along, -1), np.roll(off, -1)
    crosses = (off * next_off <= 0) & (off != next_off)
    if not crosses.any():
        return None
    share = off[crosses] / (off - next_off)[crosses]
    hits = along[crosses] + share * (next_along - along)[crosses]
    return float(hits.min()), float(hits.max())


def left_of(direction: np.ndarray) -> np.ndarray:
    """Return a direction (2,) turned by a quarter anticlockwise."""
    return np.array([-direction[1], direction[0]])


def _is_bare(physics: Physics, target: Object, points: np.ndarray) -> np.ndarray:
    """Whether nothing lies closely below an object at ground points (N, 2), of shape (N,)."""
    heights, _, _ = physics.surface(points, without=target.name)
    # What lies this far below an object does not support it
    return ~(heights > target.bottom - 0.03)


def _strips(target: Object) -> Iterator[tuple[np.ndarray, float, float]]:
    """Yield the directions (2,) and lateral offsets in metres that are tried, each with its extra cost."""
    for outwards in directions(target):
        if target.shape not in SQUARE:
            yield outwards, 0.0, 0.0
            continue
        half = float(np.ptp(target.outline @ left_of(outwards))) / 2
        # Places beside the middle of a side that are tried, as shares of its half width
        for share in (0.0, -0.5, 0.5):
            yield outwards, share * half, abs(share) * half
        for angle in OBLIQUE:
            yield planar_rotation(angle) @ outwards, 0.0, OBLIQUE_COST_M * abs(angle)


def _judge(
    physics: Physics, clearance: CollisionChecker, target: Object, fingers: Fingers, edge: Edge, extra: float
) -> Grasp | DroppedGrasp:
    """Return the grasp at an edge with an extra cost, or why there is none."""
    # 0.006: distance of the fingertips from the edge
    # 0.045: how far the fingertips reach over the object at most; the palm stays clear of it
    tips = max(edge.farthest + 0.006, edge.front - 0.045)
    faces = _faces(physics, target, fingers, edge, tips)
    low, up, slope = faces or (target.bottom, target.top, np.inf)
    width = up - low
    point = np.array([*edge.point(target.position[:2], tips), (low + up) / 2])
    palm = point - fingers.tip_offset(width) * edge.inwards
    hand = gripper_at(palm, np.array([0, 0, 1.0]), edge.inwards)
    if width > fingers.max_object:
        return DroppedGrasp(hand, width, "wide")
    if slope > MAX_SLANT:
        return DroppedGrasp(hand, width, "sloped")
    opening = min(width + 2 * FINGER_CLEARANCES_M[0], fingers.max_opening)
    if hit := clearance.gripper_collision(hand, opening):
        return DroppedGrasp(hand, width, "blocked", hit)
    cost = extra - (edge.front - tips)
    return Grasp(hand, point, HALF_TURNS, width, opening, cost, at_edge=True)


def _faces(
    physics: Physics, target: Object, fingers: Fingers, edge: Edge, tips: float
) -> tuple[float, float, float] | None:
    """Return lowest and highest z of an object between the pads, and its steepest slope there; None if a ray misses."""
    label, heights, slopes = physics.label_of(target.name), [], []
    for along in np.linspace(tips + 0.003, edge.front - 0.004, 3):
        for aside in np.array([-0.7, 0.0, 0.7]) * fingers.pad_half_width:
            point = edge.point(target.position[:2], float(along)) + aside * left_of(edge.outwards)
            for start, up in ((target.top + 0.02, -1.0), (target.bottom - 0.02, 1.0)):
                distance, hit, normal = physics.ray(np.array([*point, start]), np.array([0, 0, up]))
                if hit != label:
                    return None
                heights.append(start + up * distance)
                slopes.append(float(np.hypot(*normal[:2])) / max(abs(float(normal[2])), 1e-6))
    return min(heights), max(heights), float(np.median(slopes))
