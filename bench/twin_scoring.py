"""Score a twin against the truth: position, orientation and size of its objects.

Poses are compared in the camera's axes, so the world's origin and yaw are free. Rotations count up to the symmetry of
the true shape. If the asset is not the true one, its axes may be swapped as well, and sizes are compared as swapped.
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

from bench.twin_drawing import AXIS_ROTATIONS

MIN_MASK_IOU = 0.5
"""Mask IoU from which a placement counts as the true object."""
ERROR_LIMITS = (10.0, 10.0, 10.0)
"""Millimetres, degrees and per cent below which an object counts as correctly placed."""
MAX_VISIBLE = 2 / 3
"""Share of an object's outline that shows below which it is mostly hidden."""
SIMULATED_SECONDS = 2.0


@dataclass(frozen=True)
class ObjectScore:
    """One true object and the errors of its placement; nan if it was not found."""

    scene: str
    name: str
    strata: tuple[str, ...]
    mask_iou: float
    centre: float = np.nan
    """Position error in millimetres."""
    rotation: float = np.nan
    """Rotation error in degrees."""
    turn: float = np.nan
    """Rotation error in degrees whatever the shape's symmetry, as a print shows it; nan without the true asset."""
    size: float = np.nan
    """Size error in per cent."""
    box_iou: float = np.nan
    """Intersection over union of the two boxes."""
    placed_asset: str | None = None
    true_asset: str | None = None
    segment: int = 0
    """Segment id of its placement; 0 if it was not found."""

    @property
    def found(self) -> bool:
        return self.mask_iou >= MIN_MASK_IOU

    @property
    def good(self) -> bool:
        return self.found and all(
            e < limit for e, limit in zip((self.centre, self.rotation, self.size), ERROR_LIMITS, strict=True)
        )


@dataclass(frozen=True)
class SceneScore:
    """Scores of one scene."""

    objects: tuple[ObjectScore, ...]
    placements: int
    table_rotation: float
    """Degrees between the true and the estimated normal of the table."""
    table_height: float
    """Millimetres between the two planes below the centre of the objects."""
    drift: float
    """Largest motion of a free body in 2 s, in millimetres."""
    penetration: float
    """Deepest contact of a free body in that time, in millimetres."""


def score(project: Path, truth: Path, name: str) -> SceneScore:
    """Compare a project that has its scene with the truth folder of its frame."""
    truth_data = json.loads((truth / "truth.json").read_text())
    scene = json.loads((project / "scene.json").read_text())
    true, placed = truth_data["objects"], scene["placements"]
    iou = _mask_ious(truth / "masks.png", project / "segments/masks.png", true, placed)
    pairs = {i: k for i, k in zip(*linear_sum_assignment(-iou), strict=True) if iou[i, k] >= MIN_MASK_IOU}
    objects = tuple(
        _compare_object(
            name, o, truth_data["world_from_camera"], placed[pairs[i]], scene["world_from_camera"], iou[i, pairs[i]]
        )
        if i in pairs
        else ObjectScore(name, o["name"], strata(o), float(iou[i].max(initial=0)), true_asset=o["asset_id"])
        for i, o in enumerate(true)
    )
    table = _table_error(truth_data["world_from_camera"], scene["world_from_camera"], true)
    return SceneScore(objects, len(placed), *table, *_drift_and_penetration(project / "scene" / "scene.xml"))


def strata(o: dict[str, Any]) -> tuple[str, ...]:
    """Return what is special about a true object, "plain" if nothing is."""
    conditions = {
        "stacked": o["on"] != ["table"],
        "lying": o["rest"] != "upright",
        "touching": bool(o["touching"]),
        "occluded": o["visible_fraction"] < 0.9,
        "mostly hidden": o["visible_fraction"] < MAX_VISIBLE,
    }
    special = tuple(name for name, holds in conditions.items() if holds) or ("plain",)
    return (*special, "primitive" if o["asset_id"] is None else "asset")


def _mask_ious(true_masks: Path, masks: Path, true: list[dict], placed: list[dict]) -> np.ndarray:
    labels, found = np.asarray(Image.open(true_masks)), np.asarray(Image.open(masks))
    iou = np.zeros((len(true), len(placed)))
    for i, o in enumerate(true):
        for k, p in enumerate(placed):
            a, b = labels == o["id"], found == p["segment_id"]
            iou[i, k] = (a & b).sum() / max((a | b).sum(), 1)
    return iou


def _compare_object(name: str, o: dict, true_camera: list, p: dict, camera: list, iou: float) -> ObjectScore:
    (ct, rt), (cp, rp) = _in_camera(true_camera, o), _in_camera(camera, p)
    st, sp = np.array(o["size"]), np.array(p["size"], float)
    same = o["asset_id"] is not None and o["asset_id"] == p["asset_id"]
    options = []
    for swap in np.eye(3)[None] if same else AXIS_ROTATIONS:
        size = np.abs(swap.T) @ sp
        rotation, rest = _rotation_error(o, rt, rp @ swap)
        options.append((round(rotation, 2), float(np.abs(size / st - 1).mean()), tuple(size), rest))
    rotation, wrong, size, rest = min(options, key=lambda option: option[:2])
    box_iou = _box_iou(ct, rt, st, cp, rest, np.array(size))
    off = float(np.linalg.norm(cp - ct))
    turn = float(np.degrees(Rotation.from_matrix(rt.T @ rp).magnitude())) if same else np.nan
    return ObjectScore(
        name, o["name"], strata(o), float(iou), 1e3 * off, rotation, turn, 100 * wrong, box_iou, p["asset_id"],
        o["asset_id"], p["segment_id"],
    )  # fmt: skip


def _in_camera(world_from_camera: list, record: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return centre (3,) and rotation (3, 3) of an object in camera axes."""
    w, pose = np.array(world_from_camera, float), record["world_from_object"]
    rotation = Rotation.from_quat(pose["quat_wxyz"], scalar_first=True).as_matrix()
    return w[:3, :3].T @ (np.array(pose["pos"], float) - w[:3, 3]), w[:3, :3].T @ rotation


def _rotation_error(o: dict, rt: np.ndarray, rp: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the error in degrees up to the true shape's symmetry, and rp without rotations that do not show."""
    if o["symmetry"] == "sphere":
        return 0.0, rt
    rotations = rt @ Rotation.from_quat(o["symmetry_rotations"], scalar_first=True).as_matrix()
    if o["symmetry"] == "axis":
        axis = max(rotations[:, :, 2], key=lambda z: float(z @ rp[:, 2]))
        tilt = Rotation.align_vectors(rp[:, 2][None], axis[None])[0]
        return float(np.degrees(np.arccos(np.clip(axis @ rp[:, 2], -1, 1)))), tilt.as_matrix() @ rt
    angles = Rotation.from_matrix(np.swapaxes(rotations, 1, 2) @ rp).magnitude()
    return float(np.degrees(np.min(angles))), rp


def _box_iou(ct, rt, st, cp, rp, sp, n: int = 20) -> float:
    """Return the intersection over union of two rotated boxes, by a grid of points in the first."""
    axis = (np.arange(n) + 0.5) / n - 0.5
    points = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3) * st @ rt.T + ct
    shared = min((np.abs((points - cp) @ rp) <= sp / 2).all(1).mean() * st.prod(), sp.prod())
    return float(shared / (st.prod() + sp.prod() - shared))


def _table_error(true_camera: list, camera: list, true: list[dict]) -> tuple[float, float]:
    t, p = np.array(true_camera, float), np.array(camera, float)
    foot = np.mean([_in_camera(true_camera, o)[0] for o in true], axis=0)
    foot = foot - t[2, :3] * (t[2, :3] @ foot + t[2, 3])
    rotation = np.arctan2(np.linalg.norm(np.cross(t[2, :3], p[2, :3])), t[2, :3] @ p[2, :3])
    return float(np.degrees(rotation)), float(abs(p[2, :3] @ foot + p[2, 3]) * 1e3)


def _drift_and_penetration(xml: Path) -> tuple[float, float]:
    """Return the largest drift and the deepest penetration of the free bodies in millimetres."""
    model = mujoco.MjModel.from_xml_path(str(xml))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    free = model.jnt_bodyid[model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)]
    start, deepest = data.xipos[free].copy(), 0.0
    for _ in range(int(SIMULATED_SECONDS / model.opt.timestep)):
        mujoco.mj_step(model, data)
        deepest = max(deepest, -min((c.dist for c in data.contact[: data.ncon]), default=0.0))
    mujoco.mj_forward(model, data)
    moved = np.linalg.norm(data.xipos[free] - start, axis=1)
    return 1e3 * float(moved.max(initial=0.0)), 1e3 * deepest
