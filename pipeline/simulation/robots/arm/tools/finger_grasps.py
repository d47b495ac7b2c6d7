"""Grasps of the two-finger gripper: candidates are sampled and judged, from above first, then tilted and level."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from pipeline.geometry import planar_rotation
from pipeline.simulation.objects import Object
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.collision import CollisionChecker
from pipeline.simulation.robots.arm.tools.edge_grasps import edge_grasps
from pipeline.simulation.robots.arm.tools.grasp import DroppedGrasp, Grasp, GraspSearch
from pipeline.simulation.robots.arm.tools.grasp_sampling import (
    TILTS,
    RunCandidate,
    measure_heights,
    sample_from_above,
    sample_from_the_side,
)
from pipeline.simulation.robots.arm.tools.grasp_scoring import (
    least_cost,
    line_cost,
    score_from_above,
    score_from_the_side,
)
from pipeline.simulation.robots.description import Fingers
from pipeline.simulation.robots.oracle import placement

MAX_OF_A_TILT, MAX_SCORED = 3, 50
"""Grasps of each tilt that are kept, and candidates that are judged for them."""

_Candidate = TypeVar("_Candidate")
Found = tuple[list[Grasp], list[DroppedGrasp]]


def find_grasps(
    physics: Physics, target: Object, fingers: Fingers, clearance: CollisionChecker | None = None, max_grasps: int = 16
) -> GraspSearch:
    """Return distinct grasps of an object at its current pose, best first, from above and then from the side.

    Where there are none, those at an edge that the object overhangs. `clearance` checks the gripper for grasps from the
    side and at an edge; without it, only those from above are returned.
    """
    found, dropped = _from_above(physics, target, fingers, max_grasps)
    if clearance is not None:
        beside, unfit = _from_the_side(physics, clearance, target, fingers)
        found, dropped = [*found, *beside], [*dropped, *unfit]
    if clearance is not None and not found:
        found, unfit = edge_grasps(physics, clearance, target, fingers)
        dropped = [*dropped, *unfit]
    blockers = Counter(d.blocker for d in dropped if d.blocker != target.name and d.blocker in physics.addresses)
    blocked_by = blockers.most_common(1)[0][0] if blockers else ""
    refusal = "" if found or blocked_by else _no_grasp(target, fingers, dropped)
    return GraspSearch(tuple(found), blocked_by, refusal, tuple(dropped))


def _from_above(physics: Physics, target: Object, fingers: Fingers, max_grasps: int) -> Found:
    """Measuring flanks takes most of the time: it goes in the order of the least cost until there are enough grasps."""
    heights = measure_heights(physics, target)
    candidates = [
        (least_cost(candidate, heights), candidate) for candidate in sample_from_above(heights, target, fingers)
    ]

    def is_enough(cost: float, found: Sequence[Grasp]) -> bool:
        return len(found) >= max_grasps and cost > min(g.cost for g in found)

    found, dropped = _judge(
        sorted(candidates, key=lambda pair: pair[0]),
        lambda candidate: score_from_above(heights, target, fingers, candidate),
        lambda candidate, grasp: _repeats(candidate, grasp, target),
        is_enough,
    )
    return found[:max_grasps], dropped


def _from_the_side(physics: Physics, clearance: CollisionChecker, target: Object, fingers: Fingers) -> Found:
    clearance.refresh()
    lines = [(line_cost(candidate, target), candidate) for candidate in sample_from_the_side(physics, target)]
    found: list[Grasp] = []
    dropped: list[DroppedGrasp] = []
    for tilt in TILTS:
        grasps, unfit = _judge(
            sorted((pair for pair in lines if abs(pair[1].tilt) == tilt), key=lambda pair: pair[0])[:MAX_SCORED],
            lambda candidate: score_from_the_side(physics, clearance, target, fingers, candidate),
            lambda candidate, grasp: False,
            lambda cost, found: len(found) >= MAX_OF_A_TILT,
        )
        found, dropped = found + grasps, dropped + unfit
    return found, dropped


def _judge(
    candidates: Sequence[tuple[float, _Candidate]],
    score: Callable[[_Candidate], Grasp | DroppedGrasp],
    repeats: Callable[[_Candidate, Grasp], bool],
    is_enough: Callable[[float, Sequence[Grasp]], bool],
) -> Found:
    """Judge candidates in the order of their cost; return distinct grasps, best first, and what was dropped."""
    found: list[Grasp] = []
    dropped: list[DroppedGrasp] = []
    for cost, candidate in candidates:
        if any(repeats(candidate, grasp) for grasp in found):
            continue
        result = score(candidate)
        if isinstance(result, DroppedGrasp):
            dropped.append(result)
        elif not any(result.similar(other) for other in found):
            found.append(result)
        if is_enough(cost, found):
            break
    return sorted(found, key=lambda grasp: grasp.cost), dropped


def _repeats(candidate: RunCandidate, grasp: Grasp, target: Object) -> bool:
    """Whether a candidate is within 8 mm and about 17 degrees of a grasp."""
    yaw = candidate.strip.yaw
    offset = planar_rotation(yaw) @ np.array([(candidate.low + candidate.up) / 2, candidate.strip.across])
    closing = abs(float(grasp.hand[:2, 1] @ [np.cos(yaw), np.sin(yaw)]))
    near = float(np.hypot(*(target.position[:2] + offset - grasp.point[:2]))) < 0.008
    return near and closing > 0.955 and abs(candidate.tips - grasp.point[2]) < 0.008


def _no_grasp(target: Object, fingers: Fingers, dropped: Sequence[DroppedGrasp]) -> str:
    limit = f"the gripper takes {fingers.max_object * 100:.1f} cm at most"
    narrow = placement.smallest_width(target.outline) <= fingers.max_object or target.container
    if narrow and any(d.cause == "sloped" for d in dropped):
        return f"no grasp: {target.name} slopes where it is narrow enough for the fingers; {limit}"
    if widths := [d.width for d in dropped if d.cause == "wide"]:
        return f"no grasp: {target.name} is {min(widths) * 100:.1f} cm wide where it is narrowest, {limit}"
    return f"no grasp: no two opposite sides of {target.name} can be reached; {limit}"
