"""Render a candidate at its pose from the photograph's camera, as bright as the object in the photograph.

The candidate is rendered alone, and hidden where something in the photograph is in front of it.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipeline.assets.asset_cards import import_pyrender, run_on_render_thread
from pipeline.assets.mesh_files import load_mesh_file
from pipeline.frame import Frame
from pipeline.geometry import Pose, bounding_box
from pipeline.scene.placement import SceneError

ASPECT = 4 / 3
IMAGE_WIDTH = 560
"""Width of a rendered candidate in pixels, whatever the size of its window."""
MAX_BRIGHTNESS = 245
"""Brightness, of 255, that nine tenths of a brightened rendering stay below, so that its shading remains visible."""


@dataclass(frozen=True)
class CropWindow:
    """A part of the photograph, in pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns, to index an array of shape (H, W, ...)."""
        return np.s_[self.top : self.top + self.height, self.left : self.left + self.width]


@dataclass(frozen=True, eq=False)
class CandidateRendering:
    """A candidate rendered in a window of the photograph."""

    rgba: np.ndarray
    """Of shape (h, w, 4), uint8, IMAGE_WIDTH wide; alpha is 0 where the candidate does not show."""
    overlap: float
    """Intersection over union of its visible outline and the mask, in [0, 1]."""
    depth_error: float | None
    """Median distance in metres from the measured depth inside both outlines; None if there is none."""


def crop_window(mask: np.ndarray) -> CropWindow:
    """Return the window around a mask (H, W), of aspect ratio ASPECT if the photograph is large enough.

    Raises SceneError for an empty mask.
    """
    box = bounding_box(mask)
    if not box.width:
        raise SceneError("the mask is empty, so there is nothing to compare; draw it again")
    # 0.3: margin around the mask, relative to its longer side
    pad = 2 * 0.3 * max(box.height, box.width) + 8
    # 90: least height of a window in pixels: a small mask is shown with its surroundings
    height = max(box.height + pad, (box.width + pad) / ASPECT, 90)
    size = min(round(height * ASPECT), mask.shape[1]), min(round(height), mask.shape[0])
    centre = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    left, top = (
        int(np.clip(round(c - s / 2), 0, limit - s)) for c, s, limit in zip(centre, size, mask.shape[::-1], strict=True)
    )
    return CropWindow(left, top, *size)


def draw_candidate(
    frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, mesh: Path, size: np.ndarray, pose: Pose
) -> CandidateRendering:
    """Render a mesh, its box scaled to `size` (3,) in metres, at `pose`, in the window of `mask` (H, W).

    Raises AssetError if the mesh cannot be read, SceneError if OpenGL is not available.
    """
    view = crop_window(mask)
    zoom = IMAGE_WIDTH / view.width
    shape = IMAGE_WIDTH, round(view.height * zoom)
    loaded = load_mesh_file(mesh)
    world_from_mesh = pose.matrix @ np.diag([*(size / np.maximum(loaded.extents, 1e-9)), 1])
    world_from_mesh[:3, 3] -= world_from_mesh[:3, :3] @ loaded.bounds.mean(0)
    rgb, depth = run_on_render_thread(_render, loaded, world_from_mesh, world_from_camera, frame, view, zoom, shape)
    measured, inside = (
        cv2.resize(image[view.slices].astype(np.float32), shape, interpolation=cv2.INTER_NEAREST)
        for image in (frame.depth, mask)
    )
    # Distance by which something must be nearer to the camera to hide the candidate
    hidden = (measured > 0) & (measured < depth - 0.015) & (inside == 0)
    shown = (depth > 0) & ~hidden
    lit = _match_brightness(rgb, shown, frame.rgb[mask])
    inner = cv2.erode(shown.astype(np.float32), np.ones((3, 3)))  # the outermost pixels mix with the background
    alpha = cv2.GaussianBlur(inner * 255, (3, 3), 0)
    union = int((shown | (inside > 0)).sum())
    both = shown & (inside > 0) & (measured > 0)
    error = float(np.median(np.abs(depth - measured)[both])) if both.any() else None
    overlap = float((shown & (inside > 0)).sum() / max(union, 1))
    return CandidateRendering(np.dstack([lit, alpha.astype(np.uint8)]), overlap, error)


def remove_object(frame: Frame, mask: np.ndarray) -> np.ndarray:
    """Return the window of a mask (H, W) with the object inpainted from its surroundings, of shape (h, w, 3), uint8."""
    view = crop_window(mask)
    hole = cv2.dilate(mask[view.slices].astype(np.uint8), np.ones((7, 7), np.uint8))
    small = min(1.0, 160 / view.width)  # the result is smooth anyway, and this is much faster
    rgb = np.ascontiguousarray(frame.rgb[view.slices])
    reduced = cv2.resize(rgb, None, fx=small, fy=small, interpolation=cv2.INTER_AREA)
    reduced_hole = cv2.resize(hole, reduced.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    filled = cv2.GaussianBlur(cv2.inpaint(reduced, reduced_hole, 3, cv2.INPAINT_TELEA), (5, 5), 0)
    return np.where(hole[..., None] > 0, cv2.resize(filled, rgb.shape[1::-1]), rgb)


def outline_polygons(shown: np.ndarray) -> list[list[list[float]]]:
    """Return the outlines of a mask (h, w) as polygons, their corners relative to its width and height."""
    contours, _ = cv2.findContours(shown.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    height, width = shown.shape
    polygons = [cv2.approxPolyDP(contour, 0.7, True)[:, 0] for contour in contours if len(contour) > 5]
    return [((polygon + 0.5) / [width, height]).round(4).tolist() for polygon in polygons]


def _match_brightness(rgb: np.ndarray, shown: np.ndarray, photographed: np.ndarray) -> np.ndarray:
    """Scale a rendering to the mean brightness of the photographed pixels (N, 3), but not above MAX_BRIGHTNESS."""
    if not shown.any() or not len(photographed):
        return rgb
    brightest = float(np.percentile(rgb[shown].max(axis=1), 90))
    gain = min(
        float(photographed.mean()) / max(float(rgb[shown].mean()), 1.0), max(MAX_BRIGHTNESS / max(brightest, 1.0), 1.0)
    )
    # (0.45, 2.2): limits of the brightness gain: a black object does not turn white
    return np.clip(rgb * np.clip(gain, *(0.45, 2.2)), 0, 255).astype(np.uint8)


def _render(
    mesh: Any,
    world_from_mesh: np.ndarray,
    world_from_camera: np.ndarray,
    frame: Frame,
    view: CropWindow,
    zoom: float,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    gl, k = import_pyrender(), frame.intrinsics
    scene = gl.Scene(bg_color=(0.0, 0.0, 0.0, 0.0), ambient_light=(0.5, 0.5, 0.5))
    scene.add(gl.Mesh.from_trimesh(mesh, smooth=True), pose=world_from_mesh)
    camera_pose = world_from_camera @ np.diag([1.0, -1, -1, 1])  # OpenGL's camera looks along -z with y up
    principal_point = (k.cx + 0.5 - view.left) * zoom, (k.cy + 0.5 - view.top) * zoom
    scene.add(gl.IntrinsicsCamera(k.fx * zoom, k.fy * zoom, *principal_point, znear=0.02, zfar=20.0), pose=camera_pose)
    scene.add(gl.DirectionalLight(intensity=1.6), pose=camera_pose)
    scene.add(gl.DirectionalLight(intensity=1.6))  # from above: along the world's -z
    return _renderer_of_size(*shape).render(scene)


def _renderer_of_size(width: int, height: int) -> Any:
    renderer = _renderer()
    renderer.viewport_width, renderer.viewport_height = width, height
    return renderer


@lru_cache(maxsize=1)
def _renderer() -> Any:
    try:
        return import_pyrender().OffscreenRenderer(IMAGE_WIDTH, round(IMAGE_WIDTH / ASPECT))
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(f"OpenGL rendering is not available ({error}); install libegl1") from error
