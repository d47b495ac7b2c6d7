"""Places where the closed hand, or the cup, pushes a drawer or a door."""

from dataclasses import replace

import numpy as np

from pipeline.simulation.arm.tools.grasp import Grasp
from pipeline.simulation.arm.tools.part_fronts import hand_before, leverage, part_fronts, spread_out
from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.physics import Physics

STANDOFF_M = 0.004
"""Distance of the hand from the front before it feels for contact."""
PITCHES_DEG = (0.0, 30.0, 55.0, 75.0)
"""Angles by which the hand may come from above the level, in degrees."""
MIN_COSINE = 0.8
"""Cosine of the largest angle between the push and the part's motion."""
TURNS = (0.0, np.pi / 2, np.pi, -np.pi / 2)


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
            if -float(motion @ outwards) < MIN_COSINE:
                continue
            inset = float(np.nanmax(depth) - depth[row, column])  # a handle is in the way beside it
            cost = inset - leverage(part, point, outwards)
            hand = hand_before(point + STANDOFF_M * outwards, outwards, front.side, beyond=tip)
            found.append((cost, Grasp(hand, point, TURNS, 0.0, 0.0, cost, part.name, pushes=True)))
    places = spread_out(found, max_places)
    return tuple(_from_above(grasp, float(pitch), tip) for pitch in np.radians(PITCHES_DEG) for grasp in places)


def _from_above(grasp: Grasp, pitch: float, tip: float) -> Grasp:
    """Return a level push that comes from above by `pitch` radians instead."""
    outwards, closing = -grasp.approach, grasp.hand[:3, 1]
    hand = hand_before(grasp.hand[:3, 3] + tip * grasp.approach, outwards, closing, pitch, tip)
    return replace(grasp, hand=hand)
