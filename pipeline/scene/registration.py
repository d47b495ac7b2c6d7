"""Register a known surface to what the cameras measured of it, with height and up axis fixed by its support.

Point-to-plane ICP (Chen and Medioni 1992) over x, y and yaw from several starts. One view shows only the near side, so
a surface could drift towards the camera at no cost. Surface points in front of the measured depth, where the camera saw
free space, are therefore pulled back to the measured points.
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
from pipeline.geometry import Pose, rotation_about_z
from pipeline.geometry.rays import closest_points, triangle_scene
from pipeline.scene.mjcf import mesh_export
from pipeline.scene.placement import SceneError

if TYPE_CHECKING:
    import open3d

SURFACE_SAMPLES = 2500
TARGET_POINTS = (150, 500)
"""Measured points used in the coarse and in the fine rounds."""
GIVEN_UP_COST_M = 1.0
"""Cost of a registration that was given up."""
MAX_ERROR_M = 0.03
"""Distance at which the error of one point is capped."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A mesh in the axes of its size box, centred there, in metres."""

    triangles: np.ndarray
    """Corners of the faces, of shape (F, 3, 3)."""
    points: np.ndarray
    """Points spread evenly over the surface, of shape (M, 3)."""
    normals: np.ndarray
    """Outward unit normals at the points, of shape (M, 3)."""
    spacing: float
    """Typical distance between neighbouring points, in metres."""

    @cached_property
    def plane_offsets(self) -> np.ndarray:
        """Distances in metres of the points' tangent planes from the centre of the box, of shape (M,)."""
        return np.einsum("ij,ij->i", self.normals, self.points)

    def faces_camera(self, pose: Pose, *camera_positions: np.ndarray) -> np.ndarray:
        """Return which points face a camera at one of the world positions (3,), of shape (M,), bool."""
        return self.faces_local_camera(*((camera - pose.pos) @ pose.rotation for camera in camera_positions))

    def faces_local_camera(self, *camera_positions: np.ndarray) -> np.ndarray:
        """Return which points face a camera at one of the positions (3,), in box axes, of shape (M,), bool."""
        facing = np.any([self.normals @ camera > self.plane_offsets for camera in camera_positions], axis=0)
        return facing if facing.sum() > 20 else np.ones(len(facing), bool)

    def near_side(self, *camera_positions: np.ndarray) -> "open3d.t.geometry.RaycastingScene":
        """Return a raycasting scene of the triangles that face a camera at one of the positions (3,), in box axes."""
        a, b, c = self.triangles.swapaxes(0, 1)
        normals = np.cross(b - a, c - a)
        facing = np.any([np.einsum("ij,ij->i", normals, camera - a) > 0 for camera in camera_positions], axis=0)
        return triangle_scene(self.triangles[facing] if facing.any() else self.triangles)


@dataclass(frozen=True, eq=False)
class RegistrationTarget:
    """What a surface is registered to: the points of one object, and the depth images that show free space."""

    points: np.ndarray
    """The object's measured points in world axes, of shape (N, 3), in metres."""
    frame: Frame
    world_from_camera: np.ndarray
    """Of shape (4, 4)."""
    others: tuple["RegistrationTarget", ...] = ()
    """The same object from further cameras; their points are among this one's."""

    @cached_property
    def camera_positions(self) -> list[np.ndarray]:
        """Of this camera and the others, each of shape (3,)."""
        return [one.world_from_camera[:3, 3] for one in (self, *self.others)]

    @cached_property
    def camera_from_world(self) -> np.ndarray:
        return np.linalg.inv(self.world_from_camera)

    @cached_property
    def tree(self) -> KDTree:
        """Search tree of the points."""
        return KDTree(self.points)

    @cached_property
    def nearest_depth(self) -> np.ndarray:
        """Least depth among each pixel and its neighbours, 0 beside a hole: edges are known to one pixel only."""
        return cv2.erode(self.frame.depth, np.ones((3, 3), np.uint8))

    def free_space_depth(self, points: np.ndarray) -> np.ndarray:
        """Return the metres by which world points (M, 3) lie in front of the measured depth, of shape (M,).

        Zero where no depth was measured; at most MAX_ERROR_M. Of several cameras the largest distance counts.
        """
        own = self._own_free_space_depth(points)
        return np.max([own, *(one._own_free_space_depth(points) for one in self.others)], axis=0)

    def _own_free_space_depth(self, points: np.ndarray) -> np.ndarray:
        k = self.frame.intrinsics
        x, y, z = self.camera_from_world[:3, :3] @ points.T + self.camera_from_world[:3, 3:]
        u, v = np.rint(x / z * k.fx + k.cx), np.rint(y / z * k.fy + k.cy)
        inside = (u >= 0) & (u < k.width) & (v >= 0) & (v < k.height) & (z > 0)
        pixels = np.where(inside, v * k.width + u, 0).astype(np.intp)
        measured = self.nearest_depth.ravel()[pixels] * inside
        # 0.004: distance in front of the measured depth that noise can explain
        return np.where(measured > 0, np.minimum(np.maximum(measured - z - 0.004, 0), MAX_ERROR_M), 0)


@dataclass(frozen=True, eq=False)
class RegistrationResult:
    pose: Pose
    """world_from_object; pos is the centre of the size box."""
    cost: float
    """Mean capped distance in metres from measured points to the surface, plus that of the surface in free space."""


def load_surface(path: Path, size: np.ndarray) -> Surface:
    """Return the surface of a mesh file, its box scaled to `size` (3,), in metres. Raises SceneError."""
    try:
        unit = _unit_surface(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        raise SceneError(f"{path.name} is missing; remove scene.json to have the twin made again") from None
    normals = unit.normals / size
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    area = 2 * (size[0] * size[1] + size[1] * size[2] + size[0] * size[2])
    return Surface(unit.triangles * size, unit.points * size, normals, float(np.sqrt(area / SURFACE_SAMPLES)))


@lru_cache(maxsize=256)
def _unit_surface(path: Path, _: int) -> Surface:
    """Return the surface of a mesh file scaled so that its box spans [-0.5, 0.5] along each axis."""
    mesh = mesh_export.read_mesh(path)
    extents, centre = np.maximum(mesh.extents, 1e-9), mesh.bounds.mean(0)
    points, faces = trimesh.sample.sample_surface(mesh, SURFACE_SAMPLES, seed=0)[:2]
    triangles, points = (mesh.triangles - centre) / extents, (points - centre) / extents
    normals = mesh.face_normals[faces] * extents
    # plain arrays: arithmetic with trimesh's own ones, which notice changes, takes a tenth longer
    return Surface(np.array(triangles), np.array(points), np.array(normals), 0.0)


def register(
    surface: Surface,
    target: RegistrationTarget,
    starts: list[Pose],
    refine_count: int = 3,
    max_coarse_cost: float = np.inf,
) -> RegistrationResult:
    """Return the best registration from several start poses. Height and up axis stay; x, y and yaw are found.

    All starts are first registered coarsely by sampled points, then the best `refine_count` of them by triangles. If
    even the best costs more than `max_coarse_cost` (m), its cost is GIVEN_UP_COST_M.
    """
    coarse_target, fine_target = (replace(target, points=_subsampled(target.points, n)) for n in TARGET_POINTS)
    coarse = replace(surface, points=surface.points[::4], normals=surface.normals[::4], spacing=2 * surface.spacing)
    rough = [
        _icp(coarse, coarse_target, start, _SampleMatcher(coarse, start.cameras_in_box(coarse_target)), 8, 0.03)
        for start in (_RigidTransform(pose.rotation, pose.pos) for pose in starts)
    ]
    best = sorted(rough, key=lambda result: result[1])[:refine_count]
    if best[0][1] > max_coarse_cost:
        return RegistrationResult(Pose.from_rotation(best[0][0].pos, best[0][0].rotation), GIVEN_UP_COST_M)
    fine = [
        _icp(surface, fine_target, at, _TriangleMatcher(surface, at.cameras_in_box(fine_target)), 30, 0.01)
        for at, _ in best
    ]
    at, cost = min(fine, key=lambda result: result[1])
    return RegistrationResult(Pose.from_rotation(at.pos, at.rotation), cost)


def registration_cost(surface: Surface, target: RegistrationTarget, pose: Pose) -> float:
    """Return the cost in metres of a surface at a given pose, as in a RegistrationResult; 0 below 30 points."""
    if len(target.points) < 30:
        return 0.0
    fine_target = replace(target, points=_subsampled(target.points, TARGET_POINTS[1]))
    at = _RigidTransform(pose.rotation, pose.pos)
    matcher = _TriangleMatcher(surface, at.cameras_in_box(fine_target))
    return _linearise(surface, matcher, fine_target, at, MAX_ERROR_M).cost


def start_poses(
    surface: Surface, target: RegistrationTarget, up: np.ndarray, bottom: float, yaw_count: int = 12
) -> list[Pose]:
    """Return start poses at evenly spaced yaws. The surface, rotated by `up` (3, 3), rests at z = `bottom`.

    Each is shifted so that its near side lies where the object was measured.
    """
    lift = bottom - (surface.points @ up.T)[:, 2].min()
    centre = np.median(target.points, axis=0)
    poses = []
    for yaw in np.arange(yaw_count) * 2 * np.pi / yaw_count:
        rotation = rotation_about_z(yaw) @ up
        pose = Pose.from_rotation(np.array([centre[0], centre[1], lift]), rotation)
        near = surface.points[surface.faces_camera(pose, *target.camera_positions)] @ rotation.T
        poses.append(Pose(pose.pos - np.append(near[:, :2].mean(0), 0), pose.quat_wxyz))
    return poses


@dataclass(frozen=True, eq=False)
class _RigidTransform:
    """World from the axes of the box. Computing a Pose's quaternion in each round would take most of the time."""

    rotation: np.ndarray
    """Of shape (3, 3)."""
    pos: np.ndarray

    def cameras_in_box(self, target: RegistrationTarget) -> list[np.ndarray]:
        """Return the cameras' positions in the axes of the box, each of shape (3,)."""
        return [(camera - self.pos) @ self.rotation for camera in target.camera_positions]


class _SampleMatcher:
    """Finds the closest tangent plane among a surface's sampled points. Approximate, and quick to set up."""

    def __init__(self, surface: Surface, camera_positions: list[np.ndarray]):
        facing = surface.faces_local_camera(*camera_positions)
        self.points, self.normals = surface.points[facing], surface.normals[facing]
        self.tree = KDTree(self.points)
        self.spacing = surface.spacing

    def gaps(self, points: np.ndarray) -> np.ndarray:
        """Return the vectors from the surface to points (N, 3) in the axes of the box, of shape (N, 3)."""
        _, nearest = self.tree.query(points)
        gap, normal = points - self.points[nearest], self.normals[nearest]
        along_normal = np.einsum("ij,ij->i", gap, normal)[:, None] * normal
        tangential = gap - along_normal
        length = np.linalg.norm(tangential, axis=1, keepdims=True)
        # within the samples' spacing a point lies on the tangent plane beside its neighbour
        return along_normal + tangential * ((length - self.spacing).clip(0) / np.maximum(length, 1e-9))


class _TriangleMatcher:
    """Finds the closest point on the surface's triangles that face the camera."""

    def __init__(self, surface: Surface, camera_positions: list[np.ndarray]):
        self.scene = surface.near_side(*camera_positions)

    def gaps(self, points: np.ndarray) -> np.ndarray:
        """Return the vectors from the surface to points (N, 3) in the axes of the box, of shape (N, 3)."""
        return points - closest_points(self.scene, points)[0].astype(float)


@dataclass(frozen=True, eq=False)
class _LinearSystem:
    """Weighted linear equations of one ICP round in (x, y, yaw)."""

    rows: np.ndarray
    """Of shape (E, 3)."""
    residuals: np.ndarray
    """Of shape (E,), in metres."""
    weights: np.ndarray
    """Of shape (E,)."""
    cost: float
    """Cost in metres before the round."""


def _icp(
    surface: Surface,
    target: RegistrationTarget,
    at: _RigidTransform,
    matcher: _SampleMatcher | _TriangleMatcher,
    rounds: int,
    kernel_m: float,
) -> tuple[_RigidTransform, float]:
    """Return the best transform of all rounds and its cost. The robust kernel shrinks to a third half-way."""
    best = at, np.inf
    for i in range(rounds):
        system = _linearise(surface, matcher, target, at, kernel_m if i < rounds // 2 else kernel_m / 3)
        if system.cost < best[1]:
            best = at, system.cost
        rows, weights = system.rows, system.weights
        normal = rows.T @ (rows * weights[:, None]) + np.diag([1e-6, 1e-6, 1e-6 * np.ptp(surface.points) ** 2])
        x, y, yaw = np.linalg.solve(normal, rows.T @ (weights * system.residuals))
        rotation = rotation_about_z(min(max(yaw, -0.3), 0.3)) @ at.rotation
        at = _RigidTransform(rotation, at.pos + np.array([x, y, 0]))
        if abs(x) + abs(y) < 2e-6 and abs(yaw) < 2e-5:
            break
    return best


def _linearise(
    surface: Surface,
    matcher: _SampleMatcher | _TriangleMatcher,
    target: RegistrationTarget,
    at: _RigidTransform,
    kernel_m: float,
) -> _LinearSystem:
    """Return the equations of one ICP round and the cost at its start."""
    gaps = matcher.gaps((target.points - at.pos) @ at.rotation) @ at.rotation.T
    visible = surface.points[surface.faces_local_camera(*at.cameras_in_box(target))] @ at.rotation.T + at.pos
    in_front = target.free_space_depth(visible)
    floating = visible[in_front > 0]
    ends, errors = np.vstack([target.points, floating]), gaps
    if len(floating):
        errors = np.vstack([gaps, target.points[target.tree.query(floating)[1]] - floating])

    residuals = np.sqrt(np.einsum("ij,ij->i", errors, errors))
    direction = errors[:, :2] / np.maximum(residuals, 1e-12)[:, None]
    residuals[len(gaps) :] = np.maximum(residuals[len(gaps) :] - surface.spacing, 0)
    weights = 1 / (1 + (residuals / kernel_m) ** 2)
    weights[len(gaps) :] *= 0.5 * len(gaps) / max(len(visible), 1)
    arm = ends[:, :2] - at.pos[:2]
    rows = np.column_stack([direction, direction[:, 1] * arm[:, 0] - direction[:, 0] * arm[:, 1]])
    cost = np.minimum(residuals[: len(gaps)], MAX_ERROR_M).mean() + in_front.mean()
    return _LinearSystem(rows, residuals, weights, float(cost))


def _subsampled(points: np.ndarray, count: int) -> np.ndarray:
    return points[:: max(1, len(points) // count)]
