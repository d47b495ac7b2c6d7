"""Objects at one instant, and regions of the ground, as generated code sees them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from pipeline.errors import StudioError
from pipeline.geometry import planar_rotation
from pipeline.simulation.articulated_parts import ArticulatedPart

ROUND_SHAPES = ("cylinder", "sphere", "bowl")


class KitError(StudioError):
    """The kit was misused; the message lists what would have worked."""


def hull(points: np.ndarray) -> np.ndarray:
    """Return the convex outline (M, 2) of ground points (N, 2), anticlockwise."""
    return points[ConvexHull(points).vertices]


@dataclass(frozen=True, eq=False)
class Object:
    """One object at one instant. World frame: z up, table top at z = 0, metres and radians."""

    name: str
    category: str
    shape: str
    """"box", "cube", "cylinder", "sphere", "bowl" or "irregular"."""
    colour: str
    rgb: tuple[int, int, int]
    size: np.ndarray
    """Full extents in metres along the object's own axes, of shape (3,)."""
    position: np.ndarray
    """Centre of the object's box, world, of shape (3,)."""
    quat_wxyz: np.ndarray
    """world_from_object, of shape (4,)."""
    outline: np.ndarray
    """Convex outline seen from above, world x and y, of shape (N, 2), anticlockwise."""
    top: float
    """Highest z."""
    bottom: float
    """Lowest z."""
    mass: float = 0.1
    """In kg."""
    container: bool = False
    """Open at the top and hollow."""
    fixed: bool = False
    """Cannot be moved."""
    asset_id: str = ""
    """Id of the library asset it was matched with; empty where it was reconstructed."""
    parts: tuple[ArticulatedPart, ...] = ()
    """Parts that move on joints: drawers, doors, lids, knobs; the highest first."""
    fill: float = 1.0
    """Share of its box that its convex hull fills."""
    affordances: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Point (3,) on each "handle", "spout", "lid" or "press" that a model saw, by name, in metres: in the object's own
    axes, from the centre of its box."""

    def affordance(self, name: str) -> np.ndarray:
        """Return the world point (3,) of an affordance. Raises KitError that lists those there are."""
        if name not in self.affordances:
            raise KitError(f"{self.name} has no affordance {name!r}; it has: {', '.join(self.affordances) or 'none'}")
        return self.rotation @ self.affordances[name] + self.position

    def part(self, name: str) -> ArticulatedPart:
        """Return the part with that name. Raises KitError that lists the parts there are."""
        by_name = {part.name: part for part in self.parts}
        if name not in by_name:
            raise KitError(f"{self.name} has no part {name!r}; it has: {', '.join(by_name) or 'none that moves'}")
        return by_name[name]

    @property
    def volume(self) -> float:
        """Volume of its convex hull, in cubic metres."""
        return float(np.prod(self.size)) * self.fill

    @property
    def height(self) -> float:
        """Height from the lowest to the highest point as it stands now."""
        return self.top - self.bottom

    @cached_property
    def rotation(self) -> np.ndarray:
        """World from object, of shape (3, 3)."""
        return Rotation.from_quat(self.quat_wxyz, scalar_first=True).as_matrix()

    @property
    def yaw(self) -> float:
        """Direction of the object's x axis on the ground (of its y axis where x points up)."""
        x, y = self.rotation[:, 0], self.rotation[:, 1]
        return float(np.arctan2(x[1], x[0]) if np.hypot(*x[:2]) > 0.5 else np.arctan2(-y[0], y[1]))

    @property
    def tilt(self) -> float:
        """Angle between the object's z axis and the world's."""
        return float(np.arccos(np.clip(self.rotation[2, 2], -1, 1)))

    @cached_property
    def radius(self) -> float:
        """Half of the larger ground extent."""
        return float(np.ptp(self.outline @ planar_rotation(self.yaw), axis=0).max() / 2)

    @cached_property
    def reach(self) -> float:
        """Radius of the ground circle about the centre that holds the object at any yaw."""
        return float(np.linalg.norm(self.outline - self.position[:2], axis=1).max())

    def distance_outside(self, xy: np.ndarray) -> float:
        """Return how far a point on the ground (2,) lies outside the outline, in metres; zero inside."""
        return max(0.0, float(Region(self.outline).distance(xy)))

    def moved(self, xy: Any = None, z: float | None = None, yaw: float | None = None) -> "Object":
        """Return the object with its centre at xy, its lowest point at z and turned about the vertical to yaw."""
        centre = self.position[:2] if xy is None else np.asarray(xy, float).reshape(2)
        turn = 0.0 if yaw is None else yaw - self.yaw
        spin = Rotation.from_euler("z", turn)
        lift = 0.0 if z is None else z - self.bottom
        quat = (spin * Rotation.from_quat(self.quat_wxyz, scalar_first=True)).as_quat(scalar_first=True)
        flat = spin.as_matrix()
        outline = (self.outline - self.position[:2]) @ flat[:2, :2].T + centre
        position = np.array([*centre, self.position[2] + lift])
        return replace(
            self, position=position, quat_wxyz=quat, outline=outline, top=self.top + lift, bottom=self.bottom + lift,
            parts=tuple(part.moved(flat, position - flat @ self.position) for part in self.parts),
        )  # fmt: skip


class MeasuredObject(Object):
    """An object whose outline is computed when it is first asked for: half of what measuring took."""

    ground_points: np.ndarray
    """Its outermost points seen from above, of shape (N, 2)."""

    @cached_property
    def outline(self) -> np.ndarray:  # type: ignore[override]
        return hull(self.ground_points)


@dataclass(frozen=True, eq=False)
class Region:
    """A convex region of the ground plane."""

    polygon: np.ndarray
    """Outline of shape (N, 2), world x and y in metres, anticlockwise."""

    @property
    def centre(self) -> np.ndarray:
        """Centroid of the area, of shape (2,)."""
        a, b = self.polygon, np.roll(self.polygon, -1, 0)
        cross = a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]
        return ((a + b) * cross[:, None]).sum(0) / (3 * cross.sum())

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """xmin, ymin, xmax, ymax."""
        low, high = self.polygon.min(0), self.polygon.max(0)
        return float(low[0]), float(low[1]), float(high[0]), float(high[1])

    def depth(self, points: np.ndarray, shape: np.ndarray | None = None) -> np.ndarray:
        """Return the distance of points (..., 2) to the nearest edge line, positive inside, of shape (...).

        With a shape, an outline (M, 2) around the origin: the same for its outermost point when it is centred there.
        """
        side = np.roll(self.polygon, -1, 0) - self.polygon
        normal = np.stack([-side[:, 1], side[:, 0]], -1) / np.linalg.norm(side, axis=1, keepdims=True)
        room = 0.0 if shape is None else (shape @ normal.T).min(0)
        return (np.asarray(points, float) @ normal.T - (self.polygon * normal).sum(1) + room).min(-1)

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Return the distance of points (..., 2) to the region, negative inside, of shape (...)."""
        points = np.asarray(points, float)
        (x0, y0), (dx, dy) = self.polygon.T, (np.roll(self.polygon, -1, 0) - self.polygon).T
        x, y = points[..., :1] - x0, points[..., 1:] - y0
        along = np.clip((x * dx + y * dy) / (dx**2 + dy**2), 0, 1)
        edge = np.sqrt(((x - along * dx) ** 2 + (y - along * dy) ** 2).min(-1))
        return np.where(self.depth(points) > 0, -edge, edge)

    def contains(self, xy: Any, margin: float = 0.0) -> bool:
        """Return whether xy lies inside, at least margin metres from the edge."""
        return bool(self.depth(np.asarray(xy, float)) >= margin)


def find_object(objects: Iterable[Object], name: str) -> Object:
    """Return the object with that name. Raises KitError that lists the names there are."""
    by_name = {o.name: o for o in objects}
    if name not in by_name:
        raise KitError(f"there is no object {name!r}; there are: {', '.join(by_name) or 'none'}")
    return by_name[name]


def outline(size: np.ndarray, shape: str, pos: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    """Return the ground outline (N, 2) of a box of full extents (3,); of a disc for round shapes that stand upright."""
    if shape in ROUND_SHAPES and rotation[2, 2] > 0.9:
        angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        corners = np.stack([np.cos(angle) * size[0] / 2, np.sin(angle) * size[1] / 2, 0 * angle], -1)
    else:
        corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    return hull((corners @ rotation.T + pos)[:, :2])
