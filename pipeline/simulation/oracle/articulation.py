"""The floating gripper opens and shuts parts: it touches a part's side, holds on, and follows the joint.

It holds by the same weld that carries objects, closed where the cup touches. The joint moves by the forces of the
physics alone, and so does whatever is dragged along.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.oracle.gripper import CUP_RADIUS, FEEL_SPEED, SuctionGripper
from pipeline.simulation.oracle.handles import APPROACH, GraspPoint, grasp_points
from pipeline.simulation.oracle.moves import PartMotion
from pipeline.simulation.physics import TIMESTEP

PULL_SPEED = 0.15
"""Mean speed of the held point, in m/s."""
CUP_MIDDLE = 0.006
"""Metres from the cup's tip to its middle, where it touches a side."""
RETREAT = 0.06
"""Metres that the hand backs off after releasing."""


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
    before = point.position + point.outwards * (CUP_RADIUS + APPROACH) - [0, 0, CUP_MIDDLE]
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
    steps = max(1, round((0.2 + abs(travel) * max(reach, 0.02) / PULL_SPEED) / TIMESTEP))
    s = np.arange(1, steps + 1) / steps
    for done in travel * (10 * s**3 - 15 * s**4 + 6 * s**5):
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
    hand.go(hand.tip + RETREAT * outwards)
    hand.go(np.array([*hand.tip[:2], ceiling]))
