"""A twin against the truth: where things stand, how they are turned, how large they are.

Poses are compared in the camera's axes, so the world's origin and yaw are free. A turn counts up to the true shape's
symmetry; where the asset is not the true one its axes may be swapped as well, and the sizes are compared as swapped.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from PIL import Image
from scipy.optimize import linear_sum_assignment
from scipy.spatial.transform import Rotation

from tests.bench.twin_drawing import SWAPS

FOUND = 0.5
"""Mask IoU from which a placement is the true object."""
GOOD = (10.0, 10.0, 10.0)
"""Millimetres, degrees and per cent within which an object is where it should be."""
SECONDS = 2.0


@dataclass(frozen=True)
class Thing:
    """One true object and what came of it; the numbers are nan where it was not found."""

    scene: str
    name: str
    strata: tuple[str, ...]
    mask_iou: float
    centre: float = np.nan
    """Millimetres."""
    turn: float = np.nan
    """Degrees."""
    size: float = np.nan
    """Per cent."""
    overlap: float = np.nan
    """Of the two boxes, intersection over union."""
    asset_given: str | None = None
    asset_true: str | None = None
    segment: int = 0
    """Of the placement that stands for it; 0 where it was not found."""

    @property
    def found(self) -> bool:
        return self.mask_iou >= FOUND

    @property
    def good(self) -> bool:
        return self.found and all(e < limit for e, limit in zip((self.centre, self.turn, self.size), GOOD, strict=True))


@dataclass(frozen=True)
class Scored:
    """One scene."""

    things: tuple[Thing, ...]
    placements: int
    table_turn: float
    """Degrees between the true table's normal and the one found."""
    table_height: float
    """Millimetres between them below the middle of the objects."""
    drift: float
    """Millimetres by which the worst free body moves in 2 s."""
    sinking: float
    """Millimetres of the deepest contact of a free body on the way."""


def score(project: Path, truth: Path, name: str) -> Scored:
    """A project worked out up to its scene against its frame's truth folder."""
    told = json.loads((truth / "truth.json").read_text())
    scene = json.loads((project / "scene.json").read_text())
    true, placed = told["objects"], scene["placements"]
    iou = _ious(truth / "masks.png", project / "segments/masks.png", true, placed)
    pairs = {i: k for i, k in zip(*linear_sum_assignment(-iou), strict=True) if iou[i, k] >= FOUND}
    things = tuple(
        _compared(name, o, told["world_from_camera"], placed[pairs[i]], scene["world_from_camera"], iou[i, pairs[i]])
        if i in pairs
        else Thing(name, o["name"], strata(o), float(iou[i].max(initial=0)), asset_true=o["asset_id"])
        for i, o in enumerate(true)
    )
    table = _table(told["world_from_camera"], scene["world_from_camera"], true)
    return Scored(things, len(placed), *table, *_simulated(project / "scene" / "scene.xml"))


def strata(o: dict[str, Any]) -> tuple[str, ...]:
    """What is special about a true object; "plain" where nothing is."""
    told = {
        "stacked": o["on"] != ["table"],
        "lying": o["rest"] != "upright",
        "touching": bool(o["touching"]),
        "occluded": o["visible_fraction"] < 0.9,
    }
    special = tuple(name for name, holds in told.items() if holds) or ("plain",)
    return (*special, "primitive" if o["asset_id"] is None else "asset")


def _ious(true_masks: Path, masks: Path, true: list[dict], placed: list[dict]) -> np.ndarray:
    labels, found = np.asarray(Image.open(true_masks)), np.asarray(Image.open(masks))
    iou = np.zeros((len(true), len(placed)))
    for i, o in enumerate(true):
        for k, p in enumerate(placed):
            mine, its = labels == o["id"], found == p["segment_id"]
            iou[i, k] = (mine & its).sum() / max((mine | its).sum(), 1)
    return iou


def _compared(name: str, o: dict, true_camera: list, p: dict, camera: list, iou: float) -> Thing:
    (ct, rt), (cp, rp) = _in_camera(true_camera, o), _in_camera(camera, p)
    st, sp = np.array(o["size"]), np.array(p["size"], float)
    same = o["asset_id"] is not None and o["asset_id"] == p["asset_id"]
    options = []
    for swap in np.eye(3)[None] if same else SWAPS:
        size = np.abs(swap.T) @ sp
        turn, rest = _turn(o, rt, rp @ swap)
        options.append((round(turn, 2), float(np.abs(size / st - 1).mean()), tuple(size), rest))
    turn, wrong, size, rest = min(options, key=lambda option: option[:2])
    overlap = _overlap(ct, rt, st, cp, rest, np.array(size))
    off = float(np.linalg.norm(cp - ct))
    return Thing(
        name, o["name"], strata(o), float(iou), 1e3 * off, turn, 100 * wrong, overlap, p["asset_id"], o["asset_id"],
        p["segment_id"],
    )  # fmt: skip


def _in_camera(world_from_camera: list, thing: dict) -> tuple[np.ndarray, np.ndarray]:
    """Centre (3,) and rotation (3, 3) in camera axes."""
    w, pose = np.array(world_from_camera, float), thing["world_from_object"]
    turn = Rotation.from_quat(pose["quat_wxyz"], scalar_first=True).as_matrix()
    return w[:3, :3].T @ (np.array(pose["pos"], float) - w[:3, 3]), w[:3, :3].T @ turn


def _turn(o: dict, rt: np.ndarray, rp: np.ndarray) -> tuple[float, np.ndarray]:
    """Degrees up to the true shape's symmetry, and rp without the turns that do not show."""
    if o["symmetry"] == "sphere":
        return 0.0, rt
    turns = rt @ Rotation.from_quat(o["symmetry_rotations"], scalar_first=True).as_matrix()
    if o["symmetry"] == "axis":
        axis = max(turns[:, :, 2], key=lambda z: float(z @ rp[:, 2]))
        tilt = Rotation.align_vectors(rp[:, 2][None], axis[None])[0]
        return float(np.degrees(np.arccos(np.clip(axis @ rp[:, 2], -1, 1)))), tilt.as_matrix() @ rt
    angles = Rotation.from_matrix(np.swapaxes(turns, 1, 2) @ rp).magnitude()
    return float(np.degrees(np.min(angles))), rp


def _overlap(ct, rt, st, cp, rp, sp, n: int = 20) -> float:
    """Intersection over union of two turned boxes, by a grid of points in the first."""
    axis = (np.arange(n) + 0.5) / n - 0.5
    points = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3) * st @ rt.T + ct
    shared = min((np.abs((points - cp) @ rp) <= sp / 2).all(1).mean() * st.prod(), sp.prod())
    return float(shared / (st.prod() + sp.prod() - shared))


def _table(true_camera: list, camera: list, true: list[dict]) -> tuple[float, float]:
    t, p = np.array(true_camera, float), np.array(camera, float)
    foot = np.mean([_in_camera(true_camera, o)[0] for o in true], axis=0)
    foot = foot - t[2, :3] * (t[2, :3] @ foot + t[2, 3])
    turn = np.arctan2(np.linalg.norm(np.cross(t[2, :3], p[2, :3])), t[2, :3] @ p[2, :3])
    return float(np.degrees(turn)), float(abs(p[2, :3] @ foot + p[2, 3]) * 1e3)


def _simulated(xml: Path) -> tuple[float, float]:
    """Millimetres of drift and of sinking of the free bodies."""
    model = mujoco.MjModel.from_xml_path(str(xml))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    free = model.jnt_bodyid[model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)]
    start, deepest = data.xipos[free].copy(), 0.0
    for _ in range(int(SECONDS / model.opt.timestep)):
        mujoco.mj_step(model, data)
        deepest = max(deepest, -min((c.dist for c in data.contact[: data.ncon]), default=0.0))
    mujoco.mj_forward(model, data)
    moved = np.linalg.norm(data.xipos[free] - start, axis=1)
    return 1e3 * float(moved.max(initial=0.0)), 1e3 * deepest
