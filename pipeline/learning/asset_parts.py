"""Assets as a decomposition sees them: parts, joints and limits, parsed from a compiled MJCF or URDF (Gen2Sim 3.2)."""

from collections.abc import Mapping
from typing import Any

import mujoco

from pipeline.simulation.objects import Object

KINDS = {
    mujoco.mjtJoint.mjJNT_FREE: "free", mujoco.mjtJoint.mjJNT_BALL: "ball",
    mujoco.mjtJoint.mjJNT_SLIDE: "prismatic", mujoco.mjtJoint.mjJNT_HINGE: "revolute",
}  # fmt: skip
"""URDF's names of the kinds of joints."""


def parts_of(model: mujoco.MjModel, body: int) -> list[dict[str, Any]]:
    """Return the links below and with a body: name, link, joint, type and limits, parents first."""
    inside = [b for b in range(1, model.nbody) if body in _ancestors(model, b)]
    return [_part(model, b) for b in inside]


def describe_assets(objects: Mapping[str, Object], model: mujoco.MjModel) -> list[dict[str, Any]]:
    """Return every object of a world as JSON: its measures and its parts."""
    return [
        {
            "name": one.name, "category": one.category, "size": [round(float(extent), 3) for extent in one.size],
            "bottom": round(one.bottom, 3), "top": round(one.top, 3), "container": one.container, "fixed": one.fixed,
            "moving_parts": [part.name for part in one.parts],
            "parts": _with_names(parts_of(model, model.body(one.name).id), one),
        }
        for one in objects.values()
    ]  # fmt: skip


def _with_names(parts: list[dict[str, Any]], one: Object) -> list[dict[str, Any]]:
    """Return parts under the names that goals use for those that move."""
    by_joint = {part.joint: part.name for part in one.parts}
    return [part | {"name": by_joint.get(part["joint_name"], part["name"])} for part in parts]


def _part(model: mujoco.MjModel, body: int) -> dict[str, Any]:
    name = model.body(body).name
    part: dict[str, Any] = {"name": name, "link_name": name, "joint_name": "", "joint_type": "fixed"}
    if not model.body_jntnum[body]:
        return part
    joint = int(model.body_jntadr[body])
    part |= {"joint_name": model.joint(joint).name, "joint_type": KINDS[mujoco.mjtJoint(int(model.jnt_type[joint]))]}
    if model.jnt_limited[joint]:
        part["limit"] = [round(float(limit), 4) for limit in model.jnt_range[joint]]
    return part


def _ancestors(model: mujoco.MjModel, body: int) -> list[int]:
    chain = [body]
    while chain[-1]:
        chain.append(int(model.body_parentid[chain[-1]]))
    return chain
