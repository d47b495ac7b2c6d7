"""The photographed scene as generated code sees it: its objects, the table's usable top, shelves and walls."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import mujoco
import numpy as np
from scipy.spatial import QhullError
from scipy.spatial.transform import Rotation

from pipeline.simulation.articulated_parts import ArticulatedPart
from pipeline.simulation.cameras import FILE as CAMERAS
from pipeline.simulation.cameras import Camera, from_json
from pipeline.simulation.objects import KitError, Object, Region, find_object, hull, outline
from pipeline.simulation.robots.robot import Robot
from pipeline.store import parse_json

SHELF_TOLERANCE_M = 0.02
"""Metres above, below and beside a shelf's top up to which an object stands on it, as in scene/placement.py."""


@dataclass(frozen=True, eq=False)
class Scene:
    """The photographed scene."""

    objects: tuple[Object, ...]
    table: Region
    """The table's usable top."""
    right: np.ndarray
    """Unit vector on the table to the camera's right, of shape (2,)."""
    away: np.ndarray
    """Unit vector on the table away from the camera, of shape (2,)."""
    folder: Path
    """Folder of scene.xml and its meshes."""
    robot: Robot | None = None
    """Robot that will act; layouts are drawn within its reach. None: one that floats."""
    shelves: tuple[Object, ...] = ()
    """Fixed surfaces above the table on which objects stand; not among `objects`."""
    walls: tuple[Object, ...] = ()
    """Fixed walls of the bin on whose floor, the table, the objects stand; not among `objects`."""
    cameras: tuple[Camera, ...] = ()
    """Cameras that a person placed."""

    def __getitem__(self, name: str) -> Object:
        return find_object(self.objects, name)

    @cached_property
    def footprint(self) -> Region:
        """The table's usable top, with the walls around it: no robot's base stands there."""
        return Region(hull(np.concatenate([self.table.polygon, *(wall.outline for wall in self.walls)])))

    @cached_property
    def spec(self) -> mujoco.MjSpec:
        """The twin's MJCF model; copy it before editing."""
        return mujoco.MjSpec.from_file(str(self.folder / "scene.xml"))

    @staticmethod
    def load(project: Path | str) -> "Scene":
        """Load the scene of a project folder. Raises KitError where one of its files is missing or damaged."""
        project = Path(project)
        for file in ("scene.json", "scene/scene.xml"):
            if not (project / file).is_file():
                raise KitError(f"{project} has no {file}: run the stages up to scene first")
        try:
            data = parse_json((project / "scene.json").read_text("utf-8"))
            return _scene(data, _descriptions(project / "descriptions.json"), project)
        except (ValueError, KeyError, TypeError, AttributeError, QhullError) as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise KitError(f"{project.name}/scene.json is damaged ({reason}); build the scene again") from None

    def shelf_under(self, placed: Object) -> Object | None:
        """Return the shelf that an object stands on; None for the table and for what stands on another object."""
        on = (s for s in self.shelves if abs(placed.bottom - s.top) < SHELF_TOLERANCE_M)
        return next((s for s in on if s.distance_outside(placed.position[:2]) < SHELF_TOLERANCE_M), None)


def _scene(data: dict, described: dict[int, dict], project: Path) -> Scene:
    """Return the scene of the values of scene.json and the attributes of descriptions.json by segment id."""
    objects = tuple(_object(p, described.get(p.get("segment_id"), {})) for p in data["placements"])
    camera = np.array(data["world_from_camera"], float)
    ground = camera[:2, 0] if np.linalg.norm(camera[:2, 0]) > 1e-6 else np.array([1.0, 0])
    right = ground / np.linalg.norm(ground)
    corners = np.array(data["table"], float) if data.get("table") else _table_around(objects)
    away = np.array([-right[1], right[0]])
    shelves = tuple(_shelf(shelf) for shelf in data.get("shelves", ()))
    walls = tuple(map(_wall, data.get("walls", ())))
    folder, cameras = (project / "scene").resolve(), _cameras(project / CAMERAS)
    return Scene(objects, Region(hull(corners)), right, away, folder, None, shelves, walls, cameras)


def _object(data: dict, described: dict) -> Object:
    size = np.array(data["size"], float)
    pos = np.array(data["world_from_object"]["pos"], float)
    quat = np.array(data["world_from_object"]["quat_wxyz"], float)
    rotation = Rotation.from_quat(quat, scalar_first=True).as_matrix()
    shape = str(data.get("shape") or described.get("shape") or "irregular")
    half = float(np.abs(rotation[2]) @ size / 2)
    red, green, blue = data.get("rgb") or described.get("rgb") or (128, 128, 128)
    return Object(
        name=data["name"],
        category=data.get("category") or shape,
        shape=shape,
        colour=data.get("colour") or described.get("colour") or "grey",
        rgb=(int(red), int(green), int(blue)),
        size=size,
        position=pos,
        quat_wxyz=quat,
        outline=outline(size, shape, pos, rotation),
        top=float(pos[2]) + half,
        bottom=float(pos[2]) - half,
        mass=float(data.get("mass") or 0.1),
        container=bool(data.get("container", False)),
        fixed=bool(data.get("fixed", False)),
        asset_id=str(data.get("asset_id") or ""),
        fill=float(data.get("fill") or 1.0),
        affordances={str(name): np.array(point, float) for name, point in (data.get("affordances") or {}).items()},
        parts=tuple(sorted((_part(row, pos, rotation) for row in _named_joints(data)), key=lambda part: -part.top)),
    )


def _shelf(data: dict) -> Object:
    """Return a shelf of scene.json as an obstacle."""
    return _board(data, "shelf", hull(np.array(data["outline"], float)), float(data["thickness"]))


def _wall(data: dict) -> Object:
    """Return a bin's wall of scene.json; its outline holds its foot and its rim, which may lean outwards."""
    foot, height = np.array(data["outline"], float), float(data["height"])
    return _board(data, "wall", hull(np.concatenate([foot, foot + np.array(data["lean"]) * height])), height)


def _board(data: dict, category: str, corners: np.ndarray, thickness: float) -> Object:
    """Return what scene.json says of a shelf or a wall with this outline (N, 2) and height in metres."""
    top = float(data["height"])
    size = np.append(np.ptp(corners, axis=0), thickness)
    middle = np.append(corners.min(0) + size[:2] / 2, top - thickness / 2)
    return Object(
        data["name"], category, "box", "grey", tuple(data["rgb"]), size, middle, np.array([1.0, 0, 0, 0]), corners,
        top, top - thickness, fixed=True,
    )  # fmt: skip


def _named_joints(data: dict) -> list[dict]:
    """Return the joints of a placement whose parts have a name."""
    return [row for row in data.get("joints") or () if "called" in row]


def _part(row: dict, pos: np.ndarray, rotation: np.ndarray) -> ArticulatedPart:
    """Return the part of one of scene.json's joints, shut; the joint is given in its object's axes."""
    axis, anchor, centre, size = (np.array(row[key], float) for key in ("axis", "anchor", "centre", "size"))
    corners = centre + np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    names = str(row["called"]), str(row["name"]), str(row["part"]), str(row["kind"])
    shut = ArticulatedPart(*names, float(row["end"]), float(row["lever"]), 0.0, axis, anchor, corners)
    return shut.moved(rotation, pos)


def _descriptions(path: Path) -> dict[int, dict]:
    """Return the attributes of descriptions.json by segment id; none without the file. Raises KitError."""
    if not path.is_file():
        return {}
    try:
        return {d["segment_id"]: dict(d.get("attributes") or {}) for d in parse_json(path.read_text("utf-8"))}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise KitError(f"{path.name} is damaged ({reason}); describe the objects again") from None


def _cameras(path: Path) -> tuple[Camera, ...]:
    """Return the cameras that a person placed; none without the file. Raises KitError."""
    try:
        return tuple(map(from_json, parse_json(path.read_text("utf-8")))) if path.is_file() else ()
    except (ValueError, TypeError, AttributeError) as error:
        raise KitError(f"{path.name} cannot be read ({error}); place a camera again, or remove the file") from None


def _table_around(objects: tuple[Object, ...]) -> np.ndarray:
    """Return the corners of a table for a scene.json without one: 25 cm around all objects."""
    points = np.concatenate([o.outline for o in objects]) if objects else np.zeros((1, 2))
    low, high = points.min(0) - 0.25, points.max(0) + 0.25
    return np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
