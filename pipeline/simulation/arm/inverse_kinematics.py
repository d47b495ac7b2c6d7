"""Closed-form inverse kinematics of the UR5e: up to eight postures for one pose of the gripper.

From K. Hawkins, "Analytic Inverse Kinematics for the Universal Robots UR-5/UR-10 Arms" (2013), with Menagerie's link
lengths; tests/simulation/arm/test_arm.py compares it with the model.
"""

from itertools import product

import numpy as np

D1, A2, A3, D4, D5, D6 = 0.163, -0.425, -0.392, 0.134, 0.1, 0.2558
"""Denavit-Hartenberg lengths in metres; the last includes the gripper up to its pinch point."""
_FLANGE_FROM_GRIPPER = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def postures(base_from_gripper: np.ndarray) -> list[np.ndarray]:
    """Return joint angles (6,) in (-pi, pi] that bring the gripper to a pose (4, 4) in the base's frame; [] if none."""
    target = base_from_gripper @ _FLANGE_FROM_GRIPPER
    return [q for signs in product((1, -1), repeat=3) if (q := _posture(target, *signs)) is not None]


def _posture(target: np.ndarray, shoulder: int, wrist: int, elbow: int) -> np.ndarray | None:
    """Return the posture of one branch: shoulder left or right, wrist up or down, elbow up or down."""
    px, py = (target[:3, 3] - D6 * target[:3, 2])[:2]
    distance = float(np.hypot(px, py))
    if distance < abs(D4):
        return None
    q1 = float(np.arctan2(py, px) + shoulder * np.arccos(D4 / distance) + np.pi / 2)
    s1, c1 = np.sin(q1), np.cos(q1)
    cosine = (target[0, 3] * s1 - target[1, 3] * c1 - D4) / D6
    if abs(cosine) > 1:
        return None
    q5 = wrist * float(np.arccos(cosine))
    s5 = np.sin(q5)
    x, y = target[:3, 0], target[:3, 1]
    straight = abs(s5) < 1e-6  # the last joint is then parallel to the others, and any angle of it will do
    q6 = 0.0 if straight else float(np.arctan2((-y[0] * s1 + y[1] * c1) / s5, (x[0] * s1 - x[1] * c1) / s5))
    wrist_from_flange = _link(q5, D5, 0, -np.pi / 2) @ _link(q6, D6, 0, 0)
    t14 = np.linalg.inv(_link(q1, D1, 0, np.pi / 2)) @ target @ np.linalg.inv(wrist_from_flange)
    p13 = t14[:3, 3] - D4 * t14[:3, 1]
    length = float(np.hypot(p13[0], p13[1]))
    cosine = (length**2 - A2**2 - A3**2) / (2 * A2 * A3)
    if abs(cosine) > 1:
        return None
    q3 = elbow * float(np.arccos(cosine))
    q2 = float(-np.arctan2(p13[1], -p13[0]) + np.arcsin(np.clip(A3 * np.sin(q3) / length, -1, 1)))
    t34 = np.linalg.inv(_link(q2, 0, A2, 0) @ _link(q3, 0, A3, 0)) @ t14
    q4 = float(np.arctan2(t34[1, 0], t34[0, 0]))
    return (np.array([q1, q2, q3, q4, q5, q6]) + np.pi) % (2 * np.pi) - np.pi


def _link(angle: float, offset: float, length: float, twist: float) -> np.ndarray:
    """Return the Denavit-Hartenberg transform (4, 4) of one joint."""
    c, s, ct, st = np.cos(angle), np.sin(angle), np.cos(twist), np.sin(twist)
    return np.array(
        [[c, -s * ct, s * st, length * c], [s, c * ct, -c * st, length * s], [0, st, ct, offset], [0, 0, 0, 1]]
    )
