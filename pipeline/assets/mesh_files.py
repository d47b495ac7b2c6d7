"""Reads meshes of assets: converted once to metres and centred, loaded on demand."""

from functools import lru_cache
from pathlib import Path

import numpy as np
import trimesh

from pipeline.assets.asset import Asset, AssetError, reader_errors
from pipeline.assets.importers.compiled_model import MODEL_FORMATS
from pipeline.assets.importers.model_import import mesh_of_model_confined
from pipeline.store import atomic_write, made_once, user_cache_folder

MESH_FORMATS = (".obj", ".glb", ".stl", *MODEL_FORMATS)
SIZE_TOLERANCE = 0.02
"""Relative difference up to which two sizes are equal: files round."""


def load_mesh(asset: Asset) -> trimesh.Trimesh:
    """Return the asset's textured mesh. The object is shared between calls: do not change it."""
    return load_mesh_file(asset.mesh)


def load_mesh_file(path: Path) -> trimesh.Trimesh:
    """Return a mesh file as one mesh with the file's vertices. Cached by modification time.

    Raises AssetError.
    """
    with reader_errors(path):
        stamp = path.stat().st_mtime_ns
    return _load_mesh_version(path, stamp)


@lru_cache(maxsize=256)
def _load_mesh_version(path: Path, _: int) -> trimesh.Trimesh:
    with reader_errors(path):
        mesh = trimesh.load_mesh(path, process=False)
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
            raise ValueError("it holds no triangles")
        return mesh


def hull_fill(path: Path) -> float:
    """Return the share of a mesh's box that its convex hull fills, in (0, 1]. Raises AssetError."""
    mesh = load_mesh_file(path)
    with reader_errors(path):
        return float(np.clip(mesh.convex_hull.volume / max(np.prod(mesh.extents), 1e-12), 1e-3, 1))


def shape_of(asset: Asset) -> str:
    """Return "cube", "box", "cylinder", "sphere", "bowl" or "irregular", by how much of its box the hull fills."""
    if asset.container:
        return "bowl" if asset.category == "bowl" else "irregular"
    fill = hull_fill(asset.mesh)
    x, y, z = (float(extent) for extent in asset.size)
    if fill > 0.92:
        return "cube" if max(x, y, z) < 1.1 * min(x, y, z) else "box"
    if abs(x - y) > 0.05 * max(x, y):
        return "irregular"
    if 0.72 < fill < 0.82:
        return "cylinder"
    return "sphere" if abs(fill - np.pi / 6) < 0.03 and abs(z - x) < 0.05 * x else "irregular"


def metric_mesh(
    source: Path, size: np.ndarray | None, digest: str, cache: Path | None = None
) -> tuple[Path, np.ndarray]:
    """Return a metric, centred mesh file and its size (3,) in metres.

    That is `source` if it is metric and centred, else a copy in the cache. `size` is the true size, if known: a mesh
    that differs by one factor is scaled; a .glb that only fits with y up is rotated.
    """
    prepared = (cache or user_cache_folder()) / "meshes" / digest / "mesh.obj"
    if prepared.exists():
        low, high = _read_bounds(prepared)
        return prepared, high - low
    mesh = mesh_of_model_confined(source) if source.suffix in MODEL_FORMATS else None
    low, high = _cached_bounds(source, digest, cache) if mesh is None else mesh.bounds
    if (high - low).max() < 1e-9:
        raise AssetError(f"its mesh {source.name} has no extent")
    turn, factor = _align_to_size(high - low, size, may_turn=source.suffix == ".glb")
    if (
        mesh is None
        and factor == 1
        and turn is None
        and np.abs(low + high).max() / 2 < SIZE_TOLERANCE * (high - low).max()
    ):
        return source, high - low
    mesh = load_mesh_file(source).copy() if mesh is None else mesh
    if turn is not None:
        mesh.apply_transform(turn)
    mesh.apply_translation(-mesh.bounds.mean(axis=0))
    mesh.apply_scale(factor)
    made_once(prepared.parent, lambda folder: mesh.export(folder / prepared.name))
    return prepared, mesh.extents


def _align_to_size(
    extents: np.ndarray, size: np.ndarray | None, may_turn: bool = False
) -> tuple[np.ndarray | None, float]:
    """Return the rotation (4, 4) or None, and the factor, that bring a box of `extents` to `size`.

    Without a factor that fits all three axes: None and 1.
    """
    if size is None:
        return None, 1.0
    for turn, turned_extents in ((None, extents), (Z_UP_FROM_Y_UP, extents[[0, 2, 1]]))[: 1 + may_turn]:
        factors = size / np.maximum(turned_extents, 1e-9)
        if np.ptp(factors) < SIZE_TOLERANCE * factors.mean():
            factor = float(np.median(factors))
            return turn, 1.0 if abs(factor - 1) < SIZE_TOLERANCE else factor
    return None, 1.0


Z_UP_FROM_Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
"""Rotates a mesh whose y is up, as in glTF, so that z is up."""


def _cached_bounds(path: Path, digest: str, cache: Path | None) -> np.ndarray:
    """Return `_read_bounds` from the cache: the meshes of a large library take half a minute to read."""
    file = (cache or user_cache_folder()) / "bounds" / f"{digest}.npy"
    try:
        return np.load(file, allow_pickle=False).reshape(2, 3)
    except (OSError, ValueError, EOFError):
        bounds = _read_bounds(path)
    with atomic_write(file) as temporary, temporary.open("wb") as out:
        np.save(out, bounds)
    return bounds


def _read_bounds(path: Path) -> np.ndarray:
    """Return the bounding box of a mesh file in its units, shape (2, 3). An .obj is parsed without building a mesh.

    Raises AssetError.
    """
    if path.suffix != ".obj":
        return load_mesh_file(path).bounds
    with reader_errors(path):
        lines = [line.split(None, 4)[1:4] for line in path.read_bytes().splitlines() if line.startswith(b"v ")]
        vertices = np.array(lines, float)
        if not len(vertices) or not np.isfinite(vertices).all():
            raise ValueError("it holds no vertices")
        return np.array([vertices.min(axis=0), vertices.max(axis=0)])
