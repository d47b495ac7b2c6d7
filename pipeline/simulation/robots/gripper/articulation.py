"""The floating gripper opens and shuts parts: it touches a part's side, holds on, and follows the joint.

It touches where the part protrudes and the hand can reach it.
It holds by the same weld that carries objects, closed where the cup touches. The joint moves by the forces of the
physics alone, and so does whatever is dragged along.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.goals.goal import PartMotion
from pipeline.simulation.physics import TIMESTEP, Physics
from pipeline.simulation.robots.gripper.gripper import CUP_RADIUS, FEEL_SPEED, SuctionGripper, minimum_jerk

RAY_PITCH = 0.01
"""Pitch of the grid of rays, in metres."""
APPROACH = 0.03
"""Metres in front of the part at which the hand comes down."""
MAX_POINTS = 4
"""Grasp points that are tried."""
ALONG_BONUS = 3.0
"""Metres of protrusion or leverage that pulling along the part's motion is worth."""


@dataclass(frozen=True, eq=False)
class GraspPoint:
    """A point on a part's side."""

    position: np.ndarray
    """World, of shape (3,)."""
    outwards: np.ndarray
    """Level unit vector (3,) from the part towards the hand."""


def move_part(hand: SuctionGripper, motion: PartMotion, ceiling: float) -> str:
    """Open or shut a part until it is open by `motion.share`. Return why it failed; empty on success.

    `ceiling` is a height in metres at which the hand can travel freely.
    """
    name, part = motion.object, motion.part
    physics = hand.physics
    hand.release()
    now = physics.state()[name].part(part)
    if not now.upright:
        return f"{part} of {name} turns about a level hinge, and this gripper turns things about the vertical only"
    points = grasp_points(physics, name, now)
    if not points:
        return f"there is no place on {part} of {name} that the hand gets to from the side"
    for point in points:
        if _touch(hand, name, now, point, ceiling):
            hand.grip(f"{name} {part}")
            _follow_joint(hand, physics.state()[name].part(part), motion.share)
            hand.release()
            _back_off(hand, point, now, physics.state()[name].part(part), ceiling)
            physics.settle(1.5)
            return ""
        hand.go(np.array([*hand.tip[:2], ceiling]))
    return f"the hand came to nothing that moves at {part} of {name}"


def _touch(hand: SuctionGripper, name: str, part: ArticulatedPart, point: GraspPoint, ceiling: float) -> bool:
    """Come down in front of a grasp point and approach it. Return whether the cup touched the part."""
    physics = hand.physics
    # 0.006: metres from the cup's tip to its middle, where it touches a side
    before = point.position + point.outwards * (CUP_RADIUS + APPROACH) - [0, 0, 0.006]
    hand.go(np.array([*hand.tip[:2], max(ceiling, hand.tip[2])]))
    hand.go(np.array([*before[:2], ceiling]))
    hand.go(before)
    mine = physics.parts[name, part.name].geoms
    for _ in range(round((APPROACH + 0.012) / (FEEL_SPEED * TIMESTEP))):
        physics.data.ctrl[:2] -= FEEL_SPEED * TIMESTEP * point.outwards[:2]
        physics.step()
        touched = physics.geoms_touching_gripper()
        if len(touched):
            hand.stop()
            return bool(np.isin(touched, mine).any())
    hand.stop()
    return False


def _follow_joint(hand: SuctionGripper, part: ArticulatedPart, share: float) -> None:
    """Move along the joint's path, a smooth minimum-jerk motion; the hand turns with a hinge."""
    start, turn = hand.tip, hand.turn
    travel = share * part.end - part.value
    arm = start - part.anchor
    reach = 1.0 if part.kind == "slide" else float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))
    # 0.15: mean speed of the held point, in m/s
    steps = max(1, round((0.2 + abs(travel) * max(reach, 0.02) / 0.15) / TIMESTEP))
    for done in travel * minimum_jerk(steps):
        tip = part.displaced(start[None], done)[0]
        spun = 0.0 if part.kind == "slide" else done * np.sign(part.axis[2])
        hand.physics.data.ctrl[:4] = [*(tip - hand.home), turn + spun]
        hand.physics.step()
    hand.physics.wait(0.15)


def _back_off(
    hand: SuctionGripper, point: GraspPoint, before: ArticulatedPart, now: ArticulatedPart, ceiling: float
) -> None:
    """Move back from the grasp point, then up."""
    outwards = point.outwards
    if now.kind == "hinge":
        outwards = Rotation.from_rotvec((now.value - before.value) * now.axis).apply(outwards)
    # Metres that the hand backs off after releasing
    hand.go(hand.tip + 0.06 * outwards)
    hand.go(np.array([*hand.tip[:2], ceiling]))


def grasp_points(physics: Physics, name: str, part: ArticulatedPart) -> tuple[GraspPoint, ...]:
    """Return at most MAX_POINTS grasp points on a part of an object, best first; empty where none is reached."""
    ahead = part.heading(part.corners.mean(0)) * [1, 1, 0]
    length = float(np.linalg.norm(ahead))
    ahead = ahead / length if length > 0.3 else np.array([1.0, 0, 0])
    sideways = np.array([-ahead[1], ahead[0], 0])
    scored = [
        (_score(part, point), point)
        for direction in (ahead, -ahead, sideways, -sideways)
        for point in _visible_points(physics, name, part, direction)
    ]
    chosen: list[GraspPoint] = []
    for _, point in sorted(scored, key=lambda entry: -entry[0]):
        distinct = all(np.linalg.norm(point.position - other.position) > 0.02 for other in chosen)
        if distinct and _is_reachable(physics, point):
            chosen.append(point)
        if len(chosen) == MAX_POINTS:
            break
    return tuple(chosen)


def _visible_points(physics: Physics, name: str, part: ArticulatedPart, direction: np.ndarray) -> list[GraspPoint]:
    """Return where level rays against `direction` hit the part first."""
    side = np.array([-direction[1], direction[0], 0])
    low, high = part.corners.min(0)[2], part.corners.max(0)[2]
    across, start = part.corners @ side, float((part.corners @ direction).max()) + 0.15
    geoms = physics.parts[name, part.name].geoms
    found = []
    # 0.012: metres above the table below which the hand does not reach
    for z in np.arange(max(low, 0.012) + RAY_PITCH / 3, high, RAY_PITCH * 2 / 3):
        for along in np.arange(across.min() + RAY_PITCH / 2, across.max(), RAY_PITCH):
            origin = start * direction + along * side + [0, 0, z]
            distance, geom, normal = physics.ray_to_geom(origin, -direction)
            # Smallest component of a surface's normal towards the hand
            if distance >= 0 and geom in geoms and normal @ direction > 0.8:
                found.append(GraspPoint(origin - distance * direction, direction))
    return found


def _score(part: ArticulatedPart, point: GraspPoint) -> float:
    """Return metres of protrusion and of leverage, plus a bonus where pulling there moves the part."""
    out = float((point.position - part.corners.mean(0)) @ point.outwards)
    along = abs(float(part.heading(point.position) @ point.outwards))
    if part.kind == "slide":
        off = point.position - part.corners.mean(0)
        return ALONG_BONUS * along + out - 0.1 * float(np.linalg.norm(off - (off @ point.outwards) * point.outwards))
    arm = point.position - part.anchor
    lever = float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))
    return ALONG_BONUS * along + out + lever


def _is_reachable(physics: Physics, point: GraspPoint) -> bool:
    """Return whether nothing stands where the hand comes down and approaches the part."""
    angle = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    # Radius in metres of the free column above a grasp point: the cup, less what it may brush
    disc = np.concatenate([np.zeros((1, 2)), 0.0075 * np.stack([np.cos(angle), np.sin(angle)], -1)])
    steps = np.linspace(CUP_RADIUS, CUP_RADIUS + APPROACH, 5)
    places = point.position[:2] + steps[:, None] * point.outwards[:2]
    heights, _, _ = physics.surface((places[:, None] + disc).reshape(-1, 2))
    return bool(np.nan_to_num(heights, nan=0.0).max() < point.position[2] - 0.008)
