"""The twin as values: which object stands where."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np

from pipeline.assets.asset import Joint
from pipeline.errors import StudioError
from pipeline.frame import Intrinsics
from pipeline.geometry import Pose, box_corners

TableMargins = tuple[float, float, float, float]
TABLE_MARGIN_M = 0.10
"""Distance that a table reaches beyond its visible outline where no edge is seen, so that nothing near it falls."""
SHELF_NAME = "shelf_"
"""Begins the names of shelves; a number from 1 follows."""
WALL_NAME = "bin_wall_"
"""Begins the names of a bin's walls; a number from 1 follows."""
MAX_WALLS = 4
"""A floor has four sides."""
SHELF_THICKNESS_M = 0.02
SHELF_TOLERANCE_M = 0.02
"""Metres above, below and beside a shelf's top up to which an object stands on it."""


class SceneError(StudioError):
    """Raised for a scene that cannot be built, drawn or loaded."""


@dataclass(frozen=True, eq=False)
class MachinePose:
    """The pose that registration found for an object that a person moved or resized."""

    world_from_object: Pose
    scale: float


class Look(NamedTuple):
    """What an object shows instead of its mesh's own texture."""

    obj: bytes
    """An OBJ file in the units and axes of the mesh."""
    texture: bytes
    """A PNG."""


@dataclass(frozen=True, eq=False)
class Placement:
    """One object of the twin."""

    name: str
    """Also the name of the MuJoCo body."""
    segment_id: int
    asset_id: str | None
    """None if the object was reconstructed from the view."""
    scale: float
    """Relative to the asset's own size."""
    size: np.ndarray
    """Full extents of the object's box in its own axes with the scale applied, of shape (3,), in metres."""
    world_from_object: Pose
    """pos is the centre of the box."""
    mesh: Path
    collision: tuple[Path, ...]
    """Convex pieces in the mesh's frame. Empty: the hull of the mesh."""
    mass: float
    """In kg."""
    friction: float
    category: str = ""
    shape: str = ""
    fill: float = 1.0
    """Share of its box that its convex hull fills."""
    colour: str = ""
    rgb: tuple[int, int, int] = (128, 128, 128)
    container: bool = False
    """Whether other objects can be put into it."""
    fixed: bool = False
    """Whether the body has no free joint."""
    foot: bool = False
    """Whether it has a thin flat foot, because its own shape would topple where the photograph shows it standing."""
    prop: float = 0.0
    """Height in metres of a fixed block below an object whose support was not found; 0 for none."""
    misfit: float = 0.0
    """Registration cost: mean distance in metres from its measured points; 0 if a person placed it."""
    mass_range: tuple[float, float] = (0.0, 0.0)
    """Plausible range in kg at this scale; (0, 0) if unknown."""
    mass_source: str = ""
    """Where the mass comes from: as in an Asset, "person" or "model <name>"."""
    friction_range: tuple[float, float] = (0.0, 0.0)
    friction_source: str = ""
    length_range: tuple[float, float] = (0.0, 0.0)
    """Longest side of objects of its kind, in metres, as a model says; (0, 0) if unknown."""
    length_source: str = ""
    """ "model <name>" of `length_range`."""
    mass_range_source: str = ""
    """ "model <name>" if the range comes from a model, whoever gave the mass; "" if it is the asset's."""
    friction_range_source: str = ""
    licence: str = ""
    """Licence of the asset; empty if unknown."""
    provenance: str = ""
    """Origin of the asset."""
    model: Path | None = None
    """MJCF of an articulated object, None for a rigid one. Its mesh and pieces show it with all joints at home."""
    joints: tuple[Joint, ...] = ()
    """The joints of `model`, by their names there."""
    machine_pose: MachinePose | None = None
    """What registration found; None if `world_from_object` is that pose."""
    recolour: tuple[int, int, int] | None = None
    """sRGB colour in the photograph to which the asset's main colour is tinted; None for the asset's own colours."""
    printed: bool = False
    """Whether the photograph is printed on what it shows of the object (appearance/photo_print.py)."""
    look: Look | None = None
    """The mesh with that print, until the scene is written: `mesh` is that file from then on."""
    overruled: str = ""
    """Which asset was chosen for it, by whom, and why it does not stand here; empty if it does or none was chosen."""
    aliases: tuple[str, ...] = ()
    """Earlier names of the object: the measured one, a person's, or one from another asset."""
    affordances: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Point (3,) on each part that a hand uses ("handle", "spout", "lid", "press"), by name, in metres: in the object's
    axes, from the centre of its box. Empty for an articulated object, whose parts are those of its joints."""

    @property
    def footprint(self) -> np.ndarray:
        """The corners of the box seen from above, of shape (8, 2), in metres."""
        return (box_corners(self.size) @ self.world_from_object.rotation.T + self.world_from_object.pos)[:, :2]

    @property
    def bottom(self) -> float:
        """Height in metres of the lowest corner of the box above the table."""
        return float(self.world_from_object.pos[2] - np.abs(self.world_from_object.rotation[2]) @ self.size / 2)

    @property
    def top(self) -> float:
        """Height in metres of the highest corner of the box above the table."""
        return float(self.world_from_object.pos[2] + np.abs(self.world_from_object.rotation[2]) @ self.size / 2)

    def with_box(self, size: np.ndarray, centre: np.ndarray) -> "Placement":
        """Return the object with a box of another size (3,) about a world point (3,); affordances stay in the world."""
        pose = self.world_from_object
        shift = pose.rotation.T @ (centre - pose.pos)
        points = {name: point - shift for name, point in self.affordances.items()}
        return replace(self, size=size, world_from_object=Pose(centre, pose.quat_wxyz), affordances=points)

    def resized(self, factor: float) -> "Placement":
        """Return the object with its box and all in it larger by a factor, about the centre of the box."""
        points = {name: factor * point for name, point in self.affordances.items()}
        return replace(self, scale=self.scale * factor, size=self.size * factor, affordances=points)


@dataclass(frozen=True, eq=False)
class Shelf:
    """A fixed level surface above the table on which objects stand: a shelf, or another table."""

    name: str
    """Also the name of its MuJoCo body, which has no joint."""
    outline: np.ndarray
    """Convex outline of its visible part, of shape (N, 2), world x and y in metres."""
    height: float
    """Metres of its top above the table."""
    rgb: tuple[int, int, int]

    @property
    def thickness(self) -> float:
        """Metres from its top to its underside, which no photograph shows; a low one reaches down to the table."""
        return min(SHELF_THICKNESS_M, self.height)

    def carries(self, p: Placement) -> bool:
        """Whether an object stands on it: its bottom near the top, its middle over the outline."""
        at = tuple(map(float, p.world_from_object.pos[:2]))
        beside = -cv2.pointPolygonTest(self.outline.astype(np.float32), at, True)
        return bool(abs(p.bottom - self.height) < SHELF_TOLERANCE_M and beside < SHELF_TOLERANCE_M)


@dataclass(frozen=True, eq=False)
class Wall:
    """A fixed wall of the bin on whose floor, the table, the objects stand. It touches, and is not drawn."""

    name: str
    """Also the name of its MuJoCo body, which has no joint."""
    outline: np.ndarray
    """Corners of the rectangle on which it stands, of shape (4, 2), world x and y in metres."""
    height: float
    """Metres of its top above the table."""
    rgb: tuple[int, int, int]
    lean: tuple[float, float] = (0.0, 0.0)
    """Metres in world x and y by which it leans for each metre up."""
    not_touched: tuple[int, ...] = ()
    """Segment ids of objects that it does not push: as they were observed, they reach into it."""


@dataclass(frozen=True, eq=False)
class Light:
    """The main light of the photograph, as its shading and shadows tell it."""

    direction: np.ndarray
    """Unit vector from the table towards the light, in world axes, of shape (3,)."""
    spread: float
    """Angle in radians within which four of five bootstrap estimates lie."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that the MuJoCo model of a table needs."""

    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    table: np.ndarray
    """Outline of the visible part of the table top, of shape (N, 2), world x and y in metres."""
    table_rgb: tuple[int, int, int]
    placements: tuple[Placement, ...]
    intrinsics: Intrinsics | None = None
    """Intrinsics of the photograph's camera. None leaves the camera "photo" out of the model."""
    table_png: bytes | None = None
    """Picture of the table's top for its slab (mjcf/table_picture.py), rows from its far side. None: `table_rgb`."""
    light: Light | None = None
    """The photograph's main light; None if it could not be estimated, and a default direction is used."""
    shelves: tuple[Shelf, ...] = ()
    """Further surfaces on which objects stand, the lowest first."""
    walls: tuple[Wall, ...] = ()
    """The walls of the bin on whose floor the objects stand."""
    table_margins: TableMargins = (TABLE_MARGIN_M, TABLE_MARGIN_M, TABLE_MARGIN_M, TABLE_MARGIN_M)
    """Metres that the table reaches beyond the least rectangle around its outline: at its -x, +x, -y and +y side."""

    def floor_under(self, p: Placement) -> float:
        """Return the height in metres of the shelf that an object stands on; 0 if it stands on none."""
        return max((shelf.height for shelf in self.shelves if shelf.carries(p)), default=0.0)
