"""Where the hand takes hold of a drawer, a door or a knob: from the side, where it sticks out and the hand gets to."""

from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.simulation.gripper import CUP
from pipeline.simulation.parts import Part
from pipeline.simulation.physics import Physics

PITCH = 0.01
"""Of the grid of rays, in metres."""
AWAY = 0.03
"""Metres before the part at which the hand comes down."""
FACING = 0.8
"""Least part of a surface's normal that faces the hand."""
LOW = 0.012
"""Metres above the table below which the hand does not reach."""
ROOM = 0.0075
"""Radius in metres of the column above a place that has to be free: the cup, less what it may brush."""
MOST = 4
"""Places that are tried."""
ASTRIDE = 3.0
"""Metres of sticking out that going along with the part is worth; of leverage the same as of sticking out."""


@dataclass(frozen=True, eq=False)
class Hold:
    """A place on a part's side."""

    point: np.ndarray
    """World, of shape (3,)."""
    outwards: np.ndarray
    """Unit vector (3,), level, from the part towards the hand."""


def holds(physics: Physics, name: str, part: Part) -> tuple[Hold, ...]:
    """The best places first, at most MOST; empty where the hand gets to none."""
    ahead = part.heading(part.corners.mean(0)) * [1, 1, 0]
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 0.3 else np.array([1.0, 0, 0])
    aside = np.array([-ahead[1], ahead[0], 0])
    found = [
        (_worth(part, hold), hold) for way in (ahead, -ahead, aside, -aside) for hold in _seen(physics, name, part, way)
    ]
    kept: list[Hold] = []
    for _, hold in sorted(found, key=lambda one: -one[0]):
        fresh = all(np.linalg.norm(hold.point - other.point) > 0.02 for other in kept)
        if fresh and _reached(physics, hold):
            kept.append(hold)
        if len(kept) == MOST:
            break
    return tuple(kept)


def _seen(physics: Physics, name: str, part: Part, way: np.ndarray) -> list[Hold]:
    """What level rays against `way` hit of the part first."""
    side = np.array([-way[1], way[0], 0])
    low, high = part.corners.min(0)[2], part.corners.max(0)[2]
    across, start = part.corners @ side, float((part.corners @ way).max()) + 0.15
    geoms = physics.parts[name, part.name].geoms
    groups, geom, normal = np.array([1, 0, 0, 1, 1, 0], np.uint8), np.zeros(1, np.int32), np.zeros(3)
    found = []
    for z in np.arange(max(low, LOW) + PITCH / 3, high, PITCH * 2 / 3):
        for along in np.arange(across.min() + PITCH / 2, across.max(), PITCH):
            eye = start * way + along * side + [0, 0, z]
            far = mujoco.mj_ray(physics.model, physics.data, eye, -way, groups, 1, -1, geom, normal)
            if far >= 0 and geom[0] in geoms and normal @ way > FACING:
                found.append(Hold(eye - far * way, way))
    return found


def _worth(part: Part, hold: Hold) -> float:
    """In metres: how far it sticks out, how far from the hinge it is, and whether pulling there pulls the part."""
    out = float((hold.point - part.corners.mean(0)) @ hold.outwards)
    along = abs(float(part.heading(hold.point) @ hold.outwards))
    if part.kind == "slide":
        off = hold.point - part.corners.mean(0)
        return ASTRIDE * along + out - 0.1 * float(np.linalg.norm(off - (off @ hold.outwards) * hold.outwards))
    arm = hold.point - part.anchor
    lever = float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))
    return ASTRIDE * along + out + lever


def _reached(physics: Physics, hold: Hold) -> bool:
    """Whether nothing stands where the hand comes down and goes to the part."""
    turn = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    disc = np.concatenate([np.zeros((1, 2)), ROOM * np.stack([np.cos(turn), np.sin(turn)], -1)])
    ways = np.linspace(CUP, CUP + AWAY, 5)
    places = hold.point[:2] + ways[:, None] * hold.outwards[:2]
    heights, _, _ = physics.surface((places[:, None] + disc).reshape(-1, 2))
    return bool(np.nan_to_num(heights, nan=0.0).max() < hold.point[2] - 0.008)
