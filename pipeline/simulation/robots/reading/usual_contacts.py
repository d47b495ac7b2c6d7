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


def without_usual_contacts(plain: PlainModel, arm: ArmModel) -> PlainModel:
    """Return a model in which links that touch in most postures of picking and placing do not collide."""
    pairs = usual_contacts(arm)
    spec = mujoco.MjSpec.from_string(plain.xml, assets=plain.meshes)
    for one, other in pairs:
        spec.add_exclude(bodyname1=one, bodyname2=other)
    spec.compile()
    return PlainModel(spec.to_xml(), plain.meshes, plain.servos, plain.grippers)


class LinkContacts:
    """Finds which links of an arm touch in a posture, alone in an empty world."""

    def __init__(self, arm: ArmModel):
        spec = mujoco.MjSpec()
        add_arm(spec, arm, np.array([0, 0, arm.base_height]), 0.0)
        self.model = spec.compile()
        self.data, model = mujoco.MjData(self.model), self.model
        solid = (model.geom_contype > 0) | (model.geom_conaffinity > 0)
        self.hand = solid & bodies_below(model, f"{ARM_PREFIX}{arm.hand}")[model.geom_bodyid]
        model.geom_contype[:] = model.geom_conaffinity[:] = np.where(solid & ~self.hand, 1, 0)
        model.geom_margin[:] = model.body_margin[:] = LINK_MARGIN_M
        self.addresses = [int(model.joint(name).qposadr[0]) for name in prefixed(arm.joints)]

    def at(self, q: np.ndarray) -> set[tuple[int, int]]:
        """Return pairs of bodies that touch with joint angles (N,), the smaller id first."""
        self.data.qpos[self.addresses] = q
        mujoco.mj_kinematics(self.model, self.data)
        mujoco.mj_collision(self.model, self.data)
        pairs = self.model.geom_bodyid[self.data.contact.geom]
        return {(int(min(pair)), int(max(pair))) for pair in pairs}


def usual_contacts(arm: ArmModel) -> list[tuple[str, str]]:
    """Return pairs of links that touch in most postures in which the gripper looks down over the table."""
    kinematics = Kinematics(arm, np.array([0, 0, arm.base_height]), 0.0)
    links = LinkContacts(arm)
    found: Counter[tuple[int, int]] = Counter()
    radii = kinematics.longest_reach() * np.linspace(0.35, 0.85, 6)
    poses = (gripper_pose(np.array([r, 0, z]), yaw) for r, z, yaw in product(radii, (0.05, 0.15), (0, np.pi / 2)))
    postures = [kinematics.home(), *(q for pose in poses if (q := kinematics.solve(pose)) is not None)]
    for q in postures:
        found.update(links.at(q))
    # Share of ordinary postures in which two links touch that always do: convex hulls fill what is hollow
    usual = [pair for pair, count in found.items() if count > 0.7 * len(postures)]
    usual += [*_neighbours(links), *_overlaps_of_hand(arm, links)]
    names = ([links.model.body(body).name.removeprefix(ARM_PREFIX) for body in pair] for pair in usual)
    return sorted({(one, other) for one, other in names})


def _neighbours(links: LinkContacts) -> list[tuple[int, int]]:
    """Return each link with the nearest one that carries it: joint limits keep these apart, as in MoveIt."""
    model, solid = links.model, links.model.geom_contype > 0
    bodies = {int(body) for body in model.geom_bodyid[solid]}
    found = []
    for body in bodies:
        carrier = int(model.body_parentid[body])
        while carrier and carrier not in bodies:
            carrier = int(model.body_parentid[carrier])
        found += [(carrier, body)] if carrier in bodies else []
    return found


def _overlaps_of_hand(arm: ArmModel, links: LinkContacts) -> list[tuple[int, int]]:
    """Return pairs of the gripper's bodies that overlap while it is open: their contact would hold the fingers."""
    assert arm.fingers is not None
    model, data = links.model, links.data
    for name, value in arm.fingers.joint_positions(arm.fingers.max_opening).items():
        data.joint(f"{ARM_PREFIX}{name}").qpos = value
    model.geom_contype[:] = model.geom_conaffinity[:] = np.where(links.hand, 1, 0)
    model.geom_margin[:] = 0
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    # Depth from which on shapes of the open gripper overlap
    pairs = model.geom_bodyid[data.contact.geom[data.contact.dist < -0.0003]]
    return [*{(int(min(pair)), int(max(pair))) for pair in pairs}]
