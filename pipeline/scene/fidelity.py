"""How well the twin agrees with the photograph, object by object."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import cv2
import mujoco
import numpy as np

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import transform
from pipeline.geometry.rays import cast_at_geoms
from pipeline.scene.mjcf import builder
from pipeline.scene.placement import Scene
from pipeline.segmentation import Segment

MAX_RAYS = 40_000
"""Rays per comparison: they give an object's outline to a few per cent in a few tenths of a second."""

MIN_COST_CHANGE = 0.015
"""Difference of costs that makes a fit better or worse."""
MAX_DEPTH_ERROR_M = 0.05
"""Depth error that costs as much as a mask that does not overlap at all."""

Agreement = Literal["good", "rough", "off"]


@dataclass(frozen=True)
class ObjectFidelity:
    """Agreement of one object of the twin with the photograph, seen through the photograph's camera."""

    name: str
    segment_id: int
    mask_iou: float
    """Intersection over union of the twin's visible outline and the segment's mask, in [0, 1]."""
    depth_error: float | None
    """Median distance in metres between twin and photograph where both show the object; None if they never do."""
    verdict: str
    """One sentence for the person."""

    @property
    def agreement(self) -> Agreement:
        return _agreement(self.mask_iou, self.depth_error)

    @property
    def cost(self) -> float:
        """Disagreement of outline and depth together, in [0, 2]."""
        error = MAX_DEPTH_ERROR_M if self.depth_error is None else min(self.depth_error, MAX_DEPTH_ERROR_M)
        return 1 - self.mask_iou + error / MAX_DEPTH_ERROR_M


def compare_scene(frame: Frame, segments: Iterable[Segment], scene: Scene) -> tuple[ObjectFidelity, ...]:
    """Return the fidelity of every object that has a segment. Casts the camera's rays; needs no OpenGL."""
    k = frame.intrinsics
    step = _step(k, MAX_RAYS)
    model = builder.compile_spec(builder.build_spec(scene))
    labels, depth = raycast_image(model, k, scene.world_from_camera, step)
    measured = frame.depth[::step, ::step]
    masks = {s.id: s.mask[::step, ::step] for s in segments}
    return tuple(
        object_fidelity(p.name, p.segment_id, masks[p.segment_id], labels == model.body(p.name).id, measured, depth)
        for p in scene.placements
        if p.segment_id in masks
    )


def raycast_image(
    model: mujoco.MjModel,
    k: Intrinsics,
    world_from_camera: np.ndarray,
    step: int = 1,
    data: mujoco.MjData | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Cast the ray of every step-th pixel of a camera at the visual geoms of a model.

    Returns the ids of the objects' root bodies (0: table and floor, -1: nothing), int32, and the depth along z in
    metres (0: nothing), both of shape (H / step, W / step).
    """
    if data is None:
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
    u, v = np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step))
    geoms, depth = cast_camera_rays(model, data, k.ray_directions(u, v), world_from_camera)
    return np.where(geoms >= 0, model.body_rootid[model.geom_bodyid[geoms]], -1).astype(np.int32), depth


def cast_camera_rays(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    directions: np.ndarray,
    world_from_camera: np.ndarray,
    groups: tuple[int, ...] = (0, 1, 2),
) -> tuple[np.ndarray, np.ndarray]:
    """Cast a camera's rays, of shape (..., 3) in camera axes, at the geoms of these groups.

    Returns the ids of the geoms hit first (-1: nothing) and the depth along z in metres (0: nothing), of shape (...).
    """
    shape, pose = directions.shape[:-1], np.asarray(world_from_camera, float)
    geoms, distance = cast_at_geoms(model, data, pose[:3, 3], directions.reshape(-1, 3) @ pose[:3, :3].T, groups)
    # the rays have length 1 along z, and MuJoCo counts in lengths of the ray: distance is depth
    return geoms.reshape(shape), np.where(geoms >= 0, distance, 0).reshape(shape).astype(np.float32)


def depth_difference(frame: Frame, scene: Scene) -> np.ndarray:
    """Return the metres by which the twin lies behind the measured depth, of shape (H / step, W / step), float32.

    Negative where the twin is in front, NaN where either has no depth. The floor, and the parts of table and shelves
    that the photograph does not show, are not compared.
    """
    k = frame.intrinsics
    step = _step(k, 4 * MAX_RAYS)
    model = builder.compile_spec(builder.build_spec(scene))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    u, v = np.meshgrid(np.arange(0, k.width, step), np.arange(0, k.height, step))
    geoms, depth = cast_camera_rays(model, data, k.ray_directions(u, v), scene.world_from_camera)
    measured = frame.depth[::step, ::step]
    added = np.zeros(u.shape, bool)
    for name, outline, height in (("table", scene.table, 0.0), *((s.name, s.outline, s.height) for s in scene.shelves)):
        corners = np.column_stack([outline, np.full(len(outline), height)])
        added |= (geoms == model.geom(name).id) & ~_inside(corners, scene, k, u.shape, step)
    known = (geoms >= 0) & (geoms != model.geom("floor").id) & ~added & (measured > 0)
    return np.where(known, depth - measured, np.nan).astype(np.float32)


def _inside(outline: np.ndarray, scene: Scene, k: Intrinsics, shape: tuple[int, ...], step: int) -> np.ndarray:
    """Return which of every step-th pixels lie in an outline (N, 3) in world, of shape (H / step, W / step)."""
    x, y, z = transform(np.linalg.inv(np.asarray(scene.world_from_camera, float)), outline).T
    corners = np.stack([x / z * k.fx + k.cx, y / z * k.fy + k.cy], -1) / step
    filled = np.zeros(shape, np.uint8)
    if (z > 0).all():
        cv2.fillPoly(filled, [np.rint(corners).clip(-10_000, 10_000).astype(np.int32)], 1)
    return filled.astype(bool)


def _step(k: Intrinsics, max_rays: int) -> int:
    """Return the pixel step at which an image has at most so many rays."""
    return max(1, int(np.ceil(np.sqrt(k.width * k.height / max_rays))))


def object_fidelity(
    name: str, segment_id: int, mask: np.ndarray, twin: np.ndarray, measured: np.ndarray, depth: np.ndarray
) -> ObjectFidelity:
    """Compare an object's mask in the photograph with that in the twin.

    Both masks and both depths (in metres, 0 unknown) have the same shape.
    """
    union = int((mask | twin).sum())
    iou = float((mask & twin).sum() / union) if union else 0.0
    both = mask & twin & (measured > 0)
    error = float(np.median(np.abs(measured - depth)[both])) if both.any() else None
    return ObjectFidelity(name, segment_id, iou, error, _verdict(name, iou, error, bool(twin.any())))


def _agreement(iou: float, error: float | None) -> Agreement:
    if iou >= 0.8 and (error is None or error < 0.01):
        return "good"
    return "rough" if iou >= 0.6 and (error is None or error < 0.03) else "off"


def _verdict(name: str, iou: float, error: float | None, visible: bool) -> str:
    if not visible:
        return f"{name} does not show from the photograph's camera: move it or choose another asset"
    depth = "" if error is None else f", {error * 100:.1f} cm off in depth"
    fits = {"good": "fits", "rough": "fits roughly", "off": "looks different from the photograph"}
    return f"{name} {fits[_agreement(iou, error)]}: {iou:.0%} of its outline agrees{depth}"
