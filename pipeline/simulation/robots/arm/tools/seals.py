"""Places of an object where the vacuum cup seals: smooth under its whole lip and strong enough.

They are sought from above first and, where there are none, on the sides.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.simulation.free_space import spread_out
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.tools.grasp import Grasp, GraspSearch, gripper_at
from pipeline.simulation.robots.arm.tools.grasp_sampling import SurfaceHeights, measure_heights
from pipeline.simulation.robots.arm.tools.vacuum import (
    CUP_RADIUS_M,
    PEEL_LIMIT_NM,
    PULL_LIMIT_N,
    SHEAR_LIMIT_N,
)

MAX_ROUGHNESS_M = 0.0022
"""Largest deviation of the surface under the lip from a plane that the bellows follow."""
MAX_TILT = np.radians(40)
"""Largest angle between a surface and the horizontal that the arm reaches from above."""
SAFETY = 0.6
"""Share of the cup's limits that the object's weight may take at rest."""
MAX_LEAN = np.radians(15)
"""Largest angle between an upright side and the vertical: the lip tilts as far on its bellows."""
SIDES = 16
"""Directions from which upright sides are looked at."""
STANDOFF_M = 0.004
"""Distance of the cup from the surface before it feels for contact."""
QUARTER_TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi)
"""Turns about the cup's axis that are tried: the cup is round."""
POROUS = ("sponge", "towel", "cloth", "fabric", "plush", "teddy", "net", "basket", "mesh")
"""Words in names and categories of objects through which air leaks."""
GRAVITY = 9.81


@dataclass(frozen=True, eq=False)
class _Lip:
    """The cup on one grid point."""

    point: np.ndarray
    normal: np.ndarray
    """Unit normal of the surface under the lip, upwards."""
    roughness: float
    """Largest deviation from a plane, in metres."""


def find_seals(physics: Physics, target: Object, max_grasps: int = 12) -> GraspSearch:
    """Return distinct places for the cup on an object at its current pose, best first, or why there is none."""
    if porous := next((word for word in POROUS if word in f"{target.name} {target.category}".lower()), ""):
        return GraspSearch((), "", f"no seal: air leaks through {target.name}, a {porous}")
    if target.mass * GRAVITY > SAFETY * PULL_LIMIT_N:
        heavy = f"{target.name} weighs {target.mass:.1f} kg"
        return GraspSearch((), "", f"no seal: {heavy}, the cup carries {SAFETY * PULL_LIMIT_N / GRAVITY:.1f} kg")
    heights = measure_heights(physics, target)
    middle = physics.centre_of_mass(target.name)[:2]
    found, refusals, covers = [], Counter[str](), Counter[int]()
    for i in np.flatnonzero(heights.own).tolist():
        lip = _lip_at(heights, i)
        refused = lip if isinstance(lip, str) else _refusal(lip, target, middle)
        if refused:
            refusals[refused] += 1
        elif isinstance(lip, _Lip):
            found.append(_grasp(lip, middle))
    found = found or list(_on_the_sides(physics, target))
    if not found:
        covers.update(heights.labels[(heights.heights > target.bottom + 0.01) & ~heights.own].tolist())
        cover = physics.label_name(covers.most_common(1)[0][0]) if covers and not heights.own.any() else ""
        reason = refusals.most_common(1)[0][0] if refusals else f"nothing of {target.name} is seen from above"
        return GraspSearch((), cover if cover in physics.addresses else "", f"no seal: {reason}")
    ordered = sorted(found, key=lambda grasp: grasp.cost)
    return GraspSearch(tuple(spread_out(ordered, lambda grasp: grasp.point, CUP_RADIUS_M, max_grasps)), "", "")


def _on_the_sides(physics: Physics, target: Object) -> Iterator[Grasp]:
    """Yield places on upright sides where the cup seals and carries the weight across its axis."""
    centre, weight = physics.centre_of_mass(target.name), target.mass * GRAVITY
    low, high = target.bottom + CUP_RADIUS_M + 0.01, target.top - CUP_RADIUS_M
    if low > high or weight > SAFETY * SHEAR_LIMIT_N:
        return
    for angle in np.linspace(-np.pi, np.pi, SIDES, endpoint=False) + target.yaw:
        outwards = np.array([np.cos(angle), np.sin(angle), 0.0])
        for height in np.unique(np.clip([centre[2], high], low, high)):
            begin = np.array([*centre[:2], height]) + (target.reach + 0.05) * outwards
            distance, label, normal = physics.ray(begin, -outwards)
            if label != physics.label_of(target.name) or abs(normal[2]) > np.sin(MAX_LEAN):
                continue
            normal = normal * np.sign(normal @ outwards)
            point = begin - distance * outwards
            lever = abs(float((point - centre) @ normal))
            rough = _roughness_around(physics, point, normal, label)
            if rough < MAX_ROUGHNESS_M and weight * lever < SAFETY * PEEL_LIMIT_NM:
                hand = gripper_at(point + STANDOFF_M * normal, _level_across(normal), -normal)
                cost = lever + abs(height - centre[2]) + 10 * rough
                yield Grasp(hand, point, (0.0, np.pi), 0.0, 0.0, cost)


def _level_across(normal: np.ndarray) -> np.ndarray:
    """Return the level unit vector (3,) across a unit vector that is not upright."""
    across = np.cross(normal, [0.0, 0.0, 1.0])
    return across / np.linalg.norm(across)


def _roughness_around(physics: Physics, point: np.ndarray, normal: np.ndarray, label: int) -> float:
    """Return how far a surface deviates from its plane under the lip, in metres; infinite beside the object."""
    level = _level_across(normal)
    across = np.cross(normal, level)
    off = []
    for angle in np.linspace(0, 2 * np.pi, 8, endpoint=False):
        around = point + CUP_RADIUS_M * (np.cos(angle) * level + np.sin(angle) * across)
        distance, hit, _ = physics.ray(around + 0.02 * normal, -normal)
        off.append(abs(distance - 0.02) if hit == label else np.inf)
    return max(off)


def _lip_at(heights: SurfaceHeights, index: int) -> _Lip | str:
    """Return the cup on a grid point, or why its lip does not lie on the object all around."""
    offsets = heights.points - heights.points[index]
    distance = np.linalg.norm(offsets, axis=1)
    under = distance < CUP_RADIUS_M + 0.25 * heights.pitch
    if not heights.own[under].all():
        return "the cup, 2.5 cm wide, lies nowhere with its whole lip on it"
    a = np.column_stack([offsets[under], np.ones(int(under.sum()))])
    plane, *_ = np.linalg.lstsq(a, heights.heights[under], rcond=None)
    normal = np.array([-plane[0], -plane[1], 1.0])
    normal /= np.linalg.norm(normal)
    rough = float(np.abs(a @ plane - heights.heights[under]).max()) * normal[2]
    return _Lip(np.array([*heights.points[index], plane[2]]), normal, rough)


def _refusal(lip: _Lip, target: Object, middle: np.ndarray) -> str:
    if lip.roughness > MAX_ROUGHNESS_M:
        return f"{target.name} is too curved or rough for the cup, which follows {MAX_ROUGHNESS_M * 1000:.0f} mm"
    if lip.normal[2] < np.cos(MAX_TILT):
        return f"{target.name} is steeper than {np.degrees(MAX_TILT):.0f} degrees everywhere"
    moment = target.mass * GRAVITY * float(np.linalg.norm(lip.point[:2] - middle))
    if moment > SAFETY * PEEL_LIMIT_NM:
        return f"{target.name} would peel off: nowhere near its middle does the cup lie flat"
    return ""


def _grasp(lip: _Lip, middle: np.ndarray) -> Grasp:
    across = np.cross(lip.normal, [1.0, 0, 0])
    hand = gripper_at(lip.point + STANDOFF_M * lip.normal, across / np.linalg.norm(across), -lip.normal)
    tilt = float(np.arccos(np.clip(lip.normal[2], -1, 1)))
    cost = float(np.linalg.norm(lip.point[:2] - middle)) + 10 * lip.roughness + 0.03 * tilt
    return Grasp(hand, lip.point, QUARTER_TURNS, 0.0, 0.0, cost)
