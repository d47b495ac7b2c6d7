"""How like the photograph the twin is, object by object."""

from collections.abc import Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from pipeline.frame import Frame, Intrinsics
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
    step = max(1, int(np.ceil(np.sqrt(k.width * k.height / RAYS))))
    model = mjcf.compile_spec(mjcf.build(scene))
    labels, depth = cast(model, k, scene.world_from_camera, step)
    measured = frame.depth[::step, ::step]
    masks = {s.id: s.mask[::step, ::step] for s in segments}
    return tuple(
        _likeness(p.name, p.segment_id, masks[p.segment_id], labels == model.body(p.name).id, measured, depth)
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
    """Body ids (0 for table and floor, -1 for nothing), int32, and depth along z in metres, 0 for nothing.

    Both of shape (H / step, W / step): every step-th pixel of a camera, its ray cast at what things look like.
    """
    if data is None:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    u, v = np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step))
    rays = np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones(u.shape)], -1).reshape(-1, 3)
    rays = np.ascontiguousarray(rays @ np.asarray(world_from_camera)[:3, :3].T)
    geom, distance = np.full(len(rays), -1, np.int32), np.zeros(len(rays))
    eye, groups = np.array(world_from_camera, float)[:3, 3].copy(), np.array([1, 1, 1, 0, 0, 0], np.uint8)
    # rays have length 1 along z, and MuJoCo counts in lengths of the ray: distance is depth
    mujoco.mj_multiRay(model, data, eye, rays.reshape(-1), groups, True, -1, geom, distance, None, len(rays), 1e6)
    labels = np.where(geom >= 0, model.geom_bodyid[geom], -1).astype(np.int32)
    return labels.reshape(u.shape), np.where(geom >= 0, distance, 0).reshape(u.shape).astype(np.float32)


def _likeness(
    name: str, segment_id: int, mask: np.ndarray, twin: np.ndarray, measured: np.ndarray, depth: np.ndarray
) -> Likeness:
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
