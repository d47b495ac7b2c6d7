"""Lay a known surface over what one camera saw of it, when the table leaves it only x, y and a turn.

Point-to-plane ICP (Chen and Medioni 1992) from several starts. One view shows the near side only, so a surface could
float towards the camera unpunished: what would stand where the camera saw through is pulled back to what was seen.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
import trimesh
from scipy.spatial import KDTree

from pipeline.frame import Frame
from pipeline.geometry import Pose, transform
from pipeline.scene import meshes

if TYPE_CHECKING:
    import open3d

SAMPLES = 2500
POINTS = (150, 500)
"""Of what was seen, in the rough and the exact rounds."""
SLACK = 0.004
"""Metres in front of the measured depth that noise may explain."""
CAP = 0.03
"""Metres beyond which one point's error counts no more."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A mesh in its size box's axes, centred there, in metres."""

    triangles: np.ndarray
    """Of shape (F, 3, 3)."""
    points: np.ndarray
    """Spread evenly over the surface, of shape (M, 3)."""
    normals: np.ndarray
    """At the points, of shape (M, 3), outwards."""
    spacing: float
    """Typical distance between neighbouring points, in metres."""

    @cached_property
    def planes(self) -> np.ndarray:
        """How far each point's plane lies from the box's centre, of shape (M,), in metres."""
        return np.einsum("ij,ij->i", self.normals, self.points)

    def facing(self, pose: Pose, eye: np.ndarray) -> np.ndarray:
        """Which points look at an eye at a world position, of shape (M,), bool."""
        return self.facing_from((eye - pose.pos) @ pose.rotation)

    def facing_from(self, eye: np.ndarray) -> np.ndarray:
        """The same of an eye in the box's axes."""
        facing = self.normals @ eye > self.planes
        return facing if facing.sum() > 20 else np.ones(len(facing), bool)

    def seen_from(self, local: np.ndarray) -> "open3d.t.geometry.RaycastingScene":
        """The triangles that look at an eye in the box's axes, ready to be asked for their closest points."""
        import open3d  # takes a second: not at start-up

        a, b, c = self.triangles.swapaxes(0, 1)
        facing = np.einsum("ij,ij->i", np.cross(b - a, c - a), local - a) > 0
        corners = (self.triangles[facing] if facing.any() else self.triangles).reshape(-1, 3).astype(np.float32)
        indices = np.arange(len(corners), dtype=np.uint32).reshape(-1, 3)
        scene = open3d.t.geometry.RaycastingScene()
        scene.add_triangles(open3d.core.Tensor.from_numpy(corners), open3d.core.Tensor.from_numpy(indices))
        return scene


@dataclass(frozen=True, eq=False)
class Sight:
    """What the camera saw of one object, and past it."""

    points: np.ndarray
    """The object's own points, of shape (N, 3), world axes."""
    frame: Frame
    world_from_camera: np.ndarray

    @property
    def eye(self) -> np.ndarray:
        return self.world_from_camera[:3, 3]

    @cached_property
    def camera_from_world(self) -> np.ndarray:
        return np.linalg.inv(self.world_from_camera)

    @cached_property
    def tree(self) -> KDTree:
        """Of the points."""
        return KDTree(self.points)

    @cached_property
    def nearest(self) -> np.ndarray:
        """The least depth of each pixel and its neighbours, 0 beside a hole: edges are known to a pixel."""
        return cv2.erode(self.frame.depth, np.ones((3, 3), np.uint8))

    def seen_through(self, points: np.ndarray) -> np.ndarray:
        """Metres by which world points of shape (M, 3) stand in front of what was measured there; 0 where unknown."""
        k = self.frame.intrinsics
        x, y, z = transform(self.camera_from_world, points).T
        u, v = np.rint(x / z * k.fx + k.cx).astype(int), np.rint(y / z * k.fy + k.cy).astype(int)
        inside = (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height) & (z > 0)
        measured = np.where(inside, self.nearest[v.clip(0, k.height - 1), u.clip(0, k.width - 1)], 0)
        return np.where(measured > 0, (measured - z - SLACK).clip(0, CAP), 0)


@dataclass(frozen=True, eq=False)
class Fit:
    pose: Pose
    """world_from_object."""
    cost: float
    """Mean robust distance in metres, of the seen to the surface and of the surface to free space."""


def surface(path: Path, size: np.ndarray) -> Surface:
    """The mesh of a file, its box brought to `size`, of shape (3,)."""
    unit = _sampled(path, path.stat().st_mtime_ns)
    normals = unit.normals / size
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    area = 2 * (size[0] * size[1] + size[1] * size[2] + size[0] * size[2])
    return Surface(unit.triangles * size, unit.points * size, normals, float(np.sqrt(area / SAMPLES)))


@lru_cache(maxsize=256)
def _sampled(path: Path, _: int) -> Surface:
    """In the box's own units: it spans [-0.5, 0.5] along each axis."""
    mesh = meshes.load(path)
    extents, middle = np.maximum(mesh.extents, 1e-9), mesh.bounds.mean(0)
    points, faces = trimesh.sample.sample_surface(mesh, SAMPLES, seed=0)[:2]
    return Surface(
        (mesh.triangles - middle) / extents, (points - middle) / extents, mesh.face_normals[faces] * extents, 0.0
    )


def register(shape: Surface, sight: Sight, starts: list[Pose], exact: int = 3) -> Fit:
    """The best of several starts. Each keeps its height and its up axis; x, y and the turn about z are found.

    All starts are laid roughly, by the surface's sampled points; the best `exact` then by its triangles.
    """
    few, many = (replace(sight, points=_thinned(sight.points, n)) for n in POINTS)
    coarse = replace(shape, points=shape.points[::4], normals=shape.normals[::4], spacing=2 * shape.spacing)
    laid = [_Laid(start.rotation, start.pos) for start in starts]
    rough = [_icp(coarse, few, start, _Samples(coarse, start.eye(few)), rounds=8, far=0.03) for start in laid]
    best = sorted(rough, key=lambda found: found[1])[:exact]
    fine = [_icp(shape, many, at, _Exact(shape, at.eye(many)), rounds=30, far=0.01) for at, _ in best]
    at, cost = min(fine, key=lambda found: found[1])
    return Fit(Pose.from_rotation(at.pos, at.turn), cost)


def misfit(shape: Surface, sight: Sight, pose: Pose) -> float:
    """The cost of a surface where it lies, in metres, as of a Fit; 0 where too little was seen to tell."""
    if len(sight.points) < 30:
        return 0.0
    many, at = replace(sight, points=_thinned(sight.points, POINTS[1])), _Laid(pose.rotation, pose.pos)
    return _equations(shape, _Exact(shape, at.eye(many)), many, at, CAP)[-1]


def starts(shape: Surface, sight: Sight, up: np.ndarray, bottom: float, turns: int = 12) -> list[Pose]:
    """Poses all around: the shape turned by `up`, (3, 3), resting at z = bottom, its near side where it was seen."""
    lift = bottom - (shape.points @ up.T)[:, 2].min()
    middle = np.median(sight.points, axis=0)
    poses = []
    for yaw in np.arange(turns) * 2 * np.pi / turns:
        rotation = _about_z(yaw) @ up
        pose = Pose.from_rotation(np.array([middle[0], middle[1], lift]), rotation)
        near = shape.points[shape.facing(pose, sight.eye)] @ rotation.T
        poses.append(Pose(pose.pos - np.append(near[:, :2].mean(0), 0), pose.quat_wxyz))
    return poses


@dataclass(frozen=True, eq=False)
class _Laid:
    """Where a surface lies on the way: a pose without its quaternion, which would take most of the time."""

    turn: np.ndarray
    """World from the box's axes, of shape (3, 3)."""
    pos: np.ndarray

    def eye(self, sight: Sight) -> np.ndarray:
        """The camera in the box's axes, of shape (3,)."""
        return (sight.eye - self.pos) @ self.turn


class _Samples:
    """The closest of the surface's points and their planes. Roughly right, and quick to make."""

    def __init__(self, shape: Surface, eye: np.ndarray):
        facing = shape.facing_from(eye)
        self.points, self.normals = shape.points[facing], shape.normals[facing]
        self.tree = KDTree(self.points)
        self.spacing = shape.spacing

    def gaps(self, points: np.ndarray) -> np.ndarray:
        """From the surface to points, both in the box's axes, of shape (N, 3)."""
        _, nearest = self.tree.query(points)
        gap, normal = points - self.points[nearest], self.normals[nearest]
        off = np.einsum("ij,ij->i", gap, normal)[:, None] * normal
        aside = gap - off
        length = np.linalg.norm(aside, axis=1, keepdims=True)
        # within the samples' spacing a point lies on the plane beside its neighbour
        return off + aside * ((length - self.spacing).clip(0) / np.maximum(length, 1e-9))


class _Exact:
    """The closest point of the surface's triangles that face the camera."""

    def __init__(self, shape: Surface, eye: np.ndarray):
        self.scene = shape.seen_from(eye)

    def gaps(self, points: np.ndarray) -> np.ndarray:
        """From the surface to points, both in the box's axes, of shape (N, 3)."""
        import open3d

        asked = open3d.core.Tensor.from_numpy(points.astype(np.float32))
        return points - self.scene.compute_closest_points(asked)["points"].numpy().astype(float)


def _icp(
    shape: Surface, sight: Sight, at: _Laid, closest: _Samples | _Exact, rounds: int, far: float
) -> tuple[_Laid, float]:
    """The best of the way, and its cost."""
    best = at, np.inf
    for i in range(rounds):
        rows, wanted, weights, cost = _equations(shape, closest, sight, at, far if i < rounds // 2 else far / 3)
        if cost < best[1]:
            best = at, cost
        normal = rows.T @ (rows * weights[:, None]) + np.diag([1e-6, 1e-6, 1e-6 * np.ptp(shape.points) ** 2])
        x, y, turn = np.linalg.solve(normal, rows.T @ (weights * wanted))
        at = _Laid(_about_z(min(max(turn, -0.3), 0.3)) @ at.turn, at.pos + np.array([x, y, 0]))
        if abs(x) + abs(y) < 2e-6 and abs(turn) < 2e-5:
            break
    return best


def _equations(shape: Surface, closest: _Samples | _Exact, sight: Sight, at: _Laid, far: float):
    """Linear equations of one ICP round in (x, y, turn): rows (E, 3), wanted (E,), weights (E,); and the cost now."""
    gaps = closest.gaps((sight.points - at.pos) @ at.turn) @ at.turn.T
    model = shape.points[shape.facing_from(at.eye(sight))] @ at.turn.T + at.pos
    through = sight.seen_through(model)
    out = model[through > 0]
    back = sight.points[sight.tree.query(out)[1]] - out if len(out) else np.zeros((0, 3))

    wanted = np.linalg.norm(np.vstack([gaps, back]), axis=1)
    direction = np.vstack([gaps, back]) / np.maximum(wanted, 1e-12)[:, None]
    wanted[len(gaps) :] = (wanted[len(gaps) :] - shape.spacing).clip(0)
    weights = 1 / (1 + (wanted / far) ** 2)
    weights[len(gaps) :] *= 0.5 * len(gaps) / max(len(model), 1)
    arm = np.vstack([sight.points, out]) - at.pos
    rows = np.stack([direction[:, 0], direction[:, 1], direction[:, 1] * arm[:, 0] - direction[:, 0] * arm[:, 1]], -1)
    cost = wanted[: len(gaps)].clip(0, CAP).mean() + through.mean()
    return rows, wanted, weights, float(cost)


def _thinned(points: np.ndarray, count: int) -> np.ndarray:
    return points[:: max(1, len(points) // count)]


def _about_z(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])
