"""Leaves out contacts of an arm with itself that are there in nearly every posture: hulls of links that overlap."""

from collections import Counter
from itertools import product

import mujoco
import numpy as np

from pipeline.simulation.robots.arm.collision import LINK_MARGIN_M
from pipeline.simulation.robots.arm.kinematics import Kinematics, gripper_pose
from pipeline.simulation.robots.arm.robot_model import ARM_PREFIX, add_arm, bodies_below, prefixed
from pipeline.simulation.robots.description import ArmModel
from pipeline.simulation.robots.reading.plain_model import PlainModel

USUAL_SHARE = 0.7
"""Share of ordinary postures in which two links touch that always do: convex hulls fill what is hollow."""

OVERLAP_M = 0.0003
"""Depth from which on shapes of the open gripper overlap."""


def without_usual_contacts(plain: PlainModel, arm: ArmModel) -> PlainModel:
    """Return a model in which links that touch in most postures of picking and placing do not collide."""
    pairs = usual_contacts(arm)
    spec = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)
    for one, other in pairs:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    spec.compile()
    return PlainModel(spec.to_xml(), plain.meshes, plain.servos, plain.grippers)


def usual_contacts(arm: ArmModel) -> list[tuple[str, str]]:
    """Return pairs of links that touch in most postures over the ring of an arm's reach."""
    kinematics = Kinematics(arm, np.array([0, 0, arm.base_height]), 0.0)
    spec = mujoco.MjSpec()
    add_arm(spec, arm, kinematics.base, 0.0)
    model = spec.compile()
    hand = bodies_below(model, f"{ARM_PREFIX}{arm.hand}")[model.geom_bodyid]
    solid = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
    model.geom_contype[:] = model.geom_conaffinity[:] = np.where(solid & ~hand, 1, 0)
    model.geom_margin[:] = LINK_MARGIN_M
    data = mujoco.MjData(model)
    addresses = [int(model.joint(name).qposadr[0]) for name in prefixed(arm.joints)]
    found: Counter[tuple[str, str]] = Counter()
    radii = np.linspace(arm.reach.near, arm.reach.far, 6)
    poses = (gripper_pose(np.array([r, 0, z]), yaw) for r, z, yaw in product(radii, (0.05, 0.15), (0, np.pi / 2)))
    postures = [kinematics.home(), *(q for pose in poses if (q := kinematics.solve(pose)) is not None)]
    for q in postures:
        data.qpos[addresses] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_collision(model, data)
        touching = {tuple(sorted(int(model.geom_bodyid[g]) for g in pair)) for pair in data.contact.geom}
        found.update((model.body(a).name, model.body(b).name) for a, b in touching)
    usual = [pair for pair, count in found.items() if count > USUAL_SHARE * len(postures)]
    usual += _overlaps_of_hand(arm, model, data, hand & solid)
    return sorted((a.removeprefix(ARM_PREFIX), b.removeprefix(ARM_PREFIX)) for a, b in usual)


def _overlaps_of_hand(
    arm: ArmModel, model: mujoco.MjModel, data: mujoco.MjData, hand: np.ndarray
) -> list[tuple[str, str]]:
    """Return pairs of the gripper's bodies that overlap while it is open: their contact would hold the fingers."""
    assert arm.fingers is not None
    for name, value in arm.fingers.joint_positions(arm.fingers.max_opening).items():
        data.joint(f"{ARM_PREFIX}{name}").qpos = value
    model.geom_contype[:] = model.geom_conaffinity[:] = np.where(hand, 1, 0)
    model.geom_margin[:] = 0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    deep = data.contact.geom[data.contact.dist < -OVERLAP_M]
    bodies = {tuple(sorted(int(model.geom_bodyid[g]) for g in pair)) for pair in deep}
    return [(model.body(a).name, model.body(b).name) for a, b in bodies]
