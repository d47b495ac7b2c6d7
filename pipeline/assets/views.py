"""Assets seen by rays: small pictures from many sides, without OpenGL, on any thread, the same everywhere.

Rays are parallel, so a picture's size in metres is exact. They run through open3d's RaycastingScene (Embree).
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import cv2
import numpy as np
import trimesh

from pipeline.assets.asset import Asset
from pipeline.assets.cards import camera_rotation
from pipeline.assets.mesh import load_mesh

if TYPE_CHECKING:
    import open3d as o3d

MARGIN = 1.04
"""Side of a picture over the longer side of what it shows."""
LIGHT = np.array([0.25, -0.75, -0.6]) / np.linalg.norm([0.25, -0.75, -0.6])
"""Towards the light, in camera axes: above, before, a little to the right."""


@dataclass(frozen=True, eq=False)
class Views:
    """Pictures of one asset, each filled by it."""

    masks: np.ndarray
    """Of shape (V, P, P), bool."""
    rgb: np.ndarray
    """Of shape (V, P, P, 3), uint8; black outside the mask."""
    depth: np.ndarray
    """Distance along the camera's axis from the asset's middle, of shape (V, P, P), float32, in metres; NaN outside."""
    extents: np.ndarray
    """Width and height of what is seen, of shape (V, 2), in metres."""


def look(asset: Asset, rotations: np.ndarray, pixels: int, finest: int = 256) -> Views:
    """The asset from cameras of `rotations` (V, 3, 3), object-from-camera. Raises AssetError for a broken mesh.

    Its texture is read at no more than `finest` pixels: finer ones would flicker in small pictures.
    """
    scene, corners, colours = _traced(asset, finest)
    vertices = load_mesh(asset).vertices
    seen = vertices @ rotations[:, :, :2]
    low, high = seen.min(axis=1), seen.max(axis=1)
    half, middle = MARGIN * (high - low).max(axis=1) / 2, (high + low) / 2
    step = (np.arange(pixels) + 0.5) / pixels * 2 - 1
    grid = np.stack(np.meshgrid(step, step), -1).reshape(-1, 2)
    plane = middle[:, None] + half[:, None, None] * grid
    back = 2 * float(np.linalg.norm(asset.size))
    start = plane @ rotations[:, :, :2].transpose(0, 2, 1) - back * rotations[:, None, :, 2]
    along = np.broadcast_to(rotations[:, None, :, 2], start.shape)
    rays = np.concatenate([start, along], -1).astype(np.float32).reshape(-1, 6)
    import open3d as o3d  # takes a second: not at start-up

    hit = scene.cast_rays(o3d.core.Tensor.from_numpy(rays))
    depth = hit["t_hit"].numpy() - np.float32(back)
    mask = np.isfinite(depth)
    depth[~mask] = np.nan
    face, bary = hit["primitive_ids"].numpy()[mask], hit["primitive_uvs"].numpy()[mask]
    normals = hit["primitive_normals"].numpy()[mask]
    turn = np.repeat(np.arange(len(rotations)), pixels**2)[mask]
    shade = 0.62 + 0.38 * np.abs((normals * (rotations @ LIGHT).astype(np.float32)[turn]).sum(axis=1))
    rgb = np.zeros((len(mask), 3), np.uint8)
    rgb[mask] = np.clip(_texels(corners, colours, face, bary) * shade[:, None], 0, 255)
    shape = (len(rotations), pixels, pixels)
    return Views(mask.reshape(shape), rgb.reshape(*shape, 3), depth.reshape(shape), high - low)


def rotations(azimuths: np.ndarray, elevations: np.ndarray, up: np.ndarray | None = None) -> np.ndarray:
    """Object-from-camera rotations (A * E, 3, 3) of all pairs of degrees; `up` (3, 3) first lays the object down."""
    turns = np.array([camera_rotation(a, e) for e in elevations for a in azimuths])
    return turns if up is None else up.T @ turns


@lru_cache(maxsize=128)
def _traced(asset: Asset, finest: int) -> tuple["o3d.t.geometry.RaycastingScene", np.ndarray, np.ndarray]:
    """The mesh ready for rays, and each face's corners' texture coordinates (F, 3, 2) with the texture (H, W, 3)."""
    import open3d as o3d

    mesh = load_mesh(asset)
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(
        o3d.core.Tensor.from_numpy(mesh.vertices.astype(np.float32)),
        o3d.core.Tensor.from_numpy(mesh.faces.astype(np.uint32)),
    )
    texture, uv = _texture(mesh, finest)
    return scene, uv[mesh.faces], texture


def _texture(mesh: trimesh.Trimesh, finest: int) -> tuple[np.ndarray, np.ndarray]:
    """The texture (H, W, 3) and each vertex's place in it (V, 2); one texel where the mesh has none."""
    visual, count = mesh.visual, len(mesh.vertices)
    material = getattr(visual, "material", None)
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    uv = getattr(visual, "uv", None)
    if image is None or uv is None:
        colour = np.asarray(getattr(material, "main_color", getattr(visual, "main_color", (180, 180, 180))))[:3]
        return colour.reshape(1, 1, 3).astype(np.uint8), np.zeros((count, 2))
    texture = np.array(image.convert("RGB"))
    factor = finest / max(texture.shape[:2])
    if factor < 1:
        texture = cv2.resize(texture, None, fx=factor, fy=factor, interpolation=cv2.INTER_AREA)
    return texture, np.asarray(uv)


def _texels(corners: np.ndarray, texture: np.ndarray, face: np.ndarray, bary: np.ndarray) -> np.ndarray:
    """Colours (N, 3) at points on faces (N,), given by their barycentric coordinates (N, 2)."""
    share = np.stack([1 - bary.sum(axis=1), bary[:, 0], bary[:, 1]], 1)
    uv = (share[:, :, None] * corners[face]).sum(axis=1) % 1.0
    height, width = texture.shape[:2]
    row = np.clip(((1 - uv[:, 1]) * height).astype(int), 0, height - 1)
    return texture[row, np.clip((uv[:, 0] * width).astype(int), 0, width - 1)]
