"""A candidate where the photograph shows the object: in the photograph's own camera, as bright as what was seen.

It is drawn alone; what stands before it in the photograph hides it here, too.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from pipeline.assets.cards import drawing, opengl
from pipeline.assets.mesh import load_file
from pipeline.frame import Frame
from pipeline.geometry import Pose
from pipeline.scene.placement import SceneError

ASPECT = 4 / 3
MARGIN = 0.3
"""Of the object's larger side, left around it."""
WIDTH = 560
"""Pixels of a drawing, whatever the crop has."""
LEAST = 90
"""Pixels that a window is high at least: a scrap is shown with what lies around it."""
NEARER = 0.015
"""Metres by which something must stand nearer to hide what is drawn."""
GAIN = (0.45, 2.2)
"""A black thing is not made white."""
GLARE = 245
"""Of 255, what nine tenths of a drawing stay below where it is made brighter: a form shows by its shading."""


@dataclass(frozen=True)
class Window:
    """A part of the photograph, in pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def part(self) -> tuple[slice, slice]:
        """Of an array of shape (H, W, ...)."""
        return np.s_[self.top : self.top + self.height, self.left : self.left + self.width]


@dataclass(frozen=True, eq=False)
class Drawing:
    """One thing as the photograph's camera would see it in a window."""

    rgba: np.ndarray
    """Of shape (h, w, 4), uint8, WIDTH wide; alpha is 0 where it does not show."""
    overlap: float
    """IoU of its outline, where nothing hides it, with the mask; in [0, 1]."""
    depth_error: float | None
    """Median distance in metres from what was measured, where both show it; None where none does."""


def window(mask: np.ndarray) -> Window:
    """Around a mask (H, W), bool, as wide as ASPECT asks where the photograph is large enough. Raises SceneError."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        raise SceneError("nothing is left of that mask, so there is nothing to compare; draw it anew")
    tall, wide = rows[-1] + 1 - rows[0], columns[-1] + 1 - columns[0]
    pad = 2 * MARGIN * max(tall, wide) + 8
    height = max(tall + pad, (wide + pad) / ASPECT, LEAST)
    size = min(round(height * ASPECT), mask.shape[1]), min(round(height), mask.shape[0])
    middle = (columns[0] + columns[-1] + 1) / 2, (rows[0] + rows[-1] + 1) / 2
    left, top = (
        int(np.clip(round(m - s / 2), 0, whole - s)) for m, s, whole in zip(middle, size, mask.shape[::-1], strict=True)
    )
    return Window(left, top, *size)


def draw(
    frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, mesh: Path, size: np.ndarray, pose: Pose
) -> Drawing:
    """A mesh with its box brought to `size` (3,), in metres, at `pose`, in the window of `mask` (H, W).

    Raises AssetError for a mesh that cannot be read, SceneError where there is no OpenGL to draw with.
    """
    view = window(mask)
    zoom = WIDTH / view.width
    shape = WIDTH, round(view.height * zoom)
    loaded = load_file(mesh)
    fitted = pose.matrix @ np.diag([*(size / np.maximum(loaded.extents, 1e-9)), 1])
    fitted[:3, 3] -= fitted[:3, :3] @ loaded.bounds.mean(0)
    rgb, depth = drawing(_draw, loaded, fitted, world_from_camera, frame, view, zoom, shape)
    measured, inside = (
        cv2.resize(one[view.part].astype(np.float32), shape, interpolation=cv2.INTER_NEAREST)
        for one in (frame.depth, mask)
    )
    hidden = (measured > 0) & (measured < depth - NEARER) & (inside == 0)
    shown = (depth > 0) & ~hidden
    lit = _as_bright(rgb, shown, frame.rgb[mask])
    inner = cv2.erode(shown.astype(np.float32), np.ones((3, 3)))  # at its very edge the ground shines through
    alpha = cv2.GaussianBlur(inner * 255, (3, 3), 0)
    union = int((shown | (inside > 0)).sum())
    both = shown & (inside > 0) & (measured > 0)
    error = float(np.median(np.abs(depth - measured)[both])) if both.any() else None
    overlap = float((shown & (inside > 0)).sum() / max(union, 1))
    return Drawing(np.dstack([lit, alpha.astype(np.uint8)]), overlap, error)


def without(frame: Frame, mask: np.ndarray) -> np.ndarray:
    """The window of the mask (H, W) with the object taken out, its place filled from around, (h, w, 3), uint8."""
    view = window(mask)
    hole = cv2.dilate(mask[view.part].astype(np.uint8), np.ones((7, 7), np.uint8))
    small = min(1.0, 160 / view.width)  # smooth anyway, and far quicker
    rgb = np.ascontiguousarray(frame.rgb[view.part])
    less = cv2.resize(rgb, None, fx=small, fy=small, interpolation=cv2.INTER_AREA)
    gone = cv2.resize(hole, less.shape[1::-1], interpolation=cv2.INTER_NEAREST)
    filled = cv2.GaussianBlur(cv2.inpaint(less, gone, 3, cv2.INPAINT_TELEA), (5, 5), 0)
    return np.where(hole[..., None] > 0, cv2.resize(filled, rgb.shape[1::-1]), rgb)


def outline(shown: np.ndarray) -> list[list[list[float]]]:
    """Polygons around a mask of shape (h, w), their corners as shares of its width and height."""
    found, _ = cv2.findContours(shown.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    height, width = shown.shape
    smooth = [cv2.approxPolyDP(one, 0.7, True)[:, 0] for one in found if len(one) > 5]
    return [((one + 0.5) / [width, height]).round(4).tolist() for one in smooth]


def _as_bright(rgb: np.ndarray, shown: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The drawing's light scaled until its mean is that of what was seen, pixels (N, 3), or until it would glare."""
    if not shown.any() or not len(seen):
        return rgb
    brightest = float(np.percentile(rgb[shown].max(axis=1), 90))
    gain = min(float(seen.mean()) / max(float(rgb[shown].mean()), 1.0), max(GLARE / max(brightest, 1.0), 1.0))
    return np.clip(rgb * np.clip(gain, *GAIN), 0, 255).astype(np.uint8)


def _draw(
    mesh: Any,
    world_from_mesh: np.ndarray,
    world_from_camera: np.ndarray,
    frame: Frame,
    view: Window,
    zoom: float,
    shape: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray]:
    gl, k = opengl(), frame.intrinsics
    scene = gl.Scene(bg_color=(0.0, 0.0, 0.0, 0.0), ambient_light=(0.5, 0.5, 0.5))
    scene.add(gl.Mesh.from_trimesh(mesh, smooth=True), pose=world_from_mesh)
    eye = world_from_camera @ np.diag([1.0, -1, -1, 1])  # OpenGL's camera looks along -z with y up
    middle = (k.cx + 0.5 - view.left) * zoom, (k.cy + 0.5 - view.top) * zoom
    scene.add(gl.IntrinsicsCamera(k.fx * zoom, k.fy * zoom, *middle, znear=0.02, zfar=20.0), pose=eye)
    scene.add(gl.DirectionalLight(intensity=1.6), pose=eye)
    scene.add(gl.DirectionalLight(intensity=1.6))  # from above: along the world's -z
    return _renderer_of(*shape).render(scene)


def _renderer_of(width: int, height: int) -> Any:
    renderer = _renderer()
    renderer.viewport_width, renderer.viewport_height = width, height
    return renderer


@lru_cache(maxsize=1)
def _renderer() -> Any:
    try:
        return opengl().OffscreenRenderer(WIDTH, round(WIDTH / ASPECT))
    except Exception as error:  # every OpenGL platform has its own way to fail
        raise SceneError(f"nothing can be drawn here ({error}); install libegl1") from error
