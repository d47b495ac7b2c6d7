"""Renders cards: pictures of an asset from several sides, which a person compares with the photograph.

An OpenGL context belongs to the thread that created it, so one worker thread renders everything, for any caller.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

from pipeline.assets.asset import Asset
from pipeline.assets.mesh_files import load_mesh
from pipeline.store import atomic_write

R = TypeVar("R")
CARD_VIEWS = ((35.0, 25.0), (155.0, 25.0), (275.0, 25.0), (35.0, 65.0))
"""Azimuth and elevation of the camera in degrees."""
FOVY_RAD = np.deg2rad(24)

DARK_REFLECTANCE, SHADOW_GAMMA = 0.13, 1.25
"""Reflectance given to a black surface, and the gamma that brightens shadows."""

_worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cards")


def render_card(
    asset: Asset, views: Sequence[tuple[float, float]] = CARD_VIEWS, size: int = 224, cache: Path | None = None
) -> list[np.ndarray]:
    """Return views of an asset, each of shape (size, size, 3), uint8.

    Views are stored as PNG in the folder `cache`, by the asset's digest. Raises AssetError for a broken mesh.
    """
    return [_view(asset, azimuth, elevation, size, cache) for azimuth, elevation in views]


def card_file(asset: Asset, cache: Path, view: tuple[float, float] = CARD_VIEWS[0], size: int = 224) -> Path:
    """Return the PNG file of one view, for a page to show; rendered now if missing."""
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
        with atomic_write(file) as temporary:
            Image.fromarray(picture).save(temporary, "PNG")
    return picture


def camera_rotation(azimuth: float, elevation: float) -> np.ndarray:
    """Return the object-from-camera rotation (3, 3), OpenCV axes, of a camera that looks at the origin.

    Angles are in degrees.
    """
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    forward = -np.array([np.cos(a) * np.cos(e), np.sin(a) * np.cos(e), np.sin(e)])
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    return np.stack([right, np.cross(forward, right), forward], axis=1)


def render_view(asset: Asset, rotation: np.ndarray, size: int = 224) -> np.ndarray:
    """Return one view (size, size, 3), uint8, filled by the object. `rotation` (3, 3) is object-from-camera."""
    return run_on_render_thread(_draw, asset, rotation, size)


def brightened_card(asset: Asset, view: tuple[float, float] = CARD_VIEWS[0], size: int = 224) -> np.ndarray:
    """Return one view for a thumbnail, (size, size, 3), uint8, with dark surfaces lit so that shape shows.

    For people only: pictures for models and for matching keep their colours.
    """
    rotation = camera_rotation(*view)
    colour = run_on_render_thread(_draw, asset, rotation, size) / 255
    # (0.95, 0.95, 0.95, 1.0): colour of a rendering that shows only the shape, linear RGBA
    clay = run_on_render_thread(_draw, asset, rotation, size, (0.95, 0.95, 0.95, 1.0)) / 255
    lit = colour + DARK_REFLECTANCE * (1 - colour.max(axis=2, keepdims=True)) ** 3 * clay**2
    return np.round(255 * np.minimum(lit, 1) ** (1 / SHADOW_GAMMA)).astype(np.uint8)


def run_on_render_thread(function: Callable[..., R], *arguments: Any) -> R:
    """Call a function that draws with pyrender in the render thread, and return its result."""
    return _worker.submit(function, *arguments).result()


def _draw(asset: Asset, rotation: np.ndarray, size: int, paint: Sequence[float] | None = None) -> np.ndarray:
    gl = import_pyrender()
    radius = float(np.linalg.norm(asset.size)) / 2
    distance = 1.04 * radius / np.sin(FOVY_RAD / 2)
    pose = np.eye(4)
    pose[:3, :3] = rotation * [1, -1, -1]  # OpenGL's camera looks along -z with y up
    pose[:3, 3] = -rotation[:, 2] * distance
    # (0.93, 0.93, 0.92): linear RGB
    scene = gl.Scene(bg_color=(*(0.93, 0.93, 0.92), 1.0), ambient_light=(0.42, 0.42, 0.42))
    plain = gl.MetallicRoughnessMaterial(baseColorFactor=paint, metallicFactor=0.0) if paint else None
    scene.add(gl.Mesh.from_trimesh(load_mesh(asset), material=plain, smooth=True))
    scene.add(gl.PerspectiveCamera(FOVY_RAD, znear=distance / 10, zfar=distance * 10), pose=pose)
    for strength, turn in ((2.6, (-0.5, -0.6)), (1.1, (-0.2, 0.9))):
        scene.add(gl.DirectionalLight(intensity=strength), pose=pose @ _turn(*turn))
    colour, _ = _renderer(size).render(scene)
    return np.ascontiguousarray(colour)


def _turn(about_x: float, about_y: float) -> np.ndarray:
    from trimesh.transformations import euler_matrix

    return euler_matrix(about_x, about_y, 0)


def import_pyrender() -> Any:
    """Import pyrender. Only call it in the render thread."""
    import pyrender  # it chooses the OpenGL platform at import

    return pyrender


@lru_cache(maxsize=4)
def _renderer(size: int) -> Any:
    """Return a renderer. Only call it in the render thread."""
    return import_pyrender().OffscreenRenderer(size, size)
