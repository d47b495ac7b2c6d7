"""Mesh files of any kind, as MuJoCo wants them: one OBJ with texture coordinates, one PNG, and simple colliders."""

import io
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import trimesh
from PIL import Image

from pipeline.scene.placement import SceneError

SAME = 0.01
"""A piece counts as a box, cylinder or sphere when its volume is that shape's up to this share."""


@dataclass(frozen=True, eq=False)
class Skin:
    """What a mesh looks like."""

    obj: bytes
    texture: bytes | None
    """A PNG, or None for one plain colour."""
    rgb: tuple[float, float, float] | None
    """In [0, 1]; used where there is no texture. None where the file tells no colour."""
    bounds: np.ndarray
    """Lowest and highest corner in the file's own units and axes, of shape (2, 3)."""


@dataclass(frozen=True, eq=False)
class Collider:
    """One convex piece of a collision shape, in the mesh file's own units and axes."""

    kind: Literal["box", "cylinder", "sphere", "mesh"]
    bounds: np.ndarray
    """Of shape (2, 3)."""
    volume: float
    obj: bytes
    """The convex hull itself."""


def load(path: Path) -> trimesh.Trimesh:
    """A mesh file as one mesh. Raises SceneError."""
    try:
        mesh = trimesh.load(path, force="mesh", process=False)
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
            raise ValueError("no triangles in it")
        return mesh
    except Exception as error:  # trimesh's readers raise whatever they meet
        raise SceneError(
            f"cannot read the mesh {path.name}: {error}; an .obj, .glb or .stl with triangles is wanted"
        ) from error


def skin(path: Path) -> Skin:
    """Read once per version of the file."""
    return _skin(path, _stamp(path))


def collider(path: Path) -> Collider:
    """The convex hull of a file, told apart as box, upright cylinder or sphere where it is one: those collide best."""
    return _collider(path, _stamp(path))


def _stamp(path: Path) -> int:
    if not path.is_file():
        raise SceneError(f"the mesh {path.name} is gone from {path.parent.name}/; match the object again")
    return path.stat().st_mtime_ns


@lru_cache(maxsize=256)
def _skin(path: Path, _: int) -> Skin:
    mesh = load(path)
    visual: Any = mesh.visual
    material, uv = getattr(visual, "material", None), getattr(visual, "uv", None)
    if material is not None:
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is not None and uv is not None:
            return Skin(_obj(mesh, uv), _png(image), (1.0, 1.0, 1.0), mesh.bounds)
        return Skin(_obj(mesh, None), None, _unit(material.main_color), mesh.bounds)
    if not visual.defined:
        return Skin(_obj(mesh, None), None, None, mesh.bounds)
    colours = np.asarray(visual.face_colors)[:, :3]
    if (colours == colours[0]).all():
        return Skin(_obj(mesh, None), None, _unit(colours[0]), mesh.bounds)
    return _painted(mesh, colours)


def _unit(rgb: np.ndarray) -> tuple[float, float, float]:
    r, g, b = (float(c) / 255 for c in np.asarray(rgb)[:3])
    return r, g, b


def _painted(mesh: trimesh.Trimesh, colours: np.ndarray) -> Skin:
    """MuJoCo draws no colours per vertex: one texel per face colour says the same."""
    palette, index = np.unique(colours // 8 * 8 + 4, axis=0, return_inverse=True)
    side = int(np.ceil(np.sqrt(len(palette))))
    image = np.zeros((side * side, 3), np.uint8)
    image[: len(palette)] = palette
    row, column = np.divmod(index.reshape(-1), side)
    uv = np.stack([(column + 0.5) / side, 1 - (row + 0.5) / side], -1)
    loose = trimesh.Trimesh(mesh.triangles.reshape(-1, 3), np.arange(len(mesh.faces) * 3).reshape(-1, 3), process=False)
    texture = _png(Image.fromarray(image.reshape(side, side, 3)).resize((side * 4, side * 4), Image.Resampling.NEAREST))
    return Skin(_obj(loose, np.repeat(uv, 3, axis=0)), texture, (1.0, 1.0, 1.0), mesh.bounds)


@lru_cache(maxsize=2048)
def _collider(path: Path, _: int) -> Collider:
    mesh = load(path)
    try:
        hull = mesh.convex_hull
        volume = float(hull.volume)
    except Exception:  # flat or degenerate: qhull has no hull for it
        thick = np.maximum(mesh.extents, 1e-3)
        flat = trimesh.creation.box(thick, trimesh.transformations.translation_matrix(mesh.bounds.mean(0)))
        return Collider("box", flat.bounds, float(np.prod(thick)), _obj(flat, None))
    return Collider(_kind(hull, volume), mesh.bounds, volume, _obj(hull, None))


def _kind(hull: trimesh.Trimesh, volume: float) -> Literal["box", "cylinder", "sphere", "mesh"]:
    x, y, z = hull.extents
    if volume > (1 - SAME) * x * y * z:
        return "box"
    middle = hull.vertices - hull.bounds.mean(0)
    radius = np.linalg.norm(middle, axis=1)
    if max(x, y, z) - min(x, y, z) < SAME * x and radius.min() > (1 - SAME) * x / 2 and len(radius) >= 40:
        return "sphere"
    at_end = np.abs(np.abs(middle[:, 2]) - z / 2) < SAME * z
    if abs(x - y) < SAME * x and at_end.all() and volume > (1 - 2 * SAME) * np.pi / 4 * x * y * z:
        return "cylinder"
    return "mesh"


def _obj(mesh: trimesh.Trimesh, uv: np.ndarray | None) -> bytes:
    """Vertices, texture coordinates and faces: all that MuJoCo reads of an OBJ."""
    lines = [f"v {x:.7g} {y:.7g} {z:.7g}" for x, y, z in mesh.vertices.tolist()]
    if uv is None:
        lines += [f"f {a} {b} {c}" for a, b, c in (mesh.faces + 1).tolist()]
    else:
        lines += [f"vt {u:.6g} {v:.6g}" for u, v in np.asarray(uv)[:, :2].tolist()]
        lines += [f"f {a}/{a} {b}/{b} {c}/{c}" for a, b, c in (mesh.faces + 1).tolist()]
    return ("\n".join(lines) + "\n").encode()


def _png(image: Image.Image) -> bytes:
    data = io.BytesIO()
    image.convert("RGB").save(data, "PNG")
    return data.getvalue()
