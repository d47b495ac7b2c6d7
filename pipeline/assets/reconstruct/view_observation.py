"""Observes one object's surface in its views: where it was measured, and where a camera saw past it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np
import trimesh

from pipeline.description import Attributes
from pipeline.frame import Frame, FurtherView, Support
from pipeline.frame.depth_values import flying_pixels
from pipeline.frame.plane_extraction import depth_noise
from pipeline.geometry import bounding_box, rotation_about_z, transform
from pipeline.geometry.rays import cast_rays, raycasting_scene
from pipeline.segmentation import Segment

MAX_POINTS = 350
"""Points of one view that shapes are fitted to."""
MIN_POINTS = 60
"""Points below which no shape is fitted."""
GRAZING_COSINE = 0.12
"""Cosine between a face's normal and its ray to the camera below which the face counts as unseen."""
MAX_RAY_ERROR_M = 0.02
"""Cap of the error of one ray."""

RayHits = tuple[np.ndarray, np.ndarray]
"""Distance along each ray, shape (N,), infinite without a hit, and normals in world axes, shape (N, 3)."""


@dataclass(frozen=True, eq=False)
class SurfaceObservation:
    """Rays and points of one object from one camera, in world axes and metres, with what further cameras saw of it."""

    camera_position: np.ndarray
    """Shape (3,)."""
    rays: np.ndarray
    """Directions from the camera, of depth 1 m along its axis, shape (N, 3)."""
    depth: np.ndarray
    """Measured along each ray, shape (N,); 0 where unknown."""
    in_mask: np.ndarray
    """Whether a ray is well inside the mask, shape (N,), bool; the others are well outside."""
    surface_points: np.ndarray
    """All points that this camera measured on the object's surface, shape (M, 3)."""
    point_spacing: float
    """Distance between neighbouring points where the surface faces the camera."""
    bottom_z: float
    """Height of the object's bottom."""
    noise_floor: float
    """Error of a perfect shape, due to the camera's noise."""
    others: tuple["SurfaceObservation", ...] = ()
    """The same object from further cameras."""

    @property
    def views(self) -> tuple["SurfaceObservation", ...]:
        """This observation and the others."""
        return (self, *self.others)

    @property
    def has_enough_points(self) -> bool:
        return len(self.points) >= MIN_POINTS

    @cached_property
    def points(self) -> np.ndarray:
        """At most about MAX_POINTS of the surface points of each view, shape (K, 3)."""
        return np.concatenate([view._own_points for view in self.views])

    @property
    def _own_points(self) -> np.ndarray:
        return self.surface_points[:: max(1, len(self.surface_points) // MAX_POINTS)]

    @cached_property
    def all_surface_points(self) -> np.ndarray:
        """The surface points of all views, shape (M, 3)."""
        return np.concatenate([view.surface_points for view in self.views])

    @property
    def sees_far_side(self) -> bool:
        """Whether a further camera stands on the other side of the object, seen from above."""
        middle = self.points.mean(0) if len(self.points) else np.zeros(3)
        ours = (self.camera_position - middle)[:2]
        return any(float(ours @ (view.camera_position - middle)[:2]) < 0 for view in self.others)

    @cached_property
    def top_z(self) -> float:
        """Height of the object's top."""
        return max(float(np.quantile(self.points[:, 2], 0.99)), self.bottom_z + 0.004)

    @cached_property
    def normals(self) -> np.ndarray:
        """Surface normals at `points`, towards the camera that measured each, shape (K, 3)."""
        return np.concatenate([view._own_normals() for view in self.views])

    def _own_normals(self) -> np.ndarray:
        import open3d  # takes a second: not at start-up

        if not len(self._own_points):
            return np.zeros((0, 3))
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(self._own_points))
        cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(24))
        cloud.orient_normals_towards_camera_location(self.camera_position)
        return np.asarray(cloud.normals)

    def mesh_error(self, mesh: trimesh.Trimesh) -> float:
        """Return the mean error of a mesh over the rays of all views, in metres."""
        return self.mean_ray_error(lambda view: view.cast_rays(mesh.vertices, mesh.faces, view.rays))

    def cast_rays(self, vertices: np.ndarray, faces: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where rays (N, 3) from the camera first hit a mesh, in ray lengths (N,), and the normals (N, 3).

        Infinite without a hit.
        """
        hits = cast_rays(raycasting_scene([(vertices - self.camera_position, faces)]), np.zeros(3), rays)
        return hits.distance.astype(float), hits.normal.astype(float)

    def mean_ray_error(self, hits: Callable[["SurfaceObservation"], RayHits]) -> float:
        """Return the mean error in metres of a shape, given where the rays of each view hit it.

        Errors are measured along the normal. A ray that should hit and misses, or hits in front of what the camera saw,
        costs up to MAX_RAY_ERROR_M.
        """
        errors = [view._ray_error(*hits(view)) for view in self.views]
        return sum(error for error, _ in errors) / max(sum(count for _, count in errors), 1)

    def _ray_error(self, along: np.ndarray, normals: np.ndarray) -> tuple[float, int]:
        """Return the sum of the errors of this view's rays and the number of rays that should hit."""
        hit, known = np.isfinite(along), self.depth > 0
        along = np.where(hit, along, 0)
        slant = np.abs(np.einsum("nk,nk->n", normals, self.rays)).clip(0.05)
        error = np.where(hit, np.abs(along - self.depth) * slant, MAX_RAY_ERROR_M).clip(0, MAX_RAY_ERROR_M)
        inside = np.where(known, error, np.where(hit, 0, MAX_RAY_ERROR_M / 2))[self.in_mask]
        # 0.004: distance in front of the measured depth that noise may explain
        outside = np.where(hit & known, self.depth - along - 0.004, 0).clip(0, MAX_RAY_ERROR_M)[~self.in_mask]
        return float(inside.sum() + outside.sum()), len(inside)

    def visible_faces(self, mesh: trimesh.Trimesh) -> np.ndarray:
        """Return which faces this camera sees, shape (F,), bool: not back-facing and not occluded."""
        rays = mesh.triangles_center - self.camera_position
        facing = np.einsum("fk,fk->f", mesh.face_normals, rays) < -GRAZING_COSINE * np.linalg.norm(rays, axis=1)
        along, _ = self.cast_rays(mesh.vertices, mesh.faces, rays)
        return facing & (along > 0.985)


def observe_surface(
    frame: Frame, support: Support, segment: Segment, attributes: Attributes, views: Sequence[FurtherView] = ()
) -> SurfaceObservation:
    """Return the rays in and around a segment, and its points without flying pixels at its edge.

    Of further views those of `views_of` count.
    """
    found = _observe(frame, support.world_from_camera, segment.mask, attributes)
    others = (
        _observe(view.frame, view.world_from_camera, view.mask(segment.id), attributes)
        for view in views_of(segment, views)
    )
    return replace(found, others=tuple(others))


def views_of(segment: Segment, views: Sequence[FurtherView]) -> tuple[FurtherView, ...]:
    """Return the further views that show enough of a segment's object."""
    return tuple(view for view in views if (view.mask(segment.id) & (view.frame.depth > 0)).sum() > 2 * MIN_POINTS)


def _observe(
    frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, attributes: Attributes
) -> SurfaceObservation:
    inner, outside = _inner_and_outer(mask)
    rows, columns = _ray_grid(mask)
    rows, columns = (g.ravel() for g in np.meshgrid(rows, columns, indexing="ij"))
    used = inner[rows, columns] | outside[rows, columns]
    rows, columns = rows[used], columns[used]
    k = frame.intrinsics
    rays = k.ray_directions(columns, rows)
    points, depths = _surface_points(frame, world_from_camera, inner, attributes)
    bottom = float(attributes.centre[2] - attributes.size[2] / 2)
    return SurfaceObservation(
        world_from_camera[:3, 3],
        rays @ world_from_camera[:3, :3].T,
        frame.depth[rows, columns].astype(float),
        inner[rows, columns],
        points,
        float(np.median(depths)) / k.fx if len(depths) else 0.002,
        bottom,
        0.5 * float(np.median(depth_noise(depths))) if len(depths) else 0.001,
    )


def _inner_and_outer(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels well inside a mask and well outside it, shape (H, W), bool: its edge is exact to a pixel."""
    pixels = mask.astype(np.uint8)
    inner = cv2.erode(pixels, np.ones((3, 3), np.uint8), borderValue=0).astype(bool)
    inner = inner if inner.sum() > 100 else mask
    return inner, ~cv2.dilate(pixels, np.ones((5, 5), np.uint8)).astype(bool)


def _ray_grid(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the grid of rays in and around a mask."""
    box = bounding_box(mask)
    spans = []
    for low, high, limit in ((box.top, box.bottom, mask.shape[0]), (box.left, box.right, mask.shape[1])):
        # 0.2: margin around the mask that also gets rays, over the mask's extent
        margin = int(0.2 * (high - low)) + 6
        spans.append((max(0, low - margin), min(limit, high + margin)))
    area = np.prod([high - low for low, high in spans])
    # Rays that a shape is compared with
    step = max(1, int(np.ceil(np.sqrt(area / 2500))))
    (top, bottom), (left, right) = spans
    return np.arange(top, bottom, step), np.arange(left, right, step)


def _surface_points(
    frame: Frame, world_from_camera: np.ndarray, inner: np.ndarray, attributes: Attributes
) -> tuple[np.ndarray, np.ndarray]:
    """Return measured points (M, 3) in world axes within the described box, and their depths (M,)."""
    depth = np.where(inner, frame.depth, 0)
    solid = (depth > 0) & ~flying_pixels(depth, frame.intrinsics.fx)
    solid = solid if solid.sum() > MIN_POINTS else depth > 0
    points = transform(world_from_camera, frame.points[solid].astype(float))
    local = (points - attributes.centre) @ rotation_about_z(attributes.yaw)
    inside = (np.abs(local) < 0.6 * attributes.size + 0.01).all(axis=1)
    inside &= points[:, 2] > attributes.centre[2] - attributes.size[2] / 2 + 0.003
    return points[inside], depth[solid][inside]
