"""The twin as values: what stands where."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets.asset import Joint
from pipeline.errors import StudioError
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose


class SceneError(StudioError):
    """A scene that cannot be built or loaded."""


@dataclass(frozen=True, eq=False)
class Found:
    """Where the machine laid an object that a person put elsewhere."""

    world_from_object: Pose
    scale: float


@dataclass(frozen=True, eq=False)
class Placement:
    """One object of the twin."""

    name: str
    """The MuJoCo body's name: as `naming` calls it."""
    segment_id: int
    asset_id: str | None
    """None where the object was reconstructed from the view."""
    scale: float
    size: np.ndarray
    """Full extents of the object's box in its own axes, of shape (3,), in metres, scale applied."""
    world_from_object: Pose
    """pos is the centre of that box."""
    mesh: Path
    collision: tuple[Path, ...]
    """Convex pieces in the mesh's frame; empty: the mesh's hull."""
    mass: float
    friction: float
    category: str = ""
    shape: str = ""
    colour: str = ""
    rgb: tuple[int, int, int] = (128, 128, 128)
    container: bool = False
    fixed: bool = False
    foot: bool = False
    """Given a thin flat foot, because its own shape would not stand where the photograph shows it standing."""
    prop: float = 0.0
    """Height in metres of a fixed block that holds it up, where what holds it was not found; 0: none."""
    misfit: float = 0.0
    """Mean distance in metres between it, as it was laid, and what was seen of it; 0 where a person placed it."""
    mass_range: tuple[float, float] = (0.0, 0.0)
    """Lightest and heaviest that is plausible at this scale, in kg; (0, 0) where nobody knows."""
    mass_source: str = ""
    """Where the mass comes from: as of an Asset, "person" where one gave it."""
    friction_range: tuple[float, float] = (0.0, 0.0)
    friction_source: str = ""
    licence: str = ""
    """Of the asset; empty where unknown."""
    provenance: str = ""
    model: Path | None = None
    """MJCF of a thing with joints, which then moves; its mesh and pieces show it at home."""
    joints: tuple[Joint, ...] = ()
    """As its model names them."""
    found: Found | None = None
    """None where the machine's pose stands."""
    also: tuple[str, ...] = ()
    """Other names that mean it: as it was measured, as a person or another asset had it called."""

    @property
    def footprint(self) -> np.ndarray:
        """The corners of its box seen from above, of shape (8, 2), in metres."""
        corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T * self.size / 2
        return (corners @ self.world_from_object.rotation.T + self.world_from_object.pos)[:, :2]

    @property
    def bottom(self) -> float:
        """Height of the lowest corner of its box above the table, in metres."""
        return float(self.world_from_object.pos[2] - np.abs(self.world_from_object.rotation[2]) @ self.size / 2)

    @property
    def top(self) -> float:
        """Height of the highest corner."""
        return float(self.world_from_object.pos[2] + np.abs(self.world_from_object.rotation[2]) @ self.size / 2)


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything a MuJoCo model of the table needs."""

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    table: np.ndarray
    """Outline of the table's seen top, of shape (N, 2), world x and y in metres."""
    table_rgb: tuple[int, int, int]
    placements: tuple[Placement, ...]
    intrinsics: Intrinsics | None = None
    """Of the photograph's camera; None leaves the camera "photo" out of the model."""
