"""Grasps of drawers and doors from the front: the cup on a smooth place, the fingers around a handle, or a push."""

from dataclasses import replace

import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.free_space import spread_out
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.tools.grasp import Grasp
from pipeline.simulation.robots.arm.tools.part_fronts import PITCH_M, SPREAD_M, hand_before, leverage, part_fronts
from pipeline.simulation.robots.arm.tools.seals import MAX_ROUGHNESS_M, STANDOFF_M
from pipeline.simulation.robots.arm.tools.vacuum import CUP_RADIUS_M
from pipeline.simulation.robots.description import Fingers

PUSH_TURNS = (0.0, np.pi / 2, np.pi, -np.pi / 2)


def cup_grasps(physics: Physics, name: str, part: ArticulatedPart, max_grasps: int = 6) -> tuple[Grasp, ...]:
    """Return places on a part where the cup seals, those with the best leverage first."""
    found: list[tuple[float, Grasp]] = []
    for front in part_fronts(physics, name, part):
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
                hand = hand_before(point + STANDOFF_M * front.outwards, front.outwards, front.side)
                turns = (0.0, np.pi, np.pi / 2, -np.pi / 2)
                cost = -leverage(part, point, front.outwards)
                found.append((cost, Grasp(hand, point, turns, 0.0, 0.0, cost, part.name)))
    return _spread_out(found, max_grasps)


def handle_grasps(
    physics: Physics, name: str, part: ArticulatedPart, fingers: Fingers, max_grasps: int = 6
) -> tuple[Grasp, ...]:
    """Return grasps of what protrudes from a part's front and is narrow enough for the fingers."""
    found: list[tuple[float, Grasp]] = []
    for front in part_fronts(physics, name, part):
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
                hand = hand_before(tip, front.outwards, closing, float(pitch), fingers.tip_offset(width))
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
    for front in part_fronts(physics, name, part):
        depth, outwards = front.depth, front.outwards
        for row, column in np.argwhere(np.isfinite(depth)):
            point = front.points[row, column]
            motion = np.sign(travel * part.end) * part.heading(point)
            # Cosine of the largest angle between the push and the part's motion
            if -float(motion @ outwards) < 0.8:
                continue
            inset = float(np.nanmax(depth) - depth[row, column])  # a handle is in the way beside it
            cost = inset - leverage(part, point, outwards)
            hand = hand_before(point + STANDOFF_M * outwards, outwards, front.side, beyond=tip)
            found.append((cost, Grasp(hand, point, PUSH_TURNS, 0.0, 0.0, cost, part.name, pushes=True)))
    places = _spread_out(found, max_places)
    # Angles by which the hand may come from above the level, in degrees
    return tuple(
        _from_above(grasp, float(pitch), tip) for pitch in np.radians((0.0, 30.0, 55.0, 75.0)) for grasp in places
    )


def _from_above(grasp: Grasp, pitch: float, tip: float) -> Grasp:
    """Return a level push that comes from above by `pitch` radians instead."""
    outwards, closing = -grasp.approach, grasp.hand[:3, 1]
    hand = hand_before(grasp.hand[:3, 3] + tip * grasp.approach, outwards, closing, pitch, tip)
    return replace(grasp, hand=hand)


def _spread_out(found: list[tuple[float, Grasp]], most: int) -> tuple[Grasp, ...]:
    """Return the grasps of least cost, at most so many, that are SPREAD_M apart, from pairs of a cost and a grasp."""
    ordered = (grasp for _, grasp in sorted(found, key=lambda entry: entry[0]))
    return tuple(spread_out(ordered, lambda grasp: grasp.point, SPREAD_M, most))
