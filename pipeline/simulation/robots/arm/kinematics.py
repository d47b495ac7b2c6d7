"""Inverse kinematics of an arm: mink's differential IK, from postures that bring the gripper near its target.

These come from random postures of the arm, which are the same in every run: the nearest ones, and the home posture, are
moved by damped least squares (C. W. Wampler, 1986) until they converge; mink then converges to the target within the
joint limits and keeps the links off the table. An arm with a closed form begins there (ur5e_kinematics.py).
"""

from collections.abc import Iterator
from contextlib import contextmanager

import mink
import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import homogeneous, rotation_about_z
from pipeline.simulation.robots.arm.path_planning import IsFree, is_straight_path_free, plan_path
from pipeline.simulation.robots.arm.robot_model import add_arm, post_of, prefixed
from pipeline.simulation.robots.description import ArmModel

MAX_ITERATIONS = 24
POSITION_TOLERANCE_M, ROTATION_TOLERANCE_RAD = 0.0007, 0.006
MAX_STEP_RAD = 0.6
"""Largest joint step of one iteration."""
SAMPLES, SEEDS = 1500, 8
"""Random postures of an arm, and how many of them are tried for one target."""
DAMPING = 0.03
MAX_TILT_RAD = 0.35
"""Tilt of a carried load between those at both ends of a path."""
CARRY_STEP_M, CARRY_STEP_RAD = 0.03, 0.1
"""Distance between postures on a level path, and angle about the base."""


def gripper_pose(point: np.ndarray, yaw: float) -> np.ndarray:
    """Return world-from-gripper (4, 4) with the pinch point at `point`, looking down and closing along `yaw`."""
    c, s = np.cos(yaw), np.sin(yaw)
    return homogeneous(np.array([[-s, c, 0], [c, s, 0], [0, 0, -1.0]]), point)


class Kinematics:
    """Kinematics of an arm of N joints at one base. Joint angles have shape (N,), in the order of `ArmModel.joints`."""

    def __init__(self, arm: ArmModel, base: np.ndarray, yaw: float):
        self.arm, self.base, self.yaw = arm, np.asarray(base, float), float(yaw)
        self.model = _arm_model(arm, self.base, self.yaw)
        self._above_table = True
        self._configuration = mink.Configuration(self.model)
        self._site = f"{arm.prefix}{arm.tool_site}"
        self._task = mink.FrameTask(self._site, "site", position_cost=1.0, orientation_cost=0.3)
        self._damping = mink.DampingTask(self.model, cost=1e-4)
        links = [g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] and self.model.geom_contype[g]]
        self._limits = [
            mink.ConfigurationLimit(self.model),
            mink.VelocityLimit(self.model, {name: MAX_STEP_RAD for name in prefixed(arm.joints, arm.prefix)}),
            mink.CollisionAvoidanceLimit(
                self.model,
                [(links, ["table"])],
                # Distance of the links from the table
                minimum_distance_from_collisions=0.008,
                collision_detection_distance=0.05,
            ),
        ]
        self._samples: _Samples | None = None

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
        return self._configuration.get_transform_frame_to_world(self._site, "site").as_matrix()

    def home(self) -> np.ndarray:
        """Return the joint angles (N,) of the home posture."""
        return np.array(self.arm.home)

    def longest_reach(self) -> float:
        """Return the largest distance from the base to which some posture brings the gripper, in metres."""
        return self._known().reach

    def _known(self) -> "_Samples":
        self._samples = self._samples or _Samples(self)
        return self._samples

    def home_pose(self) -> np.ndarray:
        """Return world-from-gripper (4, 4) in the home posture."""
        if self.arm.home:
            return self.forward(self.home())
        distance, height = self.arm.home_offset
        forward = np.array([np.cos(self.yaw), np.sin(self.yaw), 0])
        return gripper_pose(self.base + distance * forward + np.array([0, 0, height]), self.yaw + np.pi / 2)

    def solutions(self, target: np.ndarray) -> Iterator[np.ndarray]:
        """Yield joint angles for world-from-gripper (4, 4), those nearest to a known posture first."""
        found: list[np.ndarray] = []
        for seed in self._known().near(target):
            near = self._converged(target, seed)
            q = None if near is None else self.solve(target, near)
            if q is not None and not any(np.abs(q - other).max() < 0.1 for other in found):
                found.append(q)
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

    def level_path(self, start: np.ndarray, end: np.ndarray, is_free: IsFree) -> list[np.ndarray] | None:
        """Return postures between two, joint angles (N,), on which the tool keeps its tilt; None if none was found.

        A straight path in joint angles if it is level, else one about the base's axis, else by random search.
        """
        tilts = [self._tilt(q) for q in (start, end)]
        if abs(tilts[1] - tilts[0]) > MAX_TILT_RAD:
            return None

        def is_level_free(q: np.ndarray) -> bool:
            return self._tilt(q) < max(tilts) + MAX_TILT_RAD and is_free(q)

        if is_straight_path_free(start, end, is_level_free):
            return [start, end]
        about = self._path_about_base(start, end, is_level_free)
        return about or plan_path(start, end, is_level_free, self.model.jnt_range)

    def _tilt(self, q: np.ndarray) -> float:
        """Return the angle between the gripper's approach and straight down, in radians."""
        return float(np.arccos(np.clip(-self.forward(q)[2, 2], -1, 1)))

    def _path_about_base(self, start: np.ndarray, end: np.ndarray, is_free: IsFree) -> list[np.ndarray] | None:
        """Return postures along which the gripper moves about the base's axis; None if one of them is not free."""
        poses = [self.forward(q) for q in (start, end)]
        offsets = [pose[:3, 3] - self.base for pose in poses]
        (radius, angle), (to_radius, to_angle) = ((np.hypot(*o[:2]), np.arctan2(o[1], o[0])) for o in offsets)
        turn = (to_angle - angle + np.pi) % (2 * np.pi) - np.pi
        rotation = Rotation.from_matrix(poses[0][:3, :3])
        change = (Rotation.from_matrix(poses[1][:3, :3]) * rotation.inv()).as_rotvec()
        length = max(abs(to_radius - radius), abs(offsets[1][2] - offsets[0][2])) / CARRY_STEP_M
        count = int(np.ceil(max(length, abs(turn) / CARRY_STEP_RAD, np.linalg.norm(change) / CARRY_STEP_RAD, 1)))
        path, q = [start], start
        for share in np.linspace(0, 1, count + 1)[1:]:
            a, r = angle + share * turn, radius + share * (to_radius - radius)
            height = offsets[0][2] + share * (offsets[1][2] - offsets[0][2])
            point = self.base + np.array([r * np.cos(a), r * np.sin(a), height])
            turned = (Rotation.from_rotvec(share * change) * rotation).as_matrix()
            q = self.solve(homogeneous(turned, point), q)
            if q is None or not is_free(q):
                return None
            path.append(q)
        return [*path, end] if is_straight_path_free(q, end, is_free) else None

    def _converged(self, target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        """Return joint angles (N,) that damped least squares find from a posture; None if they do not converge."""
        model, data, (low, high) = self.model, self._configuration.data, self.model.jnt_range.T
        site, home = model.site(self._site).id, np.array(self.arm.home)
        q, jacobian, quat, turn = np.clip(seed, low, high), np.zeros((6, model.nv)), np.zeros(4), np.zeros(3)
        # Steps of damped least squares from one posture; 40 suffice for 99 of 100 that converge
        for _ in range(60):
            data.qpos[:] = q
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            mujoco.mju_mat2Quat(quat, (target[:3, :3] @ data.site_xmat[site].reshape(3, 3).T).ravel())
            mujoco.mju_quat2Vel(turn, quat, 1.0)
            error = np.concatenate([target[:3, 3] - data.site_xpos[site], turn])
            if np.linalg.norm(error[:3]) < 2 * POSITION_TOLERANCE_M and np.linalg.norm(turn) < ROTATION_TOLERANCE_RAD:
                return q
            mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
            inverse = jacobian.T @ np.linalg.inv(jacobian @ jacobian.T + DAMPING**2 * np.eye(6))
            spare = 0.1 * (np.eye(model.nv) - inverse @ jacobian) @ (home - q)
            step = inverse @ error + spare
            q = np.clip(q + step * min(1.0, MAX_STEP_RAD / max(np.abs(step).max(), 1e-9)), low, high)
        return None


class _Samples:
    """Random postures of an arm, with the poses that they bring the gripper to."""

    def __init__(self, kinematics: Kinematics):
        arm, model = kinematics.arm, kinematics.model
        self.home, (low, high) = np.array(arm.home), model.jnt_range.T
        axis = kinematics._configuration.data.xaxis[0]
        self.turns = float(np.sign(axis[2])) if abs(axis[2]) > 0.999 and model.jnt_type[0] == 3 else 0.0
        """Sign of the first joint about the vertical; 0 where that joint is none."""
        site = kinematics._configuration.data.site_xmat[model.site(kinematics._site).id].reshape(3, 3)
        along = float(kinematics._configuration.data.xaxis[-1] @ site[:, 2])
        self.spins = float(np.sign(along)) if abs(along) > 0.98 else 0.0
        """Sign of the last joint about the gripper's approach; 0 where it turns about another axis."""
        self.low, self.high = low, high
        rng = np.random.default_rng(0)
        postures = rng.uniform(np.maximum(low, -np.pi), np.minimum(high, np.pi), (SAMPLES, model.nq))
        if self.turns:
            postures[:, 0] = self.home[0]
        spread = np.linspace(0.0, 1.0, SAMPLES)[:, None]  # the first ones are near the home posture
        self.postures = np.concatenate([self.home[None], self.home + spread * (postures - self.home)])
        self.base_from_world = np.linalg.inv(homogeneous(rotation_about_z(kinematics.yaw), kinematics.base))
        self.poses = np.array([self.base_from_world @ kinematics.forward(q) for q in self.postures])
        self.reach = float(np.linalg.norm(self.poses[:, :3, 3], axis=1).max()) + 0.05

    def near(self, target: np.ndarray) -> Iterator[np.ndarray]:
        """Yield postures (N,) that bring the gripper near world-from-gripper (4, 4), at most SEEDS."""
        wanted, poses = self.base_from_world @ target, self.poses
        if np.linalg.norm(wanted[:3, 3]) > self.reach:
            return
        spins = np.zeros(len(poses))
        if self.turns:
            spins = np.arctan2(wanted[1, 3], wanted[0, 3]) - np.arctan2(poses[:, 1, 3], poses[:, 0, 3])
            c, s = np.cos(spins), np.sin(spins)
            turn = np.zeros((len(poses), 4, 4))
            turn[:, 0, 0], turn[:, 0, 1], turn[:, 1, 0], turn[:, 1, 1] = c, -s, s, c
            turn[:, 2, 2] = turn[:, 3, 3] = 1
            poses = turn @ poses
        off = np.linalg.norm(poses[:, :3, 3] - wanted[:3, 3], axis=1)
        relative = np.einsum("nki,kj->nij", poses[:, :3, :3], wanted[:3, :3])  # gripper from wanted gripper
        twist = np.arctan2(relative[:, 1, 0] - relative[:, 0, 1], relative[:, 0, 0] + relative[:, 1, 1])
        whole = (np.trace(relative, axis1=1, axis2=2) - 1) / 2
        cosine = relative[:, 2, 2] if self.spins else whole
        strange = np.abs(self.postures - self.home)[:, 1:].mean(1)
        # Metres that count as much as a radian of rotation, and as a mean radian from the home posture
        cost = off + 0.25 * np.arccos(np.clip(cosine, -1, 1)) + 0.03 * strange
        for i in np.argsort(cost, kind="stable")[:SEEDS]:
            q = self.postures[i].copy()
            if self.turns:
                q[0] = self._within(0, q[0] + self.turns * spins[i])
            if self.spins:
                q[-1] = self._within(-1, q[-1] + self.spins * twist[i])
            yield q

    def _within(self, joint: int, angle: float) -> float:
        """Return an angle by whole turns within a joint's limits, nearest to their middle."""
        middle = (self.low[joint] + self.high[joint]) / 2
        return float(middle + (angle - middle + np.pi) % (2 * np.pi) - np.pi)


def nearest_equivalent(q: np.ndarray, reference: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return q with each joint turned by whole turns to be nearest to `reference` within its limits (N, 2)."""
    turns = np.round((reference - q) / (2 * np.pi))
    moved = q + 2 * np.pi * turns
    return np.where((moved > limits[:, 0]) & (moved < limits[:, 1]), moved, q)


def _arm_model(arm: ArmModel, base: np.ndarray, yaw: float) -> mujoco.MjModel:
    """Return a model of the arm with fixed fingers above an infinite table."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    add_arm(spec, arm, base, yaw)
    for element in [*spec.equalities, *spec.tendons, *spec.actuators, *spec.excludes]:
        spec.delete(element)
    joints = prefixed(arm.joints, arm.prefix)
    for joint in list(spec.joints):
        if joint.name not in joints:
            spec.delete(joint)
    for geom in list(spec.geoms):
        owner = geom.parent.name
        if owner not in ("world", post_of(arm)) and not owner.removeprefix(arm.prefix).startswith(arm.links):
            spec.delete(geom)
    used = {geom.meshname for geom in spec.geoms}
    for mesh in list(spec.meshes):
        if mesh.name not in used:
            spec.delete(mesh)
    return spec.compile()
