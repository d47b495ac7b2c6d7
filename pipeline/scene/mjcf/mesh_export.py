"""Convert mesh files for MuJoCo: one OBJ with texture coordinates, one PNG texture, and simple collision shapes."""

import io
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import mujoco
import numpy as np
import trimesh
from PIL import Image
from scipy.spatial import ConvexHull, QhullError

from pipeline.scene.placement import SceneError

PRIMITIVE_TOLERANCE = 0.01
"""A hull counts as a box, cylinder or sphere if its volume is that of the shape up to this share."""

OLDEST_MUJOCO = "3.3.0"
"""The oldest version that loads a twin: the one that LIBERO, robosuite and dm_control allow."""


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh file converted for rendering."""

    obj: bytes
    texture: bytes | None
    """A PNG; None for one plain colour."""
    rgb: tuple[float, float, float] | None
    """Plain colour in [0, 1], used without a texture. None if the file has no colour."""
    bounds: np.ndarray
    """Lowest and highest corner in the units and axes of the file, of shape (2, 3)."""


@dataclass(frozen=True, eq=False)
class Collider:
    """One convex piece of a collision shape, in the units and axes of its mesh file."""

    kind: Literal["box", "cylinder", "sphere", "mesh"]
    bounds: np.ndarray
    """Lowest and highest corner, of shape (2, 3)."""
    volume: float
    """Of the convex hull."""
    obj: bytes
    """The convex hull."""


def read_mesh(path: Path) -> trimesh.Trimesh:
    """Read a mesh file as one mesh. Raises SceneError."""
    try:
        mesh = trimesh.load(path, force="mesh", process=False)
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces):
            raise ValueError("no triangles in it")
        return mesh
    except Exception as error:  # trimesh's readers raise errors of any type
        raise SceneError(
            f"cannot read the mesh {path.name}: {error}; use an .obj, .glb or .stl file with triangles"
        ) from error


def visual_mesh(path: Path) -> VisualMesh:
    """Return a mesh file converted for rendering, cached for each version of the file. Raises SceneError."""
    return _visual_mesh(path, modified_ns(path))


def collider(path: Path) -> Collider:
    """Return the convex hull of a mesh file, as a box, upright cylinder or sphere if it is one. Raises SceneError.

    Primitives collide faster and more stably than meshes. Cached for each version of the file.
    """
    return _collider(path, modified_ns(path))


def modified_ns(path: Path) -> int:
    """Return when a mesh file was last changed, to key what is computed from it. Raises SceneError if it is missing."""
    if not path.is_file():
        raise SceneError(f"the mesh {path.name} is missing from {path.parent.name}/; match the object again")
    return path.stat().st_mtime_ns


@lru_cache(maxsize=256)
def _visual_mesh(path: Path, _: int) -> VisualMesh:
    mesh, uv, image, rgb = textured_mesh(path)
    return VisualMesh(obj_file(mesh, uv), None if image is None else _png(image), rgb, mesh.bounds)


def textured_mesh(
    path: Path,
) -> tuple[trimesh.Trimesh, np.ndarray | None, Image.Image | None, tuple[float, float, float] | None]:
    """Return a file's mesh with the texture coordinates of its vertices (V, 2), its texture, and its plain colour.

    Texture coordinates and texture are None for a mesh of one colour, the colour as in VisualMesh. Raises SceneError.
    """
    mesh = read_mesh(path)
    visual: Any = mesh.visual
    material, uv = getattr(visual, "material", None), getattr(visual, "uv", None)
    if material is not None:
        image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if image is not None and uv is not None:
            return mesh, np.asarray(uv)[:, :2], image, (1.0, 1.0, 1.0)
        return mesh, None, None, _unit_rgb(material.main_color)
    if not visual.defined:
        return mesh, None, None, None
    colours = np.asarray(visual.face_colors)[:, :3]
    if (colours == colours[0]).all():
        return mesh, None, None, _unit_rgb(colours[0])
    return *_with_palette_texture(mesh, colours), (1.0, 1.0, 1.0)


def _unit_rgb(rgb: np.ndarray) -> tuple[float, float, float]:
    r, g, b = (float(c) / 255 for c in np.asarray(rgb)[:3])
    return r, g, b


def _with_palette_texture(
    mesh: trimesh.Trimesh, colours: np.ndarray
) -> tuple[trimesh.Trimesh, np.ndarray, Image.Image]:
    """Convert face colours (F, 3) to a texture with one texel per colour: MuJoCo renders no vertex colours."""
    palette, index = np.unique(colours // 8 * 8 + 4, axis=0, return_inverse=True)
    side = int(np.ceil(np.sqrt(len(palette))))
    image = np.zeros((side * side, 3), np.uint8)
    image[: len(palette)] = palette
    row, column = np.divmod(index.reshape(-1), side)
    uv = np.stack([(column + 0.5) / side, 1 - (row + 0.5) / side], -1)
    loose = trimesh.Trimesh(mesh.triangles.reshape(-1, 3), np.arange(len(mesh.faces) * 3).reshape(-1, 3), process=False)
    texture = Image.fromarray(image.reshape(side, side, 3)).resize((side * 4, side * 4), Image.Resampling.NEAREST)
    return loose, np.repeat(uv, 3, axis=0), texture


@lru_cache(maxsize=2048)
def _collider(path: Path, _: int) -> Collider:
    mesh = read_mesh(path)
    try:
        hull, volume = _convex_hull(mesh)
    except (QhullError, ValueError):  # flat or degenerate, or not finite: it has no hull
        thick = np.maximum(mesh.extents, 1e-3)
        flat = trimesh.creation.box(thick, trimesh.transformations.translation_matrix(mesh.bounds.mean(0)))
        return Collider("box", flat.bounds, float(np.prod(thick)), obj_file(flat, None))
    return Collider(_kind(hull, volume), mesh.bounds, volume, obj_file(hull, None))


def _convex_hull(mesh: trimesh.Trimesh) -> tuple[trimesh.Trimesh, float]:
    """Return the convex hull of a mesh, its faces anticlockwise from outside, and its volume.

    Several times faster than trimesh's, which finds the faces' orientation from their neighbours. Raises QhullError.
    """
    try:
        found = ConvexHull(mesh.vertices, qhull_options="QbB Pp Qt")  # trimesh's options
    except QhullError:
        found = ConvexHull(mesh.vertices, qhull_options="QJ")
    used = np.sort(found.vertices)
    number = np.zeros(len(mesh.vertices), np.int64)
    number[used] = np.arange(len(used))
    vertices, faces = np.asarray(mesh.vertices)[used], number[found.simplices]
    a, b, c = (vertices - vertices.mean(0))[faces].swapaxes(0, 1)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6  # of tetrahedra from a point inside; negative if clockwise
    faces[volumes < 0] = faces[volumes < 0][:, ::-1]
    return trimesh.Trimesh(vertices, faces, process=False), float(np.abs(volumes).sum())


def _kind(hull: trimesh.Trimesh, volume: float) -> Literal["box", "cylinder", "sphere", "mesh"]:
    x, y, z = hull.extents
    if volume > (1 - PRIMITIVE_TOLERANCE) * x * y * z:
        return "box"
    centred = hull.vertices - hull.bounds.mean(0)
    radius = np.linalg.norm(centred, axis=1)
    if (
        max(x, y, z) - min(x, y, z) < PRIMITIVE_TOLERANCE * x
        and radius.min() > (1 - PRIMITIVE_TOLERANCE) * x / 2
        and len(radius) >= 40
    ):
        return "sphere"
    on_cap = np.abs(np.abs(centred[:, 2]) - z / 2) < PRIMITIVE_TOLERANCE * z
    if (
        abs(x - y) < PRIMITIVE_TOLERANCE * x
        and on_cap.all()
        and volume > (1 - 2 * PRIMITIVE_TOLERANCE) * np.pi / 4 * x * y * z
    ):
        return "cylinder"
    return "mesh"


def obj_file(mesh: trimesh.Trimesh, uv: np.ndarray | None) -> bytes:
    """Return an OBJ file of vertices, texture coordinates and faces, which is all that MuJoCo reads."""
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


def portable_xml(spec: mujoco.MjSpec) -> str:
    """Return a specification as XML for MuJoCo from OLDEST_MUJOCO on, with both numbers of each `solref`.

    MuJoCo 4 writes the colour space of each texture, which older ones refuse, and leaves a damping ratio of 1 out of
    `solref`, which not every simulator adds.
    """
    text = re.sub(r' colorspace="\w+"', "", spec.to_xml())
    return re.sub(r'\bsolref="([^" ]+)"', r'solref="\1 1"', text)
