"""The moving parts of objects in a compiled world."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import mujoco
import numpy as np

from pipeline.simulation.objects import Object
from pipeline.simulation.parts import Part


@dataclass(frozen=True, eq=False)
class Moving:
    """A part's joint in a compiled model."""

    joint: int
    body: int
    kind: str
    address: int
    """In qpos."""
    dof: int
    geoms: np.ndarray
    """All that moves with it, of shape (N,), int."""


def moving_parts(model: mujoco.MjModel, objects: Mapping[str, Object]) -> dict[tuple[str, str], Moving]:
    """By the names of object and part."""
    return {(thing.name, part.name): _moving(model, part) for thing in objects.values() for part in thing.parts}


def _moving(model: mujoco.MjModel, part: Part) -> Moving:
    joint = model.joint(part.joint)
    body = int(joint.bodyid[0])
    geoms = [g for g in range(model.ngeom) if body in _line(model, int(model.geom_bodyid[g]))]
    return Moving(joint.id, body, part.kind, int(joint.qposadr[0]), int(joint.dofadr[0]), np.array(geoms, int))


def shown(part: Part, moving: Moving, points: np.ndarray, data: mujoco.MjData) -> Part:
    """The part as its outermost world points (N, 3) and its joint are now."""
    axis, anchor = data.xaxis[moving.joint].copy(), data.xanchor[moving.joint].copy()
    return replace(part, value=float(data.qpos[moving.address]), axis=axis, anchor=anchor, corners=points)


def _line(model: mujoco.MjModel, body: int) -> list[int]:
    line = [body]
    while line[-1]:
        line.append(int(model.body_parentid[line[-1]]))
    return line
