"""Objects of a scene and their table as the planner knows them, and what can be done with each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.simulation.goals.in_row import RAINBOW as RAINBOW
from pipeline.simulation.objects import Region, hull

WALL = 0.006
"""Assumed thickness of a container's wall, in metres."""
ON_GAP = 0.02
"""Metres between the bottom of an object and the top of what it rests on."""
OPEN_TOPS = {"bowl", "mug", "cup", "bin", "tray", "basket", "pan", "pot", "bucket", "glass", "dish", "plate", "tub"}
NEW_CONTAINERS = ("bin", "tray")
"""Containers that a program can add."""
NARROW_TOPS = {
    "bottle",
    "jug",
    "spray",
    "banana",
    "drill",
    "hammer",
    "plane",
    "airplane",
    "mug",
    "cup",
    "apple",
    "pear",
}


@dataclass(frozen=True)
class ScenePart:
    """A drawer, door, lid or knob of an object, from the question's JSON."""

    name: str
    slides: bool
    size: tuple[float, float, float]
    """Extents in metres along the object's own axes."""
    share: float
    """How far it is open: 0 shut, 1 fully open."""
    upright: bool
    """Whether it slides or turns about the vertical, which the hand can do."""

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "ScenePart":
        """Return the part of a question's JSON."""
        x, y, z = (float(v) for v in data.get("size") or (0.1,) * 3)
        slides = data.get("kind") == "slide"
        return ScenePart(str(data["name"]), slides, (x, y, z), float(data.get("open") or 0), bool(data.get("upright")))


@dataclass(frozen=True)
class SceneObject:
    """One object, from the question's JSON."""

    name: str
    category: str
    shape: str
    colour: str
    size: tuple[float, float, float]
    """x, y and z extents in metres; the ground axes are its own."""
    position: tuple[float, float, float]
    """World position of the box's centre, in metres."""
    container: bool
    about: str
    """Other words about it: caption, asset id."""
    parts: tuple[ScenePart, ...] = ()
    """Parts that open, shut or turn. An object with such parts is furniture and is never carried."""
    caption: str = ""
    """Words of a person, a model or the measurement about it, with the asset that it may show."""
    asset: str = ""
    """Id of its asset; empty if it was reconstructed from the view."""
    volume: float = 0.0
    """Of its convex hull, in cubic metres."""

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "SceneObject":
        """Return the object of a question's JSON."""
        size, position = data.get("size") or (0.05,) * 3, data.get("position") or (0.0,) * 3
        words = " ".join(str(data.get(key) or "") for key in ("caption", "asset"))
        return SceneObject(
            str(data["name"]),
            str(data.get("category") or "").lower(),
            str(data.get("shape") or "irregular"),
            str(data.get("colour") or ""),
            (float(size[0]), float(size[1]), float(size[2])),
            (float(position[0]), float(position[1]), float(position[2])),
            bool(data.get("container")),
            words.lower(),
            tuple(ScenePart.from_json(part) for part in data.get("parts") or ()),
            str(data.get("caption") or "").lower(),
            str(data.get("asset") or "").lower(),
            float(data.get("volume") or np.prod(size)),
        )

    @property
    def width(self) -> float:
        """The larger ground extent, in metres."""
        return max(self.size[:2])

    @property
    def narrow(self) -> float:
        """The smaller ground extent, in metres."""
        return min(self.size[:2])

    @property
    def diagonal(self) -> float:
        """Diameter of the ground circle that holds it at any yaw, in metres."""
        is_round = self.shape in ("cylinder", "sphere", "bowl")
        return self.width if is_round else float(np.hypot(*self.size[:2]))

    @property
    def height(self) -> float:
        return self.size[2]

    @property
    def flat(self) -> bool:
        """Whether it is flat on top, so that something can stand on it."""
        odd = self.shape in ("sphere", "bowl", "irregular") or self.category in NARROW_TOPS | OPEN_TOPS
        return bool(self.parts) or (not odd and not self.container)

    @property
    def block(self) -> bool:
        """Whether it is flat above and below and not too slim: suitable for a tower."""
        return self.flat and self.height < 3 * self.narrow


def carry_risk(moved: SceneObject) -> float:
    """Return how likely a suction gripper is to drop or topple an object, in [0, 1]; 0 for a compact block."""
    size = abs(float(np.log(max(moved.width, 1e-3) / 0.07)))
    slim = max(0.0, moved.height / max(moved.narrow, 1e-3) - 2)
    odd = 0.2 if moved.shape in ("irregular", "sphere") else 0.1 if moved.container else 0.0
    return min(1.0, 0.15 * size + 0.08 * slim + odd)


def scene_objects(scene: Mapping[str, Any]) -> tuple[SceneObject, ...]:
    """Return the objects of a scene as questions hold it (tasks.scene_to_json)."""
    return tuple(SceneObject.from_json(data) for data in scene.get("objects", ()))


def cm(metres: float) -> str:
    """Return a length as text in whole centimetres."""
    return f"{metres * 100:.0f} cm"


def rests_on(upper: SceneObject, lower: SceneObject) -> bool:
    """Return whether an object of the photograph rests on another one, or in it where that is a container."""
    if (
        upper.name == lower.name
        or float(np.hypot(*np.subtract(upper.position[:2], lower.position[:2]))) > lower.width / 2
    ):
        return False
    bottom = upper.position[2] - upper.height / 2
    floor, top = lower.position[2] - lower.height / 2, lower.position[2] + lower.height / 2
    return (lower.container and floor + 0.001 < bottom < top and upper.volume < lower.volume) or abs(
        bottom - top
    ) < ON_GAP


def why_not_on(upper: SceneObject, lower: SceneObject) -> str:
    """Return why `upper` cannot stand on `lower`; empty where it can."""
    if upper.name == lower.name:
        return f"{upper.name} cannot stand on itself"
    if lower.shape == "sphere":
        return f"{lower.name} is round on top: nothing stays on a sphere"
    if upper.shape == "sphere":
        return f"{upper.name} is a sphere: it rolls off {lower.name}"
    if lower.container:
        return ""
    if not lower.flat:
        return f"{lower.name} has no flat top to stand on"
    if upper.narrow > 2 * lower.width:
        return f"{upper.name} ({cm(upper.narrow)} wide) is too wide for {lower.name} ({cm(lower.width)})"
    return ""


def why_not_in(moved: SceneObject, container: SceneObject) -> str:
    """Return why an object does not fit into a container; empty where it does."""
    room = container.narrow - 2 * WALL
    if moved.name == container.name:
        return f"{moved.name} cannot go into itself"
    if not container.container and container.parts:
        drawers = [part.name for part in container.parts if part.slides]
        which = f"say which drawer: {', '.join(drawers)}" if drawers else "its inside is not reached from above"
        return f"{container.name} takes nothing from above; {which}"
    if not container.container:
        return f"{container.name} is no container"
    if moved.narrow > room:
        return f"{moved.name} ({cm(moved.narrow)} wide) does not fit into {container.name} ({cm(room)} inside)"
    if sorted(moved.size)[1] > max(container.size[:2]):
        long, opening = cm(sorted(moved.size)[1]), cm(max(container.size[:2]))
        return f"{moved.name} ({long} wide) does not fit into {container.name} ({opening} wide)"
    return ""


def why_not_in_part(moved: SceneObject, owner: SceneObject, name: str) -> str:
    """Return why an object does not fit into a drawer of `owner`; empty where it does."""
    part = next((part for part in owner.parts if part.name == name), None)
    if part is None or not part.slides or "drawer" not in name:
        return f"{name} of {owner.name} is no drawer: the hand puts things in from above"
    if moved.parts:
        return f"{moved.name} is furniture: it stays where it stands"
    room = min(part.size[:2]) - 2 * WALL
    if moved.narrow > room:
        return f"{moved.name} ({cm(moved.narrow)} wide) does not fit into {name} of {owner.name} ({cm(room)} inside)"
    return ""


def insert_risk(moved: SceneObject, container: SceneObject) -> float:
    """Return how likely an object is to come to rest outside the container, in [0, 1]."""
    slack = (container.narrow - 2 * WALL) / max(float(np.hypot(*moved.size[:2])), 1e-3)
    tall = moved.height / max(container.height, 0.02)
    return min(1.0, max(0.0, 0.6 * (1.15 - slack)) + max(0.0, 0.15 * (tall - 2)))


def stack_risk(upper: SceneObject, lower: SceneObject) -> float:
    """Return how likely `upper` is to fall off `lower`, in [0, 1]."""
    overhang = upper.narrow / max(lower.narrow, 1e-3)
    slim = upper.height / max(upper.narrow, 1e-3)
    loose = 0.0 if upper.shape in ("box", "cube", "cylinder") else 0.3
    return min(1.0, max(0.0, 0.4 * (overhang - 1)) + max(0.0, 0.1 * (slim - 2)) + loose)


@dataclass(frozen=True)
class TableTop:
    """The table's usable top, from the question's JSON."""

    polygon: np.ndarray
    """Of shape (N, 2), world x and y in metres."""
    right: tuple[float, float]
    """Unit vector to the camera's right."""
    away: tuple[float, float]
    """Unit vector away from the camera."""
    shelves: tuple[np.ndarray, ...] = ()
    """Outlines of shelves above it, each of shape (N, 2), anticlockwise. Nothing is set down under them."""
    bin: Region | None = None
    """What the walls enclose, as seen from above, where the table is the floor of a bin."""

    @staticmethod
    def from_json(scene: Mapping[str, Any]) -> "TableTop":
        """Return the table of a scene as questions hold it (tasks.scene_to_json)."""
        table = scene.get("table") or {}
        polygon = table.get("polygon") or [[-0.5, -0.4], [0.5, -0.4], [0.5, 0.4], [-0.5, 0.4]]
        right, away = scene.get("right") or (1.0, 0.0), scene.get("away") or (0.0, 1.0)
        shelves = tuple(np.asarray(shelf["polygon"], float) for shelf in scene.get("shelves", ()))
        walls = [corner for wall in scene.get("bin_walls", ()) for corner in wall["polygon"]]
        enclosed = Region(hull(np.asarray(walls, float))) if walls else None
        return TableTop(np.asarray(polygon, float), (right[0], right[1]), (away[0], away[1]), shelves, enclosed)

    def length(self, along: str) -> float:
        """Return the extent in metres along "right" or "away"."""
        on_axis = self.polygon @ np.asarray(self.right if along == "right" else self.away)
        return float(np.ptp(on_axis))

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Return the distance of points (..., 2) to the nearest edge or shelf, positive inside, of shape (...)."""
        edges = np.roll(self.polygon, -1, 0) - self.polygon
        normals = np.stack([-edges[:, 1], edges[:, 0]], -1) / (np.linalg.norm(edges, axis=1, keepdims=True) + 1e-9)
        normals *= np.sign(np.median(((self.polygon.mean(0) - self.polygon) * normals).sum(1)))
        inside = (points @ normals.T - (self.polygon * normals).sum(1)).min(-1)
        return np.min([inside, *(Region(shelf).distance(points) for shelf in self.shelves)], axis=0)

    def holds(self, xy: np.ndarray, margin: float) -> bool:
        """Return whether a point lies on it, at least margin metres from the edge and from shelves."""
        return bool(self.depth(np.asarray(xy)) >= margin)


@dataclass(frozen=True)
class Arrangement:
    """The objects of the photograph on their table."""

    objects: tuple[SceneObject, ...]
    table: TableTop

    def measure(self, o: SceneObject, key: str) -> float:
        """Return "volume", "height" or "width" (m), or the position "right" or "away" as the camera sees it (m)."""
        if key in ("right", "away"):
            axis = self.table.right if key == "right" else self.table.away
            return o.position[0] * axis[0] + o.position[1] * axis[1]
        return getattr(o, key)

    def side(self, a: SceneObject) -> tuple[float, float]:
        """Return where an object stands within the objects' extent, right and away, each in [0, 1]."""
        shares = []
        for key in ("right", "away"):
            values = [self.measure(o, key) for o in self.objects]
            low, high = min(values), max(values)
            shares.append((self.measure(a, key) - low) / (high - low) if high - low > 1e-6 else 0.5)
        return shares[0], shares[1]

    def ranked(self, objects: Sequence[SceneObject], key: str) -> list[SceneObject]:
        """Return objects by a measure, the least first."""
        return sorted(objects, key=lambda o: (round(self.measure(o, key), 7), o.name))
