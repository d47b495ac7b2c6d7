"""The moving parts of an articulated object, named as a person would: "top_drawer", "door", "lid", "knob"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import mujoco
import numpy as np

from pipeline.geometry import Pose
from pipeline.scene.mjcf import articulated_body
from pipeline.scene.placement import Placement

KNOB_CATEGORIES = {"faucet", "tap", "stove", "cooker", "sink"}
"""Categories whose hinged parts are knobs, however long they are."""
UNLIMITED_TRAVEL_RAD = np.pi / 2
"""How far a hinge without limits is opened."""
MOVING_JOINT_TYPES = {int(kind) for kind in articulated_body.DEFAULT_DAMPING}
LEVEL_PREFIXES = {1: ("",), 2: ("top_", "bottom_"), 3: ("top_", "middle_", "bottom_")}
"""Prefixes of one, two or three parts of one kind above each other, from top to bottom."""
SIDE_PREFIXES = {2: ("left_", "right_"), 3: ("left_", "middle_", "right_")}
"""Prefixes of two or three parts of one kind beside each other, from left to right."""


@dataclass(frozen=True, eq=False)
class MovingPart:
    """One moving part of a placement, closed. In the object's own axes, from the centre of its box, in metres."""

    name: str
    """Unique within its object."""
    joint: str
    """Name in the asset's model."""
    body: str
    """Name in the asset's model."""
    kind: str
    """"slide" or "hinge"."""
    end: float
    """Position of its joint when fully open, in metres or radians; 0 is closed."""
    lever: float
    """Metres that its farthest point moves per unit of the joint: 1 if it slides."""
    axis: np.ndarray
    """Unit vector that it slides along or turns about, of shape (3,)."""
    anchor: np.ndarray
    """A point on that axis, of shape (3,)."""
    centre: np.ndarray
    """Centre of its box, of shape (3,)."""
    size: np.ndarray
    """Full extents of its box, of shape (3,)."""


def moving_parts(p: Placement) -> tuple[MovingPart, ...]:
    """Return the moving parts of a placement, in the order of its joints. Raises SceneError for a broken model."""
    if p.model is None or not p.joints:
        return ()
    key = (p.model, p.model.stat().st_mtime_ns, p.scale, p.category, tuple(p.size.tolist()))
    if key not in _parts_cache:
        _parts_cache[key] = _find_parts(replace(p, world_from_object=Pose.identity(), name="object", fixed=True))
    return _parts_cache[key]


_parts_cache: dict[tuple[Path, int, float, str, tuple[float, ...]], tuple[MovingPart, ...]] = {}


def _find_parts(p: Placement) -> tuple[MovingPart, ...]:
    spec = mujoco.MjSpec()
    spec.assets |= articulated_body.attach_model(spec, p, articulated_body.NEUTRAL_CONTACT)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    parts = [_part(model, data, j, p) for j in range(model.njnt) if int(model.jnt_type[j]) in MOVING_JOINT_TYPES]
    return _with_unique_names(parts)


def _part(model: mujoco.MjModel, data: mujoco.MjData, joint: int, p: Placement) -> MovingPart:
    corners = _corners(model, data, int(model.jnt_bodyid[joint]))
    low, high = corners.min(0), corners.max(0)
    axis, anchor = data.xaxis[joint], data.xanchor[joint]
    slides = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    from_anchor = corners - anchor
    reach = float(np.linalg.norm(from_anchor - (from_anchor @ axis)[:, None] * axis, axis=1).max())
    part = MovingPart(
        "", model.joint(joint).name.removeprefix(f"{p.name}/"),
        model.body(int(model.jnt_bodyid[joint])).name.removeprefix(f"{p.name}/"), "slide" if slides else "hinge",
        0.0, 1.0 if slides else reach, axis.copy(), anchor.copy(), (low + high) / 2, high - low,
    )  # fmt: skip
    part = replace(part, end=_end(model, joint, part))
    return replace(part, name=_noun(part, p))


def _end(model: mujoco.MjModel, joint: int, part: MovingPart) -> float:
    """Return the limit farther from home. Without limits: a quarter turn, or the part's own length, outwards."""
    if model.jnt_limited[joint]:
        low, high = model.jnt_range[joint]
        return float(low if -low > high else high)
    direction = part.axis if part.kind == "slide" else np.cross(part.axis, part.centre - part.anchor)
    travel = float(np.abs(part.axis) @ part.size) if part.kind == "slide" else UNLIMITED_TRAVEL_RAD
    return travel if float(direction @ part.centre) >= 0 else -travel


def _noun(part: MovingPart, p: Placement) -> str:
    """Return what a person calls a part of this kind, shape and place."""
    if part.kind == "slide":
        direction = part.axis * np.sign(part.end)
        edge = float(direction @ part.centre + np.abs(direction) @ part.size / 2)
        outside = edge + abs(part.end) - float(np.abs(direction) @ p.size) / 2
        # Share of its travel by which a drawer leaves the object's box. A part that leaves it by less is a sliding
        # door.
        return "drawer" if outside > 0.7 * abs(part.end) else "sliding_door"
    # 0.05: A hinged part that stays within this radius is a knob, which is turned and not opened
    if part.lever < 0.05 or p.category in KNOB_CATEGORIES:
        return "knob"
    # Height of a lid at most, relative to its longer side
    flat = part.size[2] < 0.3 * part.size[:2].max() and part.centre[2] > 0
    return "lid" if flat and abs(part.axis[2]) < 0.5 else "door"


def _with_unique_names(parts: Sequence[MovingPart]) -> tuple[MovingPart, ...]:
    """Name each part by its level or its side where there are two or three of a kind, else by number."""
    names: dict[str, str] = {}
    for noun, group in groupby(sorted(parts, key=lambda part: part.name), key=lambda part: part.name):
        names |= _names_by_joint(noun, list(group))
    return tuple(replace(part, name=names[part.joint]) for part in parts)


def _names_by_joint(noun: str, group: list[MovingPart]) -> dict[str, str]:
    centres = np.array([part.centre for part in group])
    spread = np.ptp(centres, axis=0)
    across = int(spread[:2].argmax())
    stacked = len(group) == 1 or spread[2] > 2 * spread[across]
    in_row = spread[across] > 2 * spread[2]
    prefixes = LEVEL_PREFIXES.get(len(group)) if stacked else SIDE_PREFIXES.get(len(group)) if in_row else None
    order = sorted(group, key=lambda part: (-part.centre[2] if not in_row else 0.0, part.centre[across]))
    names = [f"{prefix}{noun}" for prefix in prefixes] if prefixes else [f"{noun}_{n + 1}" for n in range(len(group))]
    return {part.joint: name for part, name in zip(order, names, strict=True)}


def _corners(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> np.ndarray:
    """Return the corners of the boxes around all geoms of a body and its descendants, of shape (N, 3)."""
    subtree = [b for b in range(model.nbody) if body in _ancestors(model, b)]
    boxes = []
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, subtree)).tolist():
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        boxes.append((centre + signs * half) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    return np.concatenate(boxes) if boxes else data.xpos[body][None].copy()


def _ancestors(model: mujoco.MjModel, body: int) -> list[int]:
    """Return the body and all bodies that it is attached to."""
    line = [body]
    while line[-1]:
        line.append(int(model.body_parentid[line[-1]]))
    return line
