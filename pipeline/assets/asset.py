"""One simulation-ready object of a library."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from pipeline.errors import StudioError


class AssetError(StudioError):
    """An asset or a library that cannot be read."""


@dataclass(frozen=True)
class Joint:
    """How one part of an articulated asset moves."""

    name: str
    kind: Literal["hinge", "slide"]
    range: tuple[float, float]
    """Lowest and highest position, in radians or metres; infinite where it has no limits."""
    part: str
    """The body that it moves."""


@dataclass(frozen=True, eq=False)
class Asset:
    """A mesh with what physics needs to know of it. Meshes are metric, z up, origin at the centre of their box."""

    id: str
    name: str
    caption: str
    category: str
    """"cube", "box", "can", "bottle", "bowl", "mug" ...: one lower-case noun."""
    mesh: Path
    """An .obj, .glb or .stl."""
    size: np.ndarray
    """Extents in metres, of shape (3,)."""
    mass: float
    """In kg."""
    mass_range: tuple[float, float]
    """Lightest and heaviest that is plausible, in kg."""
    mass_source: str
    """Where its mass comes from: "asset", "category table", "size", "person", "model <name>"."""
    friction: float
    """Sliding friction, MuJoCo's first of three."""
    friction_range: tuple[float, float]
    friction_source: str
    collision: tuple[Path, ...] = ()
    """Convex pieces, in the mesh's frame. Empty: the mesh's convex hull."""
    container: bool = False
    """Open at the top and hollow: other things can be put in."""
    licence: str = ""
    provenance: str = ""
    digest: str = ""
    """Hash of all the files it was read from: what is computed of an asset is kept under it."""
    joints: tuple[Joint, ...] = ()
    """Of an articulated asset; its mesh shows the home pose."""
    model: Path | None = None
    """An articulated asset's MJCF, which moves; it loads alone."""
    folder: Path | None = None
    """What it was read from; None for one that was made from a view."""
    wrong: tuple[str, ...] = ()
    """What is wrong with it, or was and is mended, one sentence each, as far as its importer kept it."""
