"""What stands on the table, from depth alone: points above its plane, apart where they are apart seen from above."""

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from scipy import ndimage

from pipeline.frame import Frame, Intrinsics, Support
from pipeline.frame.planes import noise
from pipeline.geometry import transform

CELL = 0.005
"""Side in metres of the cells in which the view from above is kept."""
TALLEST, WIDEST = 0.5, 0.6
"""Metres; what is larger is furniture or a robot."""
WORKING_WIDTH = 640
"""Pixels; depth cameras resolve no more, whatever the picture's size."""


@dataclass(frozen=True, eq=False)
class Heights:
    """A frame at working size, in world axes."""

    rgb: np.ndarray
    """Of shape (h, w, 3), uint8."""
    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32, NaN where depth is unknown."""
    depth: np.ndarray
    """In metres, of shape (h, w), 0 unknown."""
    step: int
    """Pixels of the frame to one of these."""
    polygon: np.ndarray
    """The table's outline, of shape (N, 2), world x and y."""

    @cached_property
    def known(self) -> np.ndarray:
        return self.depth > 0

    @cached_property
    def steep(self) -> np.ndarray:
        """Pixels on a step in depth, whose points hang in the air between two things; of shape (h, w), bool."""
        far = np.where(self.known, self.depth, 0).astype(np.float32)
        near = np.where(self.known, self.depth, 1e3).astype(np.float32)
        kernel = np.ones((3, 3), np.uint8)
        return self.known & (cv2.dilate(far, kernel) - cv2.erode(near, kernel) > 0.008 + 0.02 * self.depth)

    @cached_property
    def above(self) -> np.ndarray:
        """Pixels surely above the table's plane, of shape (h, w), bool."""
        z = self.points[..., 2]
        return (z > np.maximum(0.006, noise(self.depth))) & (z < TALLEST)

    @cached_property
    def on_table(self) -> np.ndarray:
        """Pixels whose point lies over the seen table, or 3 cm beside it; of shape (h, w), bool."""
        centre = self.polygon.mean(0)
        return inside_polygon(self.points[..., :2], centre + (self.polygon - centre) * (1 + 0.03 / _reach(self.polygon)))


def heights(frame: Frame, support: Support) -> Heights:
    """The frame at working size, in world axes."""
    step = max(1, round(frame.depth.shape[1] / WORKING_WIDTH))
    k = frame.intrinsics
    depth = np.ascontiguousarray(frame.depth[::step, ::step])
    h, w = depth.shape
    small = Intrinsics(w, h, k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    points = Frame(frame.rgb[:1, :1], depth, small).points
    rgb = frame.rgb if step == 1 else cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    return Heights(rgb, transform(support.world_from_camera.astype(np.float32), points), depth, step, support.polygon)


def standing(view: Heights) -> list[np.ndarray]:
    """A mask of shape (h, w), bool, for each thing that stands on the table; rough at its edges, largest first."""
    solid = view.above & ~view.steep
    labels, count = from_above(view.points, solid & view.on_table)
    everywhere, _ = from_above(view.points, solid)
    grown = np.bincount(everywhere[everywhere > 0], minlength=1)
    masks = []
    for label in range(1, count + 1):
        mask = labels == label
        whole = grown[np.bincount(everywhere[mask]).argmax()]
        if is_thing(view, mask) and whole < 4 * mask.sum():
            masks.append(completed(view, mask))
    return sorted(masks, key=np.count_nonzero, reverse=True)


def from_above(points: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Label the pixels of a mask (h, w) so that those apart on the ground are apart: labels (h, w) int, and how many."""
    labels = np.zeros(mask.shape, int)
    ground = points[mask][:, :2]
    if not len(ground):
        return labels, 0
    cells = np.floor((ground - ground.min(0)) / CELL).astype(int) + 1
    extent = cells.max(0) + 2
    if extent.max() > 4000:
        return labels, 0
    filled = np.zeros(extent, np.uint8)
    np.add.at(filled, tuple(cells.T), 1)
    close = cv2.dilate((filled >= 2).astype(np.uint8), np.ones((3, 3), np.uint8))
    count, grid = cv2.connectedComponents(close)
    labels[mask] = grid[tuple(cells.T)]
    return labels, count - 1


def is_thing(view: Heights, mask: np.ndarray) -> bool:
    """Large enough to be more than noise, small enough to be carried."""
    points = view.points[mask & view.known]
    if len(points) < 60:
        return False
    extent = np.percentile(points, 98, axis=0) - np.percentile(points, 2, axis=0)
    tall = np.percentile(points[:, 2], 95)
    return bool(0.012 < extent[:2].max() < WIDEST and extent[:2].min() > 0.004 and tall > 0.01)


def completed(view: Heights, mask: np.ndarray) -> np.ndarray:
    """The mask with what depth alone misses: a bowl's bottom at table height, holes in depth, its own steep edges."""
    ground = view.points[..., :2]
    hull = cv2.convexHull(ground[mask].astype(np.float32))[:, 0]
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)) > 0
    enclosed = ndimage.binary_fill_holes(closed) & ~mask
    own = inside_polygon(ground, hull) | ~view.known
    return mask | (enclosed & own)


def inside_polygon(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Whether points of shape (..., 2) lie in a convex polygon (N, 2), of shape (...); False for NaN."""
    x, y = polygon.T
    turn = 1 if x @ np.roll(y, -1) - y @ np.roll(x, -1) > 0 else -1
    inside = np.ones(points.shape[:-1], bool)
    for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        edge = turn * (b - a)
        inside &= edge[0] * (points[..., 1] - a[1]) - edge[1] * (points[..., 0] - a[0]) >= 0
    return inside


def _reach(polygon: np.ndarray) -> float:
    return float(np.linalg.norm(polygon - polygon.mean(0), axis=1).mean())
