"""What one view says of one thing: where its surface was measured, and where the camera saw past it."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
import trimesh

from pipeline.description import Attributes
from pipeline.frame import Frame, Support
from pipeline.frame.planes import noise
from pipeline.geometry import transform
from pipeline.segmentation import Segment

RAYS = 2500
"""Rays that a shape is asked about, at most."""
POINTS = 350
"""Points that shapes are fitted to, at most."""
ENOUGH = 60
"""Points below which nothing is fitted."""
CAP = 0.02
"""Metres beyond which one ray's error counts no more."""
SLACK = 0.004
"""Metres in front of the measured depth that noise may explain."""
MARGIN = 0.2
"""Share of the mask's extent around it that is asked about, too."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """All in world axes and metres."""

    eye: np.ndarray
    """Of shape (3,)."""
    rays: np.ndarray
    """Directions from the eye, one metre deep along the camera's axis, of shape (N, 3)."""
    depth: np.ndarray
    """Measured along each ray, of shape (N,); 0 where unknown."""
    own: np.ndarray
    """Whether the ray is well inside the mask, of shape (N,), bool; the others are well outside."""
    dense: np.ndarray
    """All points measured on the thing's surface, of shape (M, 3)."""
    spacing: float
    """Metres between neighbouring ones, about, where the surface faces the camera."""
    bottom: float
    """Height that it rests at."""
    floor: float
    """What a perfect shape would miss by: the camera's noise."""

    @property
    def enough(self) -> bool:
        return len(self.points) >= ENOUGH

    @cached_property
    def points(self) -> np.ndarray:
        """Some of them, POINTS at most."""
        return self.dense[:: max(1, len(self.dense) // POINTS)]

    @cached_property
    def top(self) -> float:
        return max(float(np.quantile(self.points[:, 2], 0.99)), self.bottom + 0.004)

    @cached_property
    def normals(self) -> np.ndarray:
        """Of the surface at the points, towards the eye, of shape (M, 3)."""
        import open3d  # takes a second: not at start-up

        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(self.points))
        cloud.estimate_normals(open3d.geometry.KDTreeSearchParamKNN(24))
        cloud.orient_normals_towards_camera_location(self.eye)
        return np.asarray(cloud.normals)

    def misfit(self, mesh: trimesh.Trimesh) -> float:
        """Mean error in metres of a shape over the thing's rays."""
        return self.error(*self.cast(mesh.vertices, mesh.faces, self.rays))

    def cast(self, vertices: np.ndarray, faces: np.ndarray, rays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where rays (N, 3) from the eye first meet a mesh, in their own lengths, (N,), and its normals there, (N, 3).

        Infinite where they miss it.
        """
        import open3d

        scene: open3d.t.geometry.RaycastingScene = open3d.t.geometry.RaycastingScene()
        corners, indices = np.ascontiguousarray(vertices - self.eye, np.float32), np.ascontiguousarray(faces, np.uint32)
        scene.add_triangles(open3d.core.Tensor.from_numpy(corners), open3d.core.Tensor.from_numpy(indices))
        asked = np.hstack([np.zeros_like(rays), rays]).astype(np.float32)
        answer = scene.cast_rays(open3d.core.Tensor.from_numpy(asked))
        return answer["t_hit"].numpy().astype(float), answer["primitive_normals"].numpy().astype(float)

    def error(self, along: np.ndarray, normals: np.ndarray) -> float:
        """The same of where the rays meet a shape, (N,), infinite where they do not, and its normals there, (N, 3).

        Errors count along the surface's normal. A ray that should hit and does not, or hits what the camera saw
        through, costs up to CAP.
        """
        hit, known = np.isfinite(along), self.depth > 0
        along = np.where(hit, along, 0)
        slant = np.abs(np.einsum("nk,nk->n", normals, self.rays)).clip(0.05)
        off = np.where(hit, np.abs(along - self.depth) * slant, CAP).clip(0, CAP)
        own = np.where(known, off, np.where(hit, 0, CAP / 2))[self.own]
        through = np.where(hit & known, self.depth - along - SLACK, 0).clip(0, CAP)[~self.own]
        return float((own.sum() + through.sum()) / max(len(own), 1))

    def seen(self, mesh: trimesh.Trimesh) -> np.ndarray:
        """Which faces of a shape the camera sees, of shape (F,), bool: they face it, and the ray meets them first."""
        middles = mesh.triangles_center
        ahead = middles - self.eye
        facing = np.einsum("fk,fk->f", mesh.face_normals, ahead) < -0.12 * np.linalg.norm(ahead, axis=1)
        along, _ = self.cast(mesh.vertices, mesh.faces, ahead)
        return facing & (along > 0.985)


def gather(frame: Frame, support: Support, segment: Segment, attributes: Attributes) -> Evidence:
    """The rays in and around a segment, and its points without what bled in at its edge."""
    own, outside = _told_apart(segment.mask)
    rows, columns = _asked(segment.mask)
    rows, columns = (g.ravel() for g in np.meshgrid(rows, columns, indexing="ij"))
    counts = own[rows, columns] | outside[rows, columns]
    rows, columns = rows[counts], columns[counts]
    k, world_from_camera = frame.intrinsics, support.world_from_camera
    rays = np.stack([(columns - k.cx) / k.fx, (rows - k.cy) / k.fy, np.ones(len(rows))], 1)
    points, depths = _points(frame, support, own, attributes)
    bottom = float(attributes.centre[2] - attributes.size[2] / 2)
    return Evidence(
        world_from_camera[:3, 3],
        rays @ world_from_camera[:3, :3].T,
        frame.depth[rows, columns].astype(float),
        own[rows, columns],
        points,
        float(np.median(depths)) / k.fx if len(depths) else 0.002,
        bottom,
        0.5 * float(np.median(noise(depths))) if len(depths) else 0.001,
    )


def _told_apart(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pixels well inside a mask and well outside it, each of shape (H, W), bool: its edge is known to a pixel."""
    whole = mask.astype(np.uint8)
    inner = cv2.erode(whole, np.ones((3, 3), np.uint8), borderValue=0).astype(bool)
    inner = inner if inner.sum() > 100 else mask
    return inner, ~cv2.dilate(whole, np.ones((5, 5), np.uint8)).astype(bool)


def _asked(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the grid of rays in and around a mask."""
    ys, xs = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    spans = []
    for low, high, limit in ((ys[0], ys[-1] + 1, mask.shape[0]), (xs[0], xs[-1] + 1, mask.shape[1])):
        margin = int(MARGIN * (high - low)) + 6
        spans.append((max(0, low - margin), min(limit, high + margin)))
    area = np.prod([high - low for low, high in spans])
    step = max(1, int(np.ceil(np.sqrt(area / RAYS))))
    (top, foot), (left, right) = spans
    return np.arange(top, foot, step), np.arange(left, right, step)


def _points(frame: Frame, support: Support, own: np.ndarray, attributes: Attributes) -> tuple[np.ndarray, np.ndarray]:
    """Measured points (M, 3) in world axes within the described box, and their depths (M,)."""
    depth = np.where(own, frame.depth, 0)
    far = cv2.dilate(depth, np.ones((3, 3), np.uint8))
    near = cv2.erode(np.where(depth > 0, depth, 1e3).astype(np.float32), np.ones((3, 3), np.uint8))
    solid = (depth > 0) & (far - near < 0.004 + 0.002 * depth**2 + 8 * depth / frame.intrinsics.fx)
    solid = solid if solid.sum() > ENOUGH else depth > 0
    points = transform(support.world_from_camera, frame.points[solid].astype(float))
    c, s = np.cos(attributes.yaw), np.sin(attributes.yaw)
    local = (points - attributes.centre) @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    inside = (np.abs(local) < 0.6 * attributes.size + 0.01).all(axis=1)
    inside &= points[:, 2] > attributes.centre[2] - attributes.size[2] / 2 + 0.003
    return points[inside], depth[solid][inside]
