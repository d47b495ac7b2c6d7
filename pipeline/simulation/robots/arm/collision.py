"""Collision checks of arm postures with MuJoCo's collision detection, without stepping the physics."""

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.geometry import Pose, homogeneous
from pipeline.simulation.physics import Physics
from pipeline.simulation.robots.arm.robot_model import bodies_below, post_of, prefixed
from pipeline.simulation.robots.description import ArmModel

LINK_MARGIN_M, GRIPPER_MARGIN_M, HELD_MARGIN_M = 0.006, 0.0005, 0.002
"""Clearance of the arm's links, the gripper and the held object from everything else."""
OTHER_ARM = "the other arm"
"""What a collision with the other arm of a pair is called."""
_OBJECT_BIT, _ROBOT_BIT, _LINK_BIT = 1, 2, 4


@dataclass(frozen=True, eq=False)
class HeldObject:
    """Object between the fingers."""

    name: str
    hand_from_object: np.ndarray
    """Homogeneous transform of shape (4, 4)."""


class CollisionChecker:
    """Checks postures in a copy of a running world; call `refresh` after objects have moved."""

    def __init__(self, physics: Physics, arm: ArmModel):
        self.physics, self.fingers = physics, arm.fingers
        self.model = copy.copy(physics.model)
        self.model.body_margin[:] = LINK_MARGIN_M  # the largest of its geoms: else the broad phase leaves near ones out
        self.data = mujoco.MjData(self.model)
        addresses = {self.model.joint(j).name: int(self.model.jnt_qposadr[j]) for j in range(self.model.njnt)}
        self._arm = np.array([addresses[name] for name in prefixed(arm.joints, arm.prefix)])
        names = arm.fingers.joints if arm.fingers else ()
        self._finger_addresses = {name: addresses[f"{arm.prefix}{name}"] for name in names}
        self._robot = bodies_below(self.model, post_of(arm))[self.model.geom_bodyid] & (self.model.geom_contype > 0)
        self.hand = self._robot & bodies_below(self.model, f"{arm.prefix}{arm.hand}")[self.model.geom_bodyid]
        """Which geoms are the gripper's, of shape (ngeom,)."""
        self._solid = (self.model.geom_contype > 0) | (self.model.geom_conaffinity > 0)
        self._base = self.model.body(post_of(arm)).id
        self._pinch = self.model.site(f"{arm.prefix}{arm.tool_site}").id

    def refresh(self) -> None:
        """Copy the current positions of the running world."""
        self.data.qpos[:] = self.physics.data.qpos

    def imagine(self, other: "CollisionChecker", q: np.ndarray, held: HeldObject) -> None:
        """Let another arm hold an object at joint angles (N,) of its own, until the next refresh."""
        self.data.qpos[other._arm] = q
        mujoco.mj_kinematics(self.model, self.data)
        pinch = other._pinch
        pose = homogeneous(self.data.site_xmat[pinch].reshape(3, 3), self.data.site_xpos[pinch])
        self._move_object(held.name, pose @ held.hand_from_object)

    def first_collision(
        self,
        q: np.ndarray,
        width: float,
        held: HeldObject | None = None,
        ignored: tuple[str, ...] = (),
        folded: bool = False,
    ) -> str:
        """Return the name of what a posture collides with, OTHER_ARM or "itself" for arms; empty if it is free.

        Args:
            q: Joint angles of shape (N,), in radians.
            width: Opening of the fingers, in metres.
            held: Object between the fingers, if any.
            ignored: Names of objects that may be touched.
            folded: Whether the gripper may be so near the arm's own links that these are checked, too.
        """
        model, data = self.model, self.data
        self._set_masks(held, ignored)
        if folded:
            model.geom_contype[self.hand] |= _LINK_BIT
        before = data.qpos.copy()
        data.qpos[self._arm] = q
        self._set_fingers(width)
        mujoco.mj_kinematics(model, data)
        if held:
            self._move_held(held)
            mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        data.qpos[:] = before
        return self._first_contact(held)

    def gripper_collision(self, world_from_gripper: np.ndarray, width: float) -> str:
        """Return the name of what the gripper alone collides with at a pose (4, 4) and opening; empty if it is free.

        The arm's links are left out, and its base is moved to where it holds the gripper at that pose.
        """
        model, data = self.model, self.data
        self._set_masks(None, ())
        hidden = self._robot & ~self.hand
        model.geom_contype[hidden] = model.geom_conaffinity[hidden] = 0
        before, base = data.qpos.copy(), (model.body_pos[self._base].copy(), model.body_quat[self._base].copy())
        self._set_fingers(width)
        mujoco.mj_kinematics(model, data)
        world_from_robot = self._pose_of(int(model.body_parentid[self._base]))
        moved = world_from_gripper @ np.linalg.inv(self._site_pose()) @ world_from_robot @ Pose(*base).matrix
        moved = np.linalg.inv(world_from_robot) @ moved
        model.body_pos[self._base] = moved[:3, 3]
        model.body_quat[self._base] = Rotation.from_matrix(moved[:3, :3]).as_quat(scalar_first=True)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        model.body_pos[self._base], model.body_quat[self._base] = base
        data.qpos[:] = before
        return self._first_contact(None)

    def _set_fingers(self, width: float) -> None:
        for name, value in self.fingers.joint_positions(width).items() if self.fingers else ():
            self.data.qpos[self._finger_addresses[name]] = value

    def _site_pose(self) -> np.ndarray:
        """Return world-from-gripper (4, 4) as of the last kinematics."""
        return homogeneous(self.data.site_xmat[self._pinch].reshape(3, 3), self.data.site_xpos[self._pinch])

    def _pose_of(self, body: int) -> np.ndarray:
        """Return world-from-body (4, 4) as of the last kinematics; exactly the identity for the world."""
        return homogeneous(self.data.xmat[body].reshape(3, 3), self.data.xpos[body])

    def _first_contact(self, held: HeldObject | None) -> str:
        labels = self.physics.label
        own = self._robot | (labels == self.physics.label_of(held.name)) if held else self._robot
        for pair in self.data.contact.geom:
            others = [g for g in pair if not own[g]]
            if not others:
                return "itself"
            label = int(labels[others[0]])
            return OTHER_ARM if label == self.physics.gripper else self.physics.label_name(label)
        return ""

    def _move_held(self, held: HeldObject) -> None:
        self._move_object(held.name, self._site_pose() @ held.hand_from_object)

    def _move_object(self, name: str, world_from_object: np.ndarray) -> None:
        address = self.physics.addresses[name]
        self.data.qpos[address : address + 3] = world_from_object[:3, 3]
        self.data.qpos[address + 3 : address + 7] = Rotation.from_matrix(world_from_object[:3, :3]).as_quat(
            scalar_first=True
        )

    def _set_masks(self, held: HeldObject | None, ignored: tuple[str, ...]) -> None:
        """Enable only robot-object, link-link and held-object collisions."""
        model, label = self.model, self.physics.label
        contype, conaffinity, margin = (
            np.full(model.ngeom, _OBJECT_BIT),
            np.full(model.ngeom, _ROBOT_BIT),
            np.zeros(model.ngeom),
        )
        links = self._robot & ~self.hand
        contype[self._robot], conaffinity[self._robot] = _ROBOT_BIT, _OBJECT_BIT
        contype[links], conaffinity[links] = _ROBOT_BIT | _LINK_BIT, _OBJECT_BIT | _LINK_BIT
        margin[links], margin[self.hand] = LINK_MARGIN_M, GRIPPER_MARGIN_M
        if held:
            own = label == self.physics.label_of(held.name)
            contype[own], conaffinity[own], margin[own] = _ROBOT_BIT, _OBJECT_BIT, HELD_MARGIN_M
        hidden = ~self._solid
        for name in ignored:
            hidden |= label == self.physics.label_of(name)
        contype[hidden] = conaffinity[hidden] = 0
        model.geom_contype[:], model.geom_conaffinity[:], model.geom_margin[:] = contype, conaffinity, margin
