"""The floating gripper opens and shuts: it touches the side of a part, holds on there, and goes where the joint leads.

It holds by the weld that carries things, closed where the cup touches. The joint moves by the forces of the physics
alone, and so does whatever is dragged along.
"""

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.simulation.gripper import CUP, FEEL_SPEED, Gripper
from pipeline.simulation.handles import AWAY, Hold, holds
from pipeline.simulation.parts import Part
from pipeline.simulation.physics import TIMESTEP

SPEED = 0.15
"""Mean speed of the place that is held, in m/s."""
TIP = 0.006
"""Metres from the cup's tip to its middle, where it touches a side."""
BACK = 0.06
"""Metres that the hand goes back when it has let go."""


def pull(hand: Gripper, name: str, part: str, share: float, ceiling: float) -> str:
    """Opens or shuts a part until it is open by that share; says why not, empty when it holds on and has gone there."""
    physics = hand.physics
    now = physics.state()[name].part(part)
    if not now.upright:
        return f"{part} of {name} turns about a level hinge, and this gripper turns things about the vertical only"
    places = holds(physics, name, now)
    if not places:
        return f"there is no place on {part} of {name} that the hand gets to from the side"
    for hold in places:
        if _touch(hand, name, now, hold, ceiling):
            hand.grip(f"{name} {part}")
            _lead(hand, physics.state()[name].part(part), share)
            hand.release()
            _leave(hand, hold, now, physics.state()[name].part(part), ceiling)
            physics.settle(1.5)
            return ""
        hand.go(np.array([*hand.tip[:2], ceiling]))
    return f"the hand came to nothing that moves at {part} of {name}"


def _touch(hand: Gripper, name: str, part: Part, hold: Hold, ceiling: float) -> bool:
    """Comes down before the place and goes to it until it touches the part."""
    physics = hand.physics
    before = hold.point + hold.outwards * (CUP + AWAY) - [0, 0, TIP]
    hand.go(np.array([*hand.tip[:2], max(ceiling, hand.tip[2])]))
    hand.go(np.array([*before[:2], ceiling]))
    hand.go(before)
    mine = physics.parts[name, part.name].geoms
    for _ in range(round((AWAY + 0.012) / (FEEL_SPEED * TIMESTEP))):
        physics.data.ctrl[:2] -= FEEL_SPEED * TIMESTEP * hold.outwards[:2]
        physics.step()
        touched = physics.touched_by_hand()
        if len(touched):
            hand.stop()
            return bool(np.isin(touched, mine).any())
    hand.stop()
    return False


def _lead(hand: Gripper, part: Part, share: float) -> None:
    """Goes along the joint's way, a smooth minimum-jerk motion; the hand turns with what turns."""
    start, turn = hand.tip, hand.turn
    way = share * part.end - part.value
    arm = start - part.anchor
    reach = 1.0 if part.kind == "slide" else float(np.linalg.norm(arm - (arm @ part.axis) * part.axis))
    steps = max(1, round((0.2 + abs(way) * max(reach, 0.02) / SPEED) / TIMESTEP))
    s = np.arange(1, steps + 1) / steps
    for done in way * (10 * s**3 - 15 * s**4 + 6 * s**5):
        tip = part.carried(start[None], done)[0]
        spun = 0.0 if part.kind == "slide" else done * np.sign(part.axis[2])
        hand.physics.data.ctrl[:4] = [*(tip - hand.home), turn + spun]
        hand.physics.step()
    hand.physics.wait(0.15)


def _leave(hand: Gripper, hold: Hold, before: Part, now: Part, ceiling: float) -> None:
    """Back from where it held on, then up."""
    outwards = hold.outwards
    if now.kind == "hinge":
        outwards = Rotation.from_rotvec((now.value - before.value) * now.axis).apply(outwards)
    hand.go(hand.tip + BACK * outwards)
    hand.go(np.array([*hand.tip[:2], ceiling]))
