"""Pictures of assets: what a person compares with the photograph.

OpenGL contexts belong to the thread that made them, so one worker thread draws everything; any thread may ask.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from pipeline.assets.asset import Asset
from pipeline.assets.mesh import load_mesh
from pipeline.store import replacing

R = TypeVar("R")
VIEWS = ((35.0, 25.0), (155.0, 25.0), (275.0, 25.0), (35.0, 65.0))
"""Azimuth and elevation of the camera in degrees."""
FIELD_OF_VIEW = np.deg2rad(24)
GROUND = (0.93, 0.93, 0.92)
"""What lies behind the object, linear RGB."""

PLASTER = (0.95, 0.95, 0.95, 1.0)
"""What a thing's form is drawn in, linear RGBA."""
SHINE, LIFTED = 0.13, 1.25
"""How much of the light on its form a black thing throws back; the gamma that lifts its shadows."""

_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cards")


def card(
    asset: Asset, views: Sequence[tuple[float, float]] = VIEWS, size: int = 224, cache: Path | None = None
) -> list[np.ndarray]:
    """Views of an asset standing upright, each of shape (size, size, 3), uint8.

    Drawn once and kept as PNG in the folder `cache`, under the asset's digest. Raises AssetError for a broken mesh.
    """
    return [_view(asset, azimuth, elevation, size, cache) for azimuth, elevation in views]


def card_file(asset: Asset, cache: Path, view: tuple[float, float] = VIEWS[0], size: int = 224) -> Path:
    """Where the PNG of one view is kept, for a page to show; drawn now if it has not been."""
    _view(asset, *view, size, cache)
    return _file(asset, *view, size, cache)


def _file(asset: Asset, azimuth: float, elevation: float, size: int, cache: Path) -> Path:
    return cache / f"{asset.digest or asset.id}_{azimuth:.0f}_{elevation:.0f}_{size}.png"


def _view(asset: Asset, azimuth: float, elevation: float, size: int, cache: Path | None) -> np.ndarray:
    file = _file(asset, azimuth, elevation, size, cache) if cache else None
    if file and file.exists():
        return np.array(Image.open(file).convert("RGB"))
    picture = render_view(asset, camera_rotation(azimuth, elevation), size)
    if file:
        with replacing(file) as aside:
            Image.fromarray(picture).save(aside, "PNG")
    return picture


def camera_rotation(azimuth: float, elevation: float) -> np.ndarray:
    """Object-from-camera rotation (3, 3), OpenCV axes, of a camera that looks at the origin from these degrees."""
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    forward = -np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def render_view(asset: Asset, rotation: np.ndarray, size: int = 224) -> np.ndarray:
    """One view of shape (size, size, 3), uint8, the object filling it. `rotation` (3, 3) is object-from-camera."""
    return drawing(_draw, asset, rotation, size)


def readable_card(asset: Asset, view: tuple[float, float] = VIEWS[0], size: int = 224) -> np.ndarray:
    """One view for a small picture, (size, size, 3), uint8: what is dark is shone upon, so that its form can be seen.

    For people only: what a model is shown, and what is compared, keeps its colours.
    """
    rotation = camera_rotation(*view)
    own = drawing(_draw, asset, rotation, size) / 255
    form = drawing(_draw, asset, rotation, size, PLASTER) / 255
    lit = own + SHINE * (1 - own.max(axis=2, keepdims=True)) ** 3 * form**2
    return np.round(255 * np.minimum(lit, 1) ** (1 / LIFTED)).astype(np.uint8)


def drawing(function: Callable[..., R], *arguments: Any) -> R:
    """Calls a function that draws with `opengl()` in the thread kept for that, and waits for its answer."""
    return _worker.submit(function, *arguments).result()


def _draw(asset: Asset, rotation: np.ndarray, size: int, paint: Sequence[float] | None = None) -> np.ndarray:
    gl = opengl()
    radius = float(np.linalg.norm(asset.size)) / 2
    distance = 1.04 * radius / np.sin(FIELD_OF_VIEW / 2)
    pose = np.eye(4)
    pose[:3, :3] = rotation * [1, -1, -1]  # OpenGL's camera looks along -z with y up
    pose[:3, 3] = -rotation[:, 2] * distance
    scene = gl.Scene(bg_color=(*GROUND, 1.0), ambient_light=(0.42, 0.42, 0.42))
    plain = gl.MetallicRoughnessMaterial(baseColorFactor=paint, metallicFactor=0.0) if paint else None
    scene.add(gl.Mesh.from_trimesh(load_mesh(asset), material=plain, smooth=True))
    scene.add(gl.PerspectiveCamera(FIELD_OF_VIEW, znear=distance / 10, zfar=distance * 10), pose=pose)
    for strength, turn in ((2.6, (-0.5, -0.6)), (1.1, (-0.2, 0.9))):
        scene.add(gl.DirectionalLight(intensity=strength), pose=pose @ _turn(*turn))
    colour, _ = _renderer(size).render(scene)
    return np.ascontiguousarray(colour)


def _turn(about_x: float, about_y: float) -> np.ndarray:
    from trimesh.transformations import euler_matrix

    return euler_matrix(about_x, about_y, 0)


def opengl() -> Any:
    """pyrender, for the thread of `drawing` only."""
    os.environ.setdefault("PYOPENGL_PLATFORM", "egl")
    import pyrender  # chooses its OpenGL at import, so the platform must be named before

    return pyrender


@lru_cache(maxsize=4)
def _renderer(size: int) -> Any:
    """Called in the worker thread only."""
    return opengl().OffscreenRenderer(size, size)
