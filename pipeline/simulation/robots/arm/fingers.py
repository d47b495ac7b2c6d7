"""The gripper's linkage: opening and tip offset as functions of the command.

The fingers move on parallelograms, so the tips move away from the palm while closing. The tables were measured on the
model at rest; tests/simulation/arm/test_arm.py measures them again.
"""

import numpy as np

MAX_OPENING_M = 0.085
"""Distance between the pads of the open gripper."""
CLOSE_COMMAND = 255.0
"""Command that closes it with full force."""
PALM_OFFSET_M = 0.055
"""Distance from the pinch point to the palm."""
PAD_HALF_WIDTH_M = 0.011
"""Half the width of a finger."""
FINGER_DEPTH_M = 0.032
"""How far a finger extends outwards from its pad, above its tip."""
_ANGLE = np.array([0.0, 0.097, 0.191, 0.285, 0.379, 0.473, 0.567, 0.661, 0.755])
_WIDTH = np.array([0.0852, 0.0763, 0.0669, 0.0570, 0.0466, 0.0360, 0.0251, 0.0140, 0.0029])
_TIP = np.array([0.0045, 0.0078, 0.0106, 0.0130, 0.0149, 0.0164, 0.0173, 0.0178, 0.0177])
_MAX_ANGLE = 0.8  # of the drivers at full command, with nothing between the pads


def driver_angle(width: float) -> float:
    """Return the drivers' angle in radians for a distance between the pads in metres."""
    return float(np.interp(-width, -_WIDTH, _ANGLE))


def command(width: float) -> float:
    """Return the command in [0, 255] that opens the pads to a distance in metres."""
    return CLOSE_COMMAND * driver_angle(width) / _MAX_ANGLE


def tip_offset(width: float) -> float:
    """Return how far the tips are beyond the pinch point for a distance between the pads, both in metres."""
    return float(np.interp(-width, -_WIDTH, _TIP))


def joint_positions(width: float) -> dict[str, float]:
    """Return the linkage's joint positions by name, without prefix, for a distance between the pads in metres."""
    q = driver_angle(width)
    angles = {"driver": q, "spring_link": q, "follower": -q, "coupler": 0.0}
    return {f"{side}_{name}_joint": value for side in ("left", "right") for name, value in angles.items()}
