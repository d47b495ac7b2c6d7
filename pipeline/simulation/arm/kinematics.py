"""Joint angles that bring the gripper to a pose: mink's differential inverse kinematics from a good first guess.

The guess is the arm's own geometry, for a gripper that looks straight down (elbow up, shoulder behind the wrist);
mink then closes in on the pose asked for, within the joints' limits and keeping the links off the table.
"""

import mink
import mujoco
import numpy as np

from pipeline.simulation.arm import body
from pipeline.simulation.physics import GRIPPER

SHOULDER, UPPER, FORE = 0.163, 0.425, 0.392
"""Height of the shoulder above the base and lengths of the two long links, in metres."""
ASIDE = 0.134
"""Of the wrist from the shoulder's plane, in metres."""
WRIST, DROP = 0.1, 0.2558
"""From the first wrist's axis to the pinch point with the gripper looking down: outwards and downwards, in metres."""
ROUNDS = 24
NEAR, STRAIGHT = 0.0007, 0.006
"""Good enough: metres and radians."""
STEP = 0.6
"""Radians a joint turns at most in one round."""
KEEP_OFF = 0.008
"""Of the links from the table, in metres."""


def pose(point: np.ndarray, turn: float) -> np.ndarray:
    """World from gripper (4, 4) with the pinch point there, looking down, closing in the direction `turn`."""
    c, s = np.cos(turn), np.sin(turn)
    made = np.eye(4)
    made[:3, :3] = np.array([[-s, c, 0], [c, s, 0], [0, 0, -1.0]])
    made[:3, 3] = point
    return made


class Kinematics:
    """Of one arm where it stands. Angles are of shape (6,), in the order of `body.JOINTS`."""

    def __init__(self, base: np.ndarray, turn: float):
        self.base, self.turn = np.asarray(base, float), float(turn)
        self.model = _arm_alone(self.base, self.turn)
        self._configuration = mink.Configuration(self.model)
        self._task = mink.FrameTask(body.PINCH, "site", position_cost=1.0, orientation_cost=0.3)
        self._rest = mink.DampingTask(self.model, cost=1e-4)
        links = [g for g in range(self.model.ngeom) if self.model.geom_bodyid[g] and self.model.geom_contype[g]]
        self._limits = [
            mink.ConfigurationLimit(self.model),
            mink.VelocityLimit(self.model, {name: STEP for name in body.JOINTS}),
            mink.CollisionAvoidanceLimit(self.model, [(links, ["table"])], minimum_distance_from_collisions=KEEP_OFF,
                                         collision_detection_distance=0.05),
        ]  # fmt: skip

    def forward(self, q: np.ndarray) -> np.ndarray:
        """World from gripper, of shape (4, 4)."""
        self._configuration.update(np.asarray(q, float))
        return self._configuration.get_transform_frame_to_world(body.PINCH, "site").as_matrix()

    def guess(self, target: np.ndarray) -> np.ndarray | None:
        """Exact for a gripper that looks straight down; None where the point is out of the links' reach."""
        to = target[:2, 3] - self.base[:2]
        far, high = float(np.hypot(*to)), target[2, 3] - self.base[2] + DROP - SHOULDER
        out = np.sqrt(max(far**2 - ASIDE**2, 1e-6)) - WRIST
        long = float(np.hypot(out, high))
        if far < ASIDE + 0.02 or out < 0.05 or long > UPPER + FORE - 1e-3 or long < 0.15:
            return None
        bend = np.arccos((long**2 - UPPER**2 - FORE**2) / (2 * UPPER * FORE))
        lift = np.arctan2(high, out) + np.arctan2(FORE * np.sin(bend), UPPER + FORE * np.cos(bend))
        pan = np.arctan2(to[1], to[0]) - self.turn - np.pi - np.arcsin(ASIDE / far)
        closing = np.arctan2(target[1, 1], target[0, 1])
        roll = self.turn + pan + np.pi / 2 - closing
        return _wrapped(np.array([pan, -lift, bend, lift - bend - np.pi / 2, -np.pi / 2, roll]))

    def solve(self, target: np.ndarray, start: np.ndarray | None = None) -> np.ndarray | None:
        """Joint angles for world from gripper (4, 4), near `start` where one is given; None where there are none."""
        seed = self.guess(target) if start is None else np.asarray(start, float)
        if seed is None:
            return None
        self._task.set_target(mink.SE3.from_matrix(target))
        self._configuration.update(np.clip(seed, *self.model.jnt_range.T))
        for _ in range(ROUNDS):
            error = self._task.compute_error(self._configuration)
            if np.linalg.norm(error[:3]) < NEAR and np.linalg.norm(error[3:]) < STRAIGHT:
                return self._configuration.q.copy()
            try:
                velocity = mink.solve_ik(
                    self._configuration, [self._task, self._rest], 1.0, "daqp", damping=1e-6, limits=self._limits
                )
            except mink.MinkError:
                return None
            self._configuration.integrate_inplace(velocity, 1.0)
        return None


def nearest(q: np.ndarray, to: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """The same pose with every joint turned by whole turns as near to another as its limits (6, 2) let it."""
    turns = np.round((to - q) / (2 * np.pi))
    moved = q + 2 * np.pi * turns
    return np.where((moved > limits[:, 0]) & (moved < limits[:, 1]), moved, q)


def _arm_alone(base: np.ndarray, turn: float) -> mujoco.MjModel:
    """The arm with stiff fingers over an endless table."""
    spec = mujoco.MjSpec()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    body.add_arm(spec, base, turn)
    for element in [*spec.equalities, *spec.tendons, *spec.actuators, *spec.excludes]:
        spec.delete(element)
    for joint in list(spec.joints):
        if joint.name.startswith(body.HAND):
            spec.delete(joint)
    moving = ("upper_arm", "forearm", "wrist_1", "wrist_2")
    for geom in list(spec.geoms):
        owner = geom.parent.name
        if owner not in ("world", GRIPPER) and not owner.removeprefix(body.ARM).startswith(moving):
            spec.delete(geom)
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    return spec.compile()


def _wrapped(q: np.ndarray) -> np.ndarray:
    return (q + np.pi) % (2 * np.pi) - np.pi
