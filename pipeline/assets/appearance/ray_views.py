"""Renders small views of assets by ray casting: without OpenGL, on any thread, the same on every machine.

Rays are parallel, so that the size of a view in metres is exact. Open3D's RaycastingScene (Embree) casts them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import cv2
import numpy as np
import trimesh

from pipeline.assets.asset import Asset
from pipeline.assets.asset_cards import camera_rotation
from pipeline.assets.mesh_files import load_mesh
from pipeline.geometry.rays import RayHits, cast_rays, raycasting_scene

if TYPE_CHECKING:
    import open3d as o3d

VIEW_MARGIN = 1.04
"""Side of a view over the longer side of the object in it."""
LIGHT_DIRECTION = np.array([0.25, -0.75, -0.6]) / np.linalg.norm([0.25, -0.75, -0.6])
"""Towards the light, in camera axes: above, in front, a little to the right."""


@dataclass(frozen=True, eq=False)
class RenderedViews:
    """V square views of one asset, P pixels wide, each filled by it."""

    masks: np.ndarray
    """Shape (V, P, P), bool."""
    rgb: np.ndarray
    """Shape (V, P, P, 3), uint8; black outside the mask."""
    depth: np.ndarray
    """Distance along the camera's axis from the asset's centre, shape (V, P, P), float32, in metres; NaN outside."""
    extents: np.ndarray
    """Width and height of the visible object, shape (V, 2), in metres."""


def render_views(asset: Asset, rotations: np.ndarray, pixels: int, max_texture: int = 256) -> RenderedViews:
    """Render an asset from cameras with `rotations` (V, 3, 3), object-from-camera. Raises AssetError for a bad mesh.

    The texture is reduced to `max_texture` pixels, since a finer one would alias in small views.
    """
    scene, corners, colours = _ray_scene(asset, max_texture)
    vertices = load_mesh(asset).vertices
    projected = vertices @ rotations[:, :, :2]
    low, high = projected.min(axis=1), projected.max(axis=1)
    half, middle = VIEW_MARGIN * (high - low).max(axis=1) / 2, (high + low) / 2
    step = (np.arange(pixels) + 0.5) / pixels * 2 - 1
    grid = np.stack(np.meshgrid(step, step), -1).reshape(-1, 2)
    plane = middle[:, None] + half[:, None, None] * grid
    back = 2 * float(np.linalg.norm(asset.size))
    start = plane @ rotations[:, :, :2].transpose(0, 2, 1) - back * rotations[:, None, :, 2]
    along = np.broadcast_to(rotations[:, None, :, 2], start.shape)
    hits = cast_rays(scene, start.reshape(-1, 3), along.reshape(-1, 3))
    depth = hits.distance - np.float32(back)
    mask = np.isfinite(depth)
    depth[~mask] = np.nan
    face, bary, normals = hits.triangle[mask], hits.barycentric[mask], hits.normal[mask]
    turn = np.repeat(np.arange(len(rotations)), pixels**2)[mask]
    shade = 0.62 + 0.38 * np.abs((normals * (rotations @ LIGHT_DIRECTION).astype(np.float32)[turn]).sum(axis=1))
    rgb = np.zeros((len(mask), 3), np.uint8)
    rgb[mask] = np.clip(_texels(corners, colours, face, bary) * shade[:, None], 0, 255)
    shape = (len(rotations), pixels, pixels)
    return RenderedViews(mask.reshape(shape), rgb.reshape(*shape, 3), depth.reshape(shape), high - low)


def surface_colours_along_rays(
    asset: Asset,
    size: np.ndarray,
    origins: Sequence[np.ndarray],
    directions: Sequence[np.ndarray],
    max_texture: int = 256,
) -> tuple[np.ndarray, np.ndarray]:
    """Return which rays hit an asset whose box is scaled to `size` (3,), of shape (V, N), and its colours there.

    Args:
        origins: of V bundles of rays in the axes of the box, centred there, each of shape (3,).
        directions: of the rays of each bundle, of shape (N, 3).

    The colours (V, N, 3), float32, are those of the texture, unlit; zero without a hit. Raises AssetError.
    """
    start = np.concatenate([np.broadcast_to(o, d.shape) for o, d in zip(origins, directions, strict=True)])
    hits, colours = _cast_at_asset(asset, size, start, np.concatenate(directions), max_texture)
    return np.isfinite(hits.distance).reshape(len(origins), -1), colours.reshape(len(origins), -1, 3)


def render_posed(
    asset: Asset, size: np.ndarray, camera_from_object: np.ndarray, directions: np.ndarray, max_texture: int = 256
) -> tuple[np.ndarray, np.ndarray]:
    """Render an asset, its box scaled to `size` (3,) metres and centred at its pose (4, 4), as a camera sees it.

    `directions` (h, w, 3) are those of the camera's rays, with z = 1. Returns depth (h, w) in metres, 0 where the asset
    does not show, and colours (h, w, 3), uint8, lit as in `render_views`. Raises AssetError for a bad mesh.
    """
    rotation, origin = camera_from_object[:3, :3], -camera_from_object[:3, :3].T @ camera_from_object[:3, 3]
    rays = directions.reshape(-1, 3) @ rotation
    hits, colours = _cast_at_asset(asset, size, np.broadcast_to(origin, rays.shape), rays, max_texture)
    normals = hits.normal * (np.maximum(load_mesh(asset).extents, 1e-9) / size)  # of the scaled surface
    facing = np.abs(normals @ (rotation.T @ LIGHT_DIRECTION)) / np.maximum(np.linalg.norm(normals, axis=1), 1e-9)
    depth = np.where(np.isfinite(hits.distance), hits.distance, 0)
    rgb = np.where(depth[:, None] > 0, np.clip(colours * (0.62 + 0.38 * facing)[:, None], 0, 255), 0)
    return depth.reshape(directions.shape[:2]), rgb.astype(np.uint8).reshape(directions.shape)


def _cast_at_asset(
    asset: Asset, size: np.ndarray, start: np.ndarray, directions: np.ndarray, max_texture: int
) -> tuple[RayHits, np.ndarray]:
    """Cast rays (N, 3) in the axes of the asset's box, scaled to `size` (3,), and return the unlit colours (N, 3)."""
    scene, corners, texture = _ray_scene(asset, max_texture)
    mesh = load_mesh(asset)
    factor = np.maximum(mesh.extents, 1e-9) / size
    hits = cast_rays(scene, start * factor + mesh.bounds.mean(axis=0), directions * factor)
    hit = np.isfinite(hits.distance)
    colours = np.zeros((len(hit), 3), np.float32)
    colours[hit] = _texels(corners, texture, hits.triangle[hit], hits.barycentric[hit])
    return hits, colours


def camera_rotations(azimuths: np.ndarray, elevations: np.ndarray, up: np.ndarray | None = None) -> np.ndarray:
    """Return object-from-camera rotations (A * E, 3, 3) for all pairs of azimuth and elevation, in degrees.

    `up` (3, 3), world-from-object, is the object's resting rotation.
    """
    turns = np.array([camera_rotation(a, e) for e in elevations for a in azimuths])
    return turns if up is None else up.T @ turns


@lru_cache(maxsize=128)
def _ray_scene(asset: Asset, max_texture: int) -> tuple["o3d.t.geometry.RaycastingScene", np.ndarray, np.ndarray]:
    """Return the ray scene, each face's texture coordinates (F, 3, 2), and the texture (H, W, 3)."""
    mesh = load_mesh(asset)
    texture, uv = _texture(mesh, max_texture)
    return raycasting_scene([(mesh.vertices, mesh.faces)]), uv[mesh.faces], texture


def _texture(mesh: trimesh.Trimesh, max_texture: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the texture (H, W, 3) and texture coordinates (V, 2); a single texel if the mesh has none."""
    visual, count = mesh.visual, len(mesh.vertices)
    material = getattr(visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    uv = getattr(visual, "uv", None)
    if image is None or uv is None:
        colour = np.asarray(getattr(material, "main_color", getattr(visual, "main_color", (180, 180, 180))))[:3]
        return colour.reshape(1, 1, 3).astype(np.uint8), np.zeros((count, 2))
    texture = np.array(image.convert("RGB"))
    factor = max_texture / max(texture.shape[:2])
    if factor < 1:
        texture = cv2.resize(texture, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    return texture, np.asarray(uv)


def _texels(corners: np.ndarray, texture: np.ndarray, face: np.ndarray, bary: np.ndarray) -> np.ndarray:
    """Return colours (N, 3) at points on faces (N,), given by barycentric coordinates (N, 2)."""
    share = np.stack([1 - bary.sum(axis=1), bary[:, 0], bary[:, 1]], 1)
    uv = (share[:, :, None] * corners[face]).sum(axis=1) % 1.0
    height, width = texture.shape[:2]
    row = np.clip(((1 - uv[:, 1]) * height).astype(int), 0, height - 1)
    return texture[row, np.clip((uv[:, 0] * width).astype(int), 0, width - 1)]
