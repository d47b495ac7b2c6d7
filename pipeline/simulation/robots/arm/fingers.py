"""The fingers of the 2F-85.

They move on parallelograms, so the tips move away from the palm while closing. The tables were measured on the model at
rest; tests/simulation/arm/test_arm.py measures them again.
"""

import numpy as np

from pipeline.simulation.robots.description import Fingers

_ANGLE = np.array([0.0, 0.097, 0.191, 0.285, 0.379, 0.473, 0.567, 0.661, 0.755])
"""Angle of the drivers in radians."""
_WIDTH = np.array([0.0852, 0.0763, 0.0669, 0.0570, 0.0466, 0.0360, 0.0251, 0.0140, 0.0029])
_TIP = np.array([0.0045, 0.0078, 0.0106, 0.0130, 0.0149, 0.0164, 0.0173, 0.0178, 0.0177])
_LINKAGE = {"driver": _ANGLE, "spring_link": _ANGLE, "follower": -_ANGLE, "coupler": 0 * _ANGLE}
_SIDES = ("left", "right")
PAD_TORSION_M = 0.0035
"""Torsional friction of a pad: friction of 0.65 times two thirds of the radius, 8 mm, of a soft pad's contact."""

TWO_F85 = Fingers(
    actuators=("hand/fingers_actuator",), open_command=np.array([0.0]), close_command=np.array([255.0]),
    max_opening=0.085, drive=_ANGLE, full_drive=0.8, widths=_WIDTH, tips=_TIP,
    joints={f"hand/{side}_{name}_joint": table for side in _SIDES for name, table in _LINKAGE.items()},
    pads=tuple(tuple(f"hand/{side}_pad{i}" for i in (1, 2)) for side in _SIDES),
    palm_offset=0.055, pad_half_width=0.011, depth=0.032, torsion=PAD_TORSION_M,
)  # fmt: skip
