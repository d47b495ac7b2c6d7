"""One frame as the tracker reads it, and the twin's objects as its camera would see them."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.frame import Frame, Intrinsics
from pipeline.geometry import box_corners, transform
from pipeline.geometry.rays import cast_rays, triangle_scene
from pipeline.scene.placement import Placement, Scene
from pipeline.scene.registration import Surface, load_surface

WIDTH_PX = 320
"""Width at which frames are read: half of what depth cameras deliver; errors are alike among neighbouring pixels."""
COLOUR_BINS = (6, 16, 16)
"""Of lightness and of the two colour axes of CIELAB; lightness changes with an object's turning."""


@dataclass(frozen=True, eq=False)
class View:
    """A frame at about WIDTH_PX, with its camera in the world."""

    depth: np.ndarray
    """Distance along z in metres, of shape (h, w), float32; 0 where unknown."""
    colour_bin: np.ndarray
    """Index of each pixel's colour, of shape (h, w), int."""
    k: Intrinsics
    world_from_camera: np.ndarray

    @staticmethod
    def of_frame(frame: Frame, world_from_camera: np.ndarray, full: bool = False) -> "View":
        """Return every n-th pixel of a frame seen from a camera's pose (4, 4); all of them if `full`."""
        n = 1 if full else max(1, round(frame.intrinsics.width / WIDTH_PX))
        k = frame.intrinsics
        # blurred first: a single pixel's colour is mostly noise of the sensor
        lab = cv2.cvtColor(cv2.blur(frame.rgb, (2 * n - 1, 2 * n - 1))[::n, ::n], cv2.COLOR_RGB2LAB)
        index = [lab[..., c].astype(int) * bins // 256 for c, bins in enumerate(COLOUR_BINS)]
        depth = np.ascontiguousarray(frame.depth[::n, ::n])
        small = Intrinsics(depth.shape[1], depth.shape[0], k.fx / n, k.fy / n, k.cx / n, k.cy / n)
        colour = (index[0] * COLOUR_BINS[1] + index[1]) * COLOUR_BINS[2] + index[2]
        return View(depth, colour, small, np.asarray(world_from_camera, float))

    @cached_property
    def rays(self) -> np.ndarray:
        """Directions through the pixels in camera axes with z = 1, of shape (h, w, 3)."""
        u, v = np.meshgrid(np.arange(self.k.width, dtype=float), np.arange(self.k.height, dtype=float))
        return self.k.ray_directions(u, v)

    @cached_property
    def points(self) -> np.ndarray:
        """Measured points in the world, of shape (h, w, 3); the camera's own position where depth is unknown."""
        return transform(self.world_from_camera, self.rays * self.depth[..., None])

    @cached_property
    def camera_from_world(self) -> np.ndarray:
        return np.linalg.inv(self.world_from_camera)

    def pixels(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return row and column of the pixel of world points (N, 3), and whether it lies in the image, each (N,)."""
        x, y, z = transform(self.camera_from_world, points).T
        z = np.where(z > 1e-3, z, np.inf)
        u, v = np.rint(x / z * self.k.fx + self.k.cx), np.rint(y / z * self.k.fy + self.k.cy)
        inside = (u >= 0) & (u < self.k.width) & (v >= 0) & (v < self.k.height) & np.isfinite(z)
        return np.where(inside, v, 0).astype(int), np.where(inside, u, 0).astype(int), inside

    def ground_depth(self, scene: Scene) -> np.ndarray:
        """Return the depth of the table and of the scene's shelves, of shape (h, w); infinite where there is none."""
        origin, along = self.world_from_camera[:3, 3], self.rays @ self.world_from_camera[:3, :3].T
        depth = np.full(self.depth.shape, np.inf)
        for outline, height in [(None, 0.0), *((s.outline, s.height) for s in scene.shelves)]:
            with np.errstate(divide="ignore", invalid="ignore"):
                t = (height - origin[2]) / along[..., 2]
            hit = np.isfinite(t) & (t > 0)
            if outline is not None:
                at = (origin[:2] + np.where(hit, t, 0)[..., None] * along[..., :2]).astype(np.float32)
                hit &= _inside(outline, at)
            depth = np.where(hit & (t < depth), t, depth)
        return depth


def _inside(outline: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return which points (h, w, 2) lie in a convex outline (N, 2), of shape (h, w)."""
    ends = np.roll(outline, -1, 0)
    sides = [
        (b[0] - a[0]) * (points[..., 1] - a[1]) - (b[1] - a[1]) * (points[..., 0] - a[0])
        for a, b in zip(outline, ends, strict=True)
    ]
    return np.all(np.array(sides) >= 0, 0) | np.all(np.array(sides) <= 0, 0)


class ObjectModel:
    """What the tracker knows of one object: its surface, and the colours that the first frame shows."""

    def __init__(self, placement: Placement):
        """Read the mesh of a placement. Raises SceneError."""
        self.placement, self.name = placement, placement.name
        self.surface: Surface = load_surface(placement.mesh, placement.size)
        self.radius = float(np.linalg.norm(placement.size) / 2)
        self._corners = box_corners(placement.size)
        self._rays = triangle_scene(self.surface.triangles)
        self.tree = KDTree(self.surface.points)
        self.likelihood = np.full(int(np.prod(COLOUR_BINS)), 0.5)
        """Probability that a pixel of a colour shows this object and not something else, of shape (bins,)."""

    def learn_colours(self, view: View, mask: np.ndarray) -> None:
        """Learn how the object's colours differ from all else in a view; `mask` (h, w) shows the object."""
        if mask.sum() < 20:
            return
        own, others = (_histogram(view.colour_bin[m]) for m in (mask, ~mask))
        # 0.002: share of pixels below which a colour says little; one that was not seen at first is more often a
        # hand's or an arm's than another side of the object
        self.likelihood = (own + 0.001) / (own + others + 0.003)

    def render(self, pose: np.ndarray, view: View) -> tuple[tuple[slice, slice], np.ndarray]:
        """Return rows and columns of the picture that may show the object at world_from_object (4, 4), and its depth.

        The depth (rows, columns) is infinite where it is not hit; empty if the object is out of the picture.
        """
        camera_from_object = view.camera_from_world @ pose
        x, y, z = transform(camera_from_object, self._corners).T
        if (z < 0.05).any():
            return np.s_[0:0, 0:0], np.zeros((0, 0))
        u, v = x / z * view.k.fx + view.k.cx, y / z * view.k.fy + view.k.cy
        left, right = int(max(u.min(), 0)), int(min(u.max() + 2, view.k.width))
        top, bottom = int(max(v.min(), 0)), int(min(v.max() + 2, view.k.height))
        if left >= right or top >= bottom:
            return np.s_[0:0, 0:0], np.zeros((0, 0))
        area = np.s_[top:bottom, left:right]
        rotation, at = camera_from_object[:3, :3], camera_from_object[:3, 3]
        directions = view.rays[area].reshape(-1, 3) @ rotation
        hits = cast_rays(self._rays, -rotation.T @ at, directions)
        return area, hits.distance.reshape(bottom - top, right - left).astype(float)


def _histogram(index: np.ndarray) -> np.ndarray:
    """Return the share of each colour, of shape (bins,), with half of it in the neighbouring lightnesses: shadows."""
    counts = np.bincount(index, minlength=int(np.prod(COLOUR_BINS))).reshape(COLOUR_BINS) / max(len(index), 1)
    darker, lighter = np.zeros_like(counts), np.zeros_like(counts)
    darker[:-1], lighter[1:] = counts[1:], counts[:-1]
    return (counts + 0.5 * darker + 0.5 * lighter).ravel()


@dataclass(frozen=True, eq=False)
class Expected:
    """What a camera would measure of the twin."""

    depth: np.ndarray
    """Of shape (h, w); infinite where nothing is expected."""
    label: np.ndarray
    """Number of the object, -1 for table and shelves, of shape (h, w), int."""

    def without(self, number: int, renderings: dict[int, tuple], ground: np.ndarray) -> "Expected":
        """Return what would be measured without one of the objects."""
        return composite({n: r for n, r in renderings.items() if n != number}, ground)


def composite(renderings: dict[int, tuple], ground: np.ndarray) -> Expected:
    """Return the nearest of the ground (h, w) and of the objects' renderings, which are given by their numbers."""
    depth, label = ground.copy(), np.full(ground.shape, -1)
    for number, (area, own) in renderings.items():
        nearer = own < depth[area]
        depth[area][nearer] = own[nearer]
        label[area][nearer] = number
    return Expected(depth, label)
