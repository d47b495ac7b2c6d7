"""Joints of articulated parts in a compiled world."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.objects import Object


@dataclass(frozen=True, eq=False)
class PartJoint:
    """A part's joint in a compiled model."""

    joint: int
    body: int
    kind: str
    address: int
    """Index into qpos."""
    dof: int
    """Index into qvel."""
    geoms: np.ndarray
    """Ids of all geoms that move with it, of shape (N,), int."""


def part_joints(model: mujoco.MjModel, objects: Mapping[str, Object]) -> dict[tuple[str, str], PartJoint]:
    """Return the joints of all parts by the names of object and part."""
    return {(o.name, part.name): _part_joint(model, part) for o in objects.values() for part in o.parts}


def _part_joint(model: mujoco.MjModel, part: ArticulatedPart) -> PartJoint:
    joint = model.joint(part.joint)
    body = int(joint.bodyid[0])
    geoms = [g for g in range(model.ngeom) if body in ancestors(model, int(model.geom_bodyid[g]))]
    return PartJoint(joint.id, body, part.kind, int(joint.qposadr[0]), int(joint.dofadr[0]), np.array(geoms, int))


def part_at(part: ArticulatedPart, joint: PartJoint, points: np.ndarray, data: mujoco.MjData) -> ArticulatedPart:
    """Return the part with its joint as in `data` and these outermost world points (N, 3)."""
    axis, anchor = data.xaxis[joint.joint].copy(), data.xanchor[joint.joint].copy()
    return replace(part, value=float(data.qpos[joint.address]), axis=axis, anchor=anchor, corners=points)


def ancestors(model: mujoco.MjModel, body: int) -> list[int]:
    """Return a body and all its ancestors."""
    chain = [body]
    while chain[-1]:
        chain.append(int(model.body_parentid[chain[-1]]))
    return chain
