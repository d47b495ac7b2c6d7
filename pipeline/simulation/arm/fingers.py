"""The gripper's linkage: how wide it is open at which command, and how far its tips then stand out.

The fingers move on parallelograms: closing, the tips swing out of the palm. Measured on the model at rest, see
tests/simulation/test_arm.py, which measures it again.
"""

import numpy as np

WIDEST = 0.085
"""Between the pads of the open gripper, in metres."""
CLOSED = 255.0
"""The command that closes it with all its force."""
PALM = 0.055
"""From the pinch point back to the palm, in metres."""
PAD = 0.011
"""Half the breadth of a finger, in metres."""
FINGER = 0.032
"""How far a finger reaches outwards of its pad, above its tip, in metres."""
_ANGLE = np.array([0.0, 0.097, 0.191, 0.285, 0.379, 0.473, 0.567, 0.661, 0.755])
_WIDTH = np.array([0.0852, 0.0763, 0.0669, 0.0570, 0.0466, 0.0360, 0.0251, 0.0140, 0.0029])
_TIP = np.array([0.0045, 0.0078, 0.0106, 0.0130, 0.0149, 0.0164, 0.0173, 0.0178, 0.0177])
_FULL = 0.8  # the drivers' angle at full command, where nothing is in the way


def angle(width: float) -> float:
    """Of the drivers, in radians, where the pads are that far apart, in metres."""
    return float(np.interp(-width, -_WIDTH, _ANGLE))


def command(width: float) -> float:
    """What to tell the gripper for its pads to come to rest that far apart, in [0, 255]."""
    return CLOSED * angle(width) / _FULL


def tip(width: float) -> float:
    """How far the tips stand out beyond the pinch point where the pads are that far apart, in metres."""
    return float(np.interp(-width, -_WIDTH, _TIP))


def joints(width: float) -> dict[str, float]:
    """Positions of the linkage's joints, their names without prefix."""
    q = angle(width)
    turns = {"driver": q, "spring_link": q, "follower": -q, "coupler": 0.0}
    return {f"{side}_{name}_joint": turn for side in ("left", "right") for name, turn in turns.items()}
