"""How like the photograph the twin is, object by object."""

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import mujoco
import numpy as np

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.scene import mjcf
from pipeline.scene.placement import Scene
from pipeline.segmentation import Segment

RAYS = 40_000
"""Enough for an object's outline to a few per cent, in a few tenths of a second."""


@dataclass(frozen=True)
class Likeness:
    """One object of the twin, seen through the photograph's camera."""

    name: str
    segment_id: int
    mask_iou: float
    """Of the twin's visible outline with the segment's mask, in [0, 1]."""
    depth_error: float | None
    """Median distance in metres between twin and photograph where both show the object; None where none does."""
    verdict: str
    """One sentence for a person."""


def compare(frame: Frame, segments: Iterable[Segment], scene: Scene) -> tuple[Likeness, ...]:
    """Cast the photograph's pixels as rays into the twin and see what each meets. Needs no OpenGL."""
    k = frame.intrinsics
    step = _step(k, RAYS)
    model = mjcf.compile_spec(mjcf.build(scene))
    labels, depth = cast(model, k, scene.world_from_camera, step)
    measured = frame.depth[::step, ::step]
    masks = {s.id: s.mask[::step, ::step] for s in segments}
    return tuple(
        likeness(p.name, p.segment_id, masks[p.segment_id], labels == model.body(p.name).id, measured, depth)
        for p in scene.placements
        if p.segment_id in masks
    )


def cast(
    model: mujoco.MjModel,
    k: Intrinsics,
    world_from_camera: np.ndarray,
    step: int = 1,
    data: mujoco.MjData | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Ids of whole objects' bodies (0: table and floor, -1: nothing), int32, and depth along z in metres, 0: nothing.

    Both of shape (H / step, W / step): every step-th pixel of a camera, its ray cast at what things look like.
    """
    if data is None:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    u, v = np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step))
    geoms, depth = meet(model, data, rays(k, u, v), world_from_camera)
    return np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], -1).astype(np.int32), depth


def rays(k: Intrinsics, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Directions through pixels of shape (...), camera axes, of shape (..., 3): of length 1 along z."""
    return np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones(u.shape)], -1)


def meet(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    directions: np.ndarray,
    world_from_camera: np.ndarray,
    groups: tuple[int, ...] = (0, 1, 2),
) -> tuple[np.ndarray, np.ndarray]:
    """What a camera's rays, of shape (..., 3), meet first among geoms of these groups.

    Geom ids, -1 for nothing, and depth along z in metres, 0 for nothing; both of shape (...).
    """
    shape, turn = directions.shape[:-1], np.asarray(world_from_camera, float)
    aimed = np.ascontiguousarray(directions.reshape(-1, 3) @ turn[:3, :3].T)
    geom, distance = np.full(len(aimed), -1, np.int32), np.zeros(len(aimed))
    shown = np.isin(np.arange(mujoco.mjNGROUP), groups).astype(np.uint8)
    if len(aimed):
        # rays have length 1 along z, and MuJoCo counts in lengths of the ray: distance is depth
        eye = turn[:3, 3].copy()
        mujoco.mj_multiRay(model, data, eye, aimed.reshape(-1), shown, True, -1, geom, distance, None, len(aimed), 1e6)
    return geom.reshape(shape), np.where(geom >= 0, distance, 0).reshape(shape).astype(np.float32)


def difference(frame: Frame, scene: Scene) -> np.ndarray:
    """Metres by which the twin lies behind what was measured, of shape (H / step, W / step), float32.

    Negative where it stands before it, NaN where either knows no depth. What the twin adds to the table that was seen,
    and the floor, are not compared.
    """
    k = frame.intrinsics
    step = _step(k, 4 * RAYS)
    model = mjcf.compile_spec(mjcf.build(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    u, v = np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step))
    geoms, depth = meet(model, data, rays(k, u, v), scene.world_from_camera)
    measured = frame.depth[::step, ::step]
    added = (geoms == model.geom("table").id) & ~_on_table(scene, k, u.shape, step)
    known = (geoms >= 0) & (geoms != model.geom("floor").id) & ~added & (measured > 0)
    return np.where(known, depth - measured, np.nan).astype(np.float32)


def _on_table(scene: Scene, k: Intrinsics, shape: tuple[int, ...], step: int) -> np.ndarray:
    """Which of every step-th pixels lie in the outline of the table that was seen, of shape (H / step, W / step)."""
    outline = np.column_stack([scene.table, np.zeros(len(scene.table))])
    x, y, z = transform(np.linalg.inv(np.asarray(scene.world_from_camera, float)), outline).T
    corners = np.stack([x / z * k.fx + k.cx, y / z * k.fy + k.cy], -1) / step
    filled = np.zeros(shape, np.uint8)
    if (z > 0).all():
        cv2.fillPoly(filled, [np.rint(corners).clip(-10_000, 10_000).astype(np.int32)], 1)
    return filled.astype(bool)


def _step(k: Intrinsics, most: int) -> int:
    """Every how many pixels rays are cast for there to be at most so many."""
    return max(1, int(np.ceil(np.sqrt(k.width * k.height / most))))


def likeness(
    name: str, segment_id: int, mask: np.ndarray, twin: np.ndarray, measured: np.ndarray, depth: np.ndarray
) -> Likeness:
    """Of an object seen here (mask) and there (twin), with both depths in metres, 0 unknown; all of one shape."""
    union = int((mask | twin).sum())
    iou = float((mask & twin).sum() / union) if union else 0.0
    both = mask & twin & (measured > 0)
    error = float(np.median(np.abs(measured - depth)[both])) if both.any() else None
    return Likeness(name, segment_id, iou, error, _verdict(name, iou, error, bool(twin.any())))


def _verdict(name: str, iou: float, error: float | None, visible: bool) -> str:
    if not visible:
        return f"{name} does not show from the photograph's camera: move it or choose another asset"
    where = "" if error is None else f", {error * 100:.1f} cm off in depth"
    if iou >= 0.8 and (error is None or error < 0.01):
        return f"{name} fits: {iou:.0%} of its outline agrees{where}"
    if iou >= 0.6 and (error is None or error < 0.03):
        return f"{name} fits roughly: {iou:.0%} of its outline agrees{where}"
    return f"{name} looks different from the photograph: {iou:.0%} of its outline agrees{where}"
