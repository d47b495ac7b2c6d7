"""What of a thing with joints moves, as a person calls it: "top_drawer", "door", "lid", "knob"; where, and how far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import mujoco
import numpy as np

from pipeline.geometry import Pose
from pipeline.scene import articulated
from pipeline.scene.placement import Placement

KNOB = 0.05
"""Metres: what turns within less is turned, not opened."""
KNOBS = {"faucet", "tap", "stove", "cooker", "sink"}
"""Categories whose hinges are turned, however long."""
LEAVES = 0.7
"""Share of its way that a drawer comes out of its thing's own box; what slides along it is a sliding door."""
FLAT = 0.3
"""Height of a lid, of its larger side."""
QUARTER = np.pi / 2
"""How far what turns without limits is opened."""
MOVES = {int(kind) for kind in articulated.SLACK}
LEVELS = {1: ("",), 2: ("top_", "bottom_"), 3: ("top_", "middle_", "bottom_")}
SIDES = {2: ("left_", "right_"), 3: ("left_", "middle_", "right_")}


@dataclass(frozen=True, eq=False)
class Part:
    """One moving part of a placement, shut. In the object's own axes, from the centre of its box, in metres."""

    name: str
    """Unique within its object."""
    joint: str
    """As the asset's model calls it."""
    body: str
    kind: str
    """"slide" or "hinge"."""
    end: float
    """Where its joint stands when it is wholly open, in metres or radians; shut is 0."""
    lever: float
    """Metres that its farthest point goes for a unit of the joint: 1 where it slides."""
    axis: np.ndarray
    """Unit vector that it slides along or turns about, of shape (3,)."""
    anchor: np.ndarray
    """A point on that axis, of shape (3,)."""
    centre: np.ndarray
    """Of its box, of shape (3,)."""
    size: np.ndarray
    """Of shape (3,)."""


def parts_of(p: Placement) -> tuple[Part, ...]:
    """In the order of its joints. Raises SceneError where its model cannot be read."""
    if p.model is None or not p.joints:
        return ()
    key = (p.model, p.model.stat().st_mtime_ns, p.scale, p.category, tuple(p.size.tolist()))
    if key not in _known:
        _known[key] = _parts(replace(p, world_from_object=Pose.identity(), name="thing", fixed=True))
    return _known[key]


_known: dict[tuple[Path, int, float, str, tuple[float, ...]], tuple[Part, ...]] = {}


def _parts(p: Placement) -> tuple[Part, ...]:
    spec = mujoco.MjSpec()
    spec.assets |= articulated.attach(spec, p, articulated.LOOSE)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = [_part(model, data, j, p) for j in range(model.njnt) if int(model.jnt_type[j]) in MOVES]
    return _called(found, p)


def _part(model: mujoco.MjModel, data: mujoco.MjData, joint: int, p: Placement) -> Part:
    corners = _corners(model, data, int(model.jnt_bodyid[joint]))
    low, high = corners.min(0), corners.max(0)
    axis, anchor = data.xaxis[joint], data.xanchor[joint]
    slides = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
    away = corners - anchor
    reach = float(np.linalg.norm(away - (away @ axis)[:, None] * axis, axis=1).max())
    part = Part(
        "", model.joint(joint).name.removeprefix(f"{p.name}/"),
        model.body(int(model.jnt_bodyid[joint])).name.removeprefix(f"{p.name}/"), "slide" if slides else "hinge",
        0.0, 1.0 if slides else reach, axis.copy(), anchor.copy(), (low + high) / 2, high - low,
    )  # fmt: skip
    part = replace(part, end=_end(model, joint, part))
    return replace(part, name=_noun(part, p))


def _end(model: mujoco.MjModel, joint: int, part: Part) -> float:
    """The limit farther from home; without limits a quarter turn, or its own length, the way that leads outwards."""
    if model.jnt_limited[joint]:
        low, high = model.jnt_range[joint]
        return float(low if -low > high else high)
    way = part.axis if part.kind == "slide" else np.cross(part.axis, part.centre - part.anchor)
    far = float(np.abs(part.axis) @ part.size) if part.kind == "slide" else QUARTER
    return far if float(way @ part.centre) >= 0 else -far


def _noun(part: Part, p: Placement) -> str:
    if part.kind == "slide":
        way = part.axis * np.sign(part.end)
        edge = float(way @ part.centre + np.abs(way) @ part.size / 2)
        leaves = edge + abs(part.end) - float(np.abs(way) @ p.size) / 2
        return "drawer" if leaves > LEAVES * abs(part.end) else "sliding_door"
    if part.lever < KNOB or p.category in KNOBS:
        return "knob"
    flat = part.size[2] < FLAT * part.size[:2].max() and part.centre[2] > 0
    return "lid" if flat and abs(part.axis[2]) < 0.5 else "door"


def _called(found: Sequence[Part], p: Placement) -> tuple[Part, ...]:
    """Every part by a name of its own: by its level or its side where there are two or three, else by number."""
    names: dict[str, str] = {}
    for noun, group in groupby(sorted(found, key=lambda one: one.name), key=lambda one: one.name):
        names |= _told_apart(noun, list(group))
    return tuple(replace(one, name=names[one.joint]) for one in found)


def _told_apart(noun: str, group: list[Part]) -> dict[str, str]:
    """Names by joint."""
    centres = np.array([one.centre for one in group])
    spread = np.ptp(centres, axis=0)
    across = int(spread[:2].argmax())
    level = len(group) == 1 or spread[2] > 2 * spread[across]
    row = spread[across] > 2 * spread[2]
    words = LEVELS.get(len(group)) if level else SIDES.get(len(group)) if row else None
    order = sorted(group, key=lambda one: (-one.centre[2] if not row else 0.0, one.centre[across]))
    marked = [f"{word}{noun}" for word in words] if words else [f"{noun}_{n}" for n in range(1, len(group) + 1)]
    return {one.joint: name for one, name in zip(order, marked, strict=True)}


def _corners(model: mujoco.MjModel, data: mujoco.MjData, body: int) -> np.ndarray:
    """Of the boxes around all geoms of a body and of what hangs on it, of shape (N, 3)."""
    below = [b for b in range(model.nbody) if body in _line(model, b)]
    boxes = []
    for geom in np.flatnonzero(np.isin(model.geom_bodyid, below)).tolist():
        centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        boxes.append((centre + signs * half) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom])
    return np.concatenate(boxes) if boxes else data.xpos[body][None].copy()


def _line(model: mujoco.MjModel, body: int) -> list[int]:
    """The body and all it hangs on."""
    line = [body]
    while line[-1]:
        line.append(int(model.body_parentid[line[-1]]))
    return line
