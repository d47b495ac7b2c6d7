"""Meshes of assets: brought to metres and to the centre of their box once, loaded when asked for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import trimesh

from pipeline.assets.asset import Asset, AssetError
from pipeline.assets.described import MODEL_FORMATS, mesh_of_model
from pipeline.store import replacing

MESH_FORMATS = (".obj", ".glb", ".stl", *MODEL_FORMATS)
CLOSE = 0.02
"""Sizes this near to one another, as a share, are the same: files round."""


def load_mesh(asset: Asset) -> trimesh.Trimesh:
    """The asset's mesh with its texture; the same object each time, so do not change it."""
    return load_file(asset.mesh)


def load_file(path: Path) -> trimesh.Trimesh:
    """One mesh, all parts joined, vertices kept as they are in the file; read once per version of it.

    Raises AssetError.
    """
    with readable(path):
        stamp = path.stat().st_mtime_ns
    return _load_file(path, stamp)


@lru_cache(maxsize=256)
def _load_file(path: Path, _: int) -> trimesh.Trimesh:
    with readable(path):
        mesh = trimesh.load_mesh(path, process=False)
        if not isinstance(mesh, trimesh.Trimesh) or not len(mesh.faces) or not np.isfinite(mesh.vertices).all():
            raise ValueError("it holds no triangles")
        return mesh


def metric_mesh(
    source: Path, size: np.ndarray | None, digest: str, cache: Path | None = None
) -> tuple[Path, np.ndarray]:
    """The file of a mesh that is metric and centred, and its size (3,) in metres.

    That is `source` itself where it is so already, else a copy in the cache. `size` is the true size, where known:
    a mesh that differs from it by one factor is scaled; a .glb that fits only when its y is up is turned.
    """
    prepared = (cache or user_cache()) / "meshes" / digest / "mesh.obj"
    if prepared.exists():
        low, high = bounds(prepared)
        return prepared, high - low
    mesh = mesh_of_model(source) if source.suffix in MODEL_FORMATS else None
    low, high = _kept_bounds(source, digest, cache) if mesh is None else mesh.bounds
    if (high - low).max() < 1e-9:
        raise AssetError(f"its mesh {source.name} has no extent")
    turn, factor = fit_size(high - low, size, may_turn=source.suffix == ".glb")
    if mesh is None and factor == 1 and turn is None and np.abs(low + high).max() / 2 < CLOSE * (high - low).max():
        return source, high - low
    mesh = load_file(source).copy() if mesh is None else mesh
    if turn is not None:
        mesh.apply_transform(turn)
    mesh.apply_translation(-mesh.bounds.mean(axis=0))
    mesh.apply_scale(factor)
    prepared.parent.mkdir(parents=True, exist_ok=True)
    mesh.export(prepared)
    return prepared, mesh.extents


def fit_size(extents: np.ndarray, size: np.ndarray | None, may_turn: bool = False) -> tuple[np.ndarray | None, float]:
    """The turn (4, 4) or None, and the factor, that bring a box of `extents` to `size`; none where no factor does."""
    if size is None:
        return None, 1.0
    for turn, seen in ((None, extents), (Y_UP, extents[[0, 2, 1]]))[: 1 + may_turn]:
        factors = size / np.maximum(seen, 1e-9)
        if np.ptp(factors) < CLOSE * factors.mean():
            factor = float(np.median(factors))
            return turn, 1.0 if abs(factor - 1) < CLOSE else factor
    return None, 1.0


Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
"""Turns a mesh whose y is up, as glTF's is, so that its z is up."""


def _kept_bounds(path: Path, digest: str, cache: Path | None) -> np.ndarray:
    """`bounds`, found again: a large library's meshes take half a minute to read."""
    kept = (cache or user_cache()) / "bounds" / f"{digest}.npy"
    try:
        return np.load(kept, allow_pickle=False).reshape(2, 3)
    except (OSError, ValueError, EOFError):
        found = bounds(path)
    with replacing(kept) as aside, aside.open("wb") as out:
        np.save(out, found)
    return found


def bounds(path: Path) -> np.ndarray:
    """Lowest and highest corner of a mesh file in its own units, of shape (2, 3); of an .obj without building the mesh.

    Raises AssetError.
    """
    if path.suffix != ".obj":
        return load_file(path).bounds
    with readable(path):
        lines = [line.split(None, 4)[1:4] for line in path.read_bytes().splitlines() if line.startswith(b"v ")]
        vertices = np.array(lines, float)
        if not len(vertices) or not np.isfinite(vertices).all():
            raise ValueError("it holds no vertices")
        return np.array([vertices.min(axis=0), vertices.max(axis=0)])


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns whatever a mesh reader raises into one AssetError: readers raise all kinds on broken files."""
    try:
        yield
    except AssetError:
        raise
    except Exception as error:
        raise AssetError(
            f"its mesh {path.name} cannot be read: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None


def user_cache() -> Path:
    """Where things that can be computed again are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "grs-studio"
