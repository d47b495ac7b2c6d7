"""The joints that a person can move by hand: those of objects' parts, without free joints."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

_KINDS = {int(mujoco.mjtJoint.mjJNT_HINGE): "hinge", int(mujoco.mjtJoint.mjJNT_SLIDE): "slide"}
_DEFAULT_LIMITS = {"hinge": np.pi, "slide": 0.3}
"""Radians and metres to each side, for joints without limits."""


def movable_joints(model: mujoco.MjModel, objects: Sequence[str]) -> list[dict[str, Any]]:
    """Return {number, object, name, kind, range} of each joint, in radians or metres.

    Args:
        objects: names of the bodies whose parts can be moved.
    """
    joints = []
    for number in np.flatnonzero(np.isin(model.jnt_type, list(_KINDS))):
        owner = _owner(model, int(model.jnt_bodyid[number]), objects)
        if owner:
            kind, name = _KINDS[int(model.jnt_type[number])], model.joint(number).name
            ends = model.jnt_range[number] if model.jnt_limited[number] else np.array([-1, 1]) * _DEFAULT_LIMITS[kind]
            joints.append({"number": int(number), "object": owner, "name": name.removeprefix(f"{owner}/"),
                           "kind": kind, "range": ends.tolist()})  # fmt: skip
    return joints


def _owner(model: mujoco.MjModel, body: int, objects: Sequence[str]) -> str:
    """Return the name of the object that the body is or belongs to, "" if there is none."""
    while body and model.body(body).name not in objects:
        body = int(model.body_parentid[body])
    return model.body(body).name if body else ""
