"""Closed-form inverse kinematics of the UR5e.

The guess is exact for a gripper that looks straight down (elbow up). mink then converges to the target within the joint
limits and keeps the links off the table. Other postures begin from the closed form of K. Hawkins, "Analytic Inverse
Kinematics for the Universal Robots UR-5/UR-10 Arms" (2013), with Menagerie's link lengths;
tests/simulation/arm/test_arm.py compares it with the model.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from pipeline.geometry import homogeneous, rotation_about_z
from pipeline.simulation.robots.arm.kinematics import Kinematics
from pipeline.simulation.robots.arm.path_planning import IsFree, plan_level_path
from pipeline.simulation.robots.arm.universal_robots import two_finger_arm

SHOULDER_HEIGHT_M, UPPER_ARM_M, FOREARM_M = 0.163, 0.425, 0.392
"""Height of the shoulder above the base, and lengths of the two long links."""
WRIST_OFFSET_M = 0.134
"""Distance of the wrist from the shoulder's plane."""
PINCH_OUT_M, PINCH_DOWN_M = 0.1, 0.2558
"""From the first wrist axis to the pinch point with the gripper looking down: outwards and downwards."""
D1, A2, A3 = SHOULDER_HEIGHT_M, -UPPER_ARM_M, -FOREARM_M
D4, D5, D6 = WRIST_OFFSET_M, PINCH_OUT_M, PINCH_DOWN_M
"""Denavit-Hartenberg lengths in metres; the last includes the gripper up to its pinch point."""
_FLANGE_FROM_GRIPPER = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


class Ur5eKinematics(Kinematics):
    """Kinematics of a UR5e; the cup is as long as the 2F-85, so that both share this."""

    def __init__(self, base: np.ndarray, yaw: float):
        super().__init__(two_finger_arm(), base, yaw)

    def home(self) -> np.ndarray:
        """Return the joint angles (6,) of the home posture."""
        q = self.analytic_guess(self.home_pose())
        assert q is not None
        return q

    def analytic_guess(self, target: np.ndarray) -> np.ndarray | None:
        """Return joint angles, exact for a gripper that looks straight down; None if the target is out of reach."""
        offset = target[:2, 3] - self.base[:2]
        distance, height = float(np.hypot(*offset)), target[2, 3] - self.base[2] + PINCH_DOWN_M - SHOULDER_HEIGHT_M
        reach = np.sqrt(max(distance**2 - WRIST_OFFSET_M**2, 1e-6)) - PINCH_OUT_M
        length = float(np.hypot(reach, height))
        if distance < WRIST_OFFSET_M + 0.02 or reach < 0.05 or length > UPPER_ARM_M + FOREARM_M - 1e-3 or length < 0.15:
            return None
        elbow = np.arccos((length**2 - UPPER_ARM_M**2 - FOREARM_M**2) / (2 * UPPER_ARM_M * FOREARM_M))
        lift = np.arctan2(height, reach) + np.arctan2(
            FOREARM_M * np.sin(elbow), UPPER_ARM_M + FOREARM_M * np.cos(elbow)
        )
        pan = np.arctan2(offset[1], offset[0]) - self.yaw - np.pi - np.arcsin(WRIST_OFFSET_M / distance)
        closing = np.arctan2(target[1, 1], target[0, 1])
        roll = self.yaw + pan + np.pi / 2 - closing
        return _wrap_to_pi(np.array([pan, -lift, elbow, lift - elbow - np.pi / 2, -np.pi / 2, roll]))

    def solutions(self, target: np.ndarray) -> Iterator[np.ndarray]:
        """Yield joint angles for world-from-gripper (4, 4), the highest elbow first; the wrist as in the home posture.

        Only postures with the elbow above the shoulder are tried.
        """
        base_from_world = np.linalg.inv(homogeneous(rotation_about_z(self.yaw), self.base))
        found = [q for q in postures(base_from_world @ target) if np.sin(-q[1]) > 0]
        for seed in sorted(found, key=lambda q: (round(np.sin(q[1]), 1), abs(q[4] + np.pi / 2))):
            if (q := self.solve(target, seed)) is not None:
                yield q

    def level_path(self, start: np.ndarray, end: np.ndarray, is_free: IsFree) -> list[np.ndarray] | None:
        """Return postures between two, joint angles (6,), on which the tool keeps its tilt; None if none was found."""
        return plan_level_path(start, end, is_free, self.model.jnt_range)


def _wrap_to_pi(q: np.ndarray) -> np.ndarray:
    return (q + np.pi) % (2 * np.pi) - np.pi


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
