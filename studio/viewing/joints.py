"""The joints that a person can move by hand: those of the parts of objects, their free joints left out."""

from collections.abc import Sequence
from typing import Any

import mujoco
import numpy as np

_KINDS = {int(mujoco.mjtJoint.mjJNT_HINGE): "hinge", int(mujoco.mjtJoint.mjJNT_SLIDE): "slide"}
_WIDEST = {"hinge": np.pi, "slide": 0.3}
"""Radians and metres to each side that are offered where a joint has no limits."""


def joints_of(model: mujoco.MjModel, objects: Sequence[str]) -> list[dict[str, Any]]:
    """Each as {"number", "object", "name", "kind", "range"}, in radians or metres; `objects` are names of bodies."""
    found = []
    for number in np.flatnonzero(np.isin(model.jnt_type, list(_KINDS))):
        owner = _owner(model, int(model.jnt_bodyid[number]), objects)
        if owner:
            kind, name = _KINDS[int(model.jnt_type[number])], model.joint(number).name
            ends = model.jnt_range[number] if model.jnt_limited[number] else np.array([-1, 1]) * _WIDEST[kind]
            found.append({"number": int(number), "object": owner, "name": name.removeprefix(f"{owner}/"),
                          "kind": kind, "range": ends.tolist()})  # fmt: skip
    return found


def _owner(model: mujoco.MjModel, body: int, objects: Sequence[str]) -> str:
    while body and model.body(body).name not in objects:
        body = int(model.body_parentid[body])
    return model.body(body).name if body else ""
