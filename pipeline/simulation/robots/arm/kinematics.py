"""Inverse kinematics of the arm: mink's differential IK from an analytic initial guess.

The guess is exact for a gripper that looks straight down (elbow up). mink then converges to the target within the joint
limits and keeps the links off the table. Other postures begin from the closed form of K. Hawkins, "Analytic Inverse
Kinematics for the Universal Robots UR-5/UR-10 Arms" (2013), with Menagerie's link lengths;
tests/simulation/arm/test_arm.py compares it with the model.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product

import mink
import mujoco
import numpy as np

from pipeline.geometry import homogeneous, rotation_about_z
from pipeline.simulation.physics import GRIPPER
from pipeline.simulation.robots.arm import robot_model

SHOULDER_HEIGHT_M, UPPER_ARM_M, FOREARM_M = 0.163, 0.425, 0.392
"""Height of the shoulder above the base, and lengths of the two long links."""
WRIST_OFFSET_M = 0.134
"""Distance of the wrist from the shoulder's plane."""
PINCH_OUT_M, PINCH_DOWN_M = 0.1, 0.2558
"""From the first wrist axis to the pinch point with the gripper looking down: outwards and downwards."""
MAX_ITERATIONS = 24
POSITION_TOLERANCE_M, ROTATION_TOLERANCE_RAD = 0.0007, 0.006
MAX_STEP_RAD = 0.6
"""Largest joint step of one iteration."""
TABLE_CLEARANCE_M = 0.008
"""Distance of the links from the table."""
D1, A2, A3 = SHOULDER_HEIGHT_M, -UPPER_ARM_M, -FOREARM_M
D4, D5, D6 = WRIST_OFFSET_M, PINCH_OUT_M, PINCH_DOWN_M
"""Denavit-Hartenberg lengths in metres; the last includes the gripper up to its pinch point."""
_FLANGE_FROM_GRIPPER = np.array([[0.0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


def gripper_pose(point: np.ndarray, yaw: float) -> np.ndarray:
    """Return world-from-gripper (4, 4) with the pinch point at `point`, looking down and closing along `yaw`."""
    c, s = np.cos(yaw), np.sin(yaw)
    return homogeneous(np.array([[-s, c, 0], [c, s, 0], [0, 0, -1.0]]), point)


class Kinematics:
    """Kinematics of an arm at one base. Joint angles have shape (6,), in the order of `robot_model.JOINTS`."""

    def __init__(self, base: np.ndarray, yaw: float):
        self.base, self.yaw = np.asarray(base, float), float(yaw)
        self.model = _arm_model(self.base, self.yaw)
        self._above_table = True
        self._configuration = mink.Configuration(self.model)
        self._task = mink.FrameTask(robot_model.PINCH_SITE, "site", position_cost=1.0, orientation_cost=0.3)
        self._damping = mink.DampingTask(self.model, cost=1e-4)
        links = [g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] and self.model.geom_contype[g]]
        self._limits = [
            mink.ConfigurationLimit(self.model),
            mink.VelocityLimit(self.model, {name: MAX_STEP_RAD for name in robot_model.JOINTS}),
            mink.CollisionAvoidanceLimit(
                self.model,
                [(links, ["table"])],
                minimum_distance_from_collisions=TABLE_CLEARANCE_M,
                collision_detection_distance=0.05,
            ),
        ]

    @contextmanager
    def above_or_beside(self, beside: bool) -> Iterator[None]:
        """Let the links be lower than the table's top meanwhile if they are beside it, for a gripper at its edge.

        What they would hit is then found by collision checks only.
        """
        before, self._above_table = self._above_table, not beside
        try:
            yield
        finally:
            self._above_table = before

    def forward(self, q: np.ndarray) -> np.ndarray:
        """Return world-from-gripper of shape (4, 4)."""
        self._configuration.update(np.asarray(q, float))
        return self._configuration.get_transform_frame_to_world(robot_model.PINCH_SITE, "site").as_matrix()

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

    def solve(self, target: np.ndarray, start: np.ndarray | None = None) -> np.ndarray | None:
        """Return joint angles for world-from-gripper (4, 4), near `start` if given; None if there is no solution."""
        if start is None:
            return next(self.solutions(target), None)
        self._task.set_target(mink.SE3.from_matrix(target))
        self._configuration.update(np.clip(np.asarray(start, float), *self.model.jnt_range.T))
        limits = self._limits if self._above_table else self._limits[:2]
        for _ in range(MAX_ITERATIONS):
            error = self._task.compute_error(self._configuration)
            if np.linalg.norm(error[:3]) < POSITION_TOLERANCE_M and np.linalg.norm(error[3:]) < ROTATION_TOLERANCE_RAD:
                return self._configuration.q.copy()
            try:
                velocity = mink.solve_ik(
                    self._configuration, [self._task, self._damping], 1.0, "daqp", damping=1e-6, limits=limits
                )
            except mink.MinkError:
                return None
            self._configuration.integrate_inplace(velocity, 1.0)
        return None


def nearest_equivalent(q: np.ndarray, reference: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return q with each joint turned by whole turns to be nearest to `reference` within its limits (6, 2)."""
    turns = np.round((reference - q) / (2 * np.pi))
    moved = q + 2 * np.pi * turns
    return np.where((moved > limits[:, 0]) & (moved < limits[:, 1]), moved, q)


def _arm_model(base: np.ndarray, yaw: float) -> mujoco.MjModel:
    """Return a model of the arm with fixed fingers above an infinite table."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    robot_model.add_arm(spec, base, yaw)
    for element in [*spec.equalities, *spec.tendons, *spec.actuators, *spec.excludes]:
        spec.delete(element)
    for joint in list(spec.joints):
        if joint.name.startswith(robot_model.GRIPPER_PREFIX):
            spec.delete(joint)
    colliding = ("upper_arm", "forearm", "wrist_1", "wrist_2")
    for geom in list(spec.geoms):
        owner = geom.parent.name
        if owner not in ("world", GRIPPER) and not owner.removeprefix(robot_model.ARM_PREFIX).startswith(colliding):
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    return spec.compile()


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
