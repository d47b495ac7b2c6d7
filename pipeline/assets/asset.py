"""Defines Asset, one simulation-ready object of a library."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.errors import StudioError


class AssetError(StudioError):
    """An asset or a library that cannot be read."""


@contextmanager
def reader_errors(path: Path) -> Iterator[None]:
    """Convert any exception of a mesh reader to AssetError: readers raise all kinds on broken files."""
    try:
        yield
    except AssetError:
        raise
    except Exception as error:
        raise AssetError(
            f"cannot read its mesh {path.name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from None


@dataclass(frozen=True)
class Joint:
    """A joint of an articulated asset."""

    name: str
    kind: Literal["hinge", "slide"]
    range: tuple[float, float]
    """Lowest and highest position, in radians or metres; infinite without limits."""
    part: str
    """Name of the body that it moves."""


@dataclass(frozen=True, eq=False)
class Asset:
    """A mesh with its physical properties. Meshes are metric, z up, the centre of their bounding box at the origin."""

    id: str
    name: str
    caption: str
    category: str
    """One lower-case noun: "cube", "box", "can", "bottle", "bowl", "mug" ..."""
    mesh: Path
    """An .obj, .glb or .stl file."""
    size: np.ndarray
    """Extents in metres, shape (3,)."""
    mass: float
    """In kg."""
    mass_range: tuple[float, float]
    """Lowest and highest plausible mass, in kg."""
    mass_source: str
    """Source of the mass: "asset", "category table", "size", "person", "model <name>"."""
    friction: float
    """Sliding friction, the first of MuJoCo's three coefficients."""
    friction_range: tuple[float, float]
    friction_source: str
    collision: tuple[Path, ...] = ()
    """Convex parts in the mesh's frame. Empty: the mesh's convex hull."""
    container: bool = False
    """Whether it is hollow and open at the top, so that objects can be put in."""
    licence: str = ""
    provenance: str = ""
    digest: str = ""
    """Hash of all its files, the cache key of everything that is computed from the asset."""
    joints: tuple[Joint, ...] = ()
    """Joints of an articulated asset. Its mesh shows the home pose."""
    model: Path | None = None
    """MJCF of an articulated asset; it loads alone."""
    folder: Path | None = None
    """The folder it was read from; None for an asset reconstructed from a view."""
    warnings: tuple[str, ...] = ()
    """Problems of its file, repaired or not, one sentence each, as recorded by its importer."""
