"""What stands on the table, from depth alone: points above its plane, apart where they are apart seen from above."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from scipy import ndimage

from pipeline.frame import Frame, Intrinsics, Support
from pipeline.frame.planes import noise
from pipeline.geometry import transform
from pipeline.segmentation.edit import at_neck

CELL = 0.005
"""Side in metres of the cells in which the view from above is kept."""
TALL, JOIN = 0.025, 0.03
"""Metres: what stands higher is told apart first; what is lower joins it up to this far away."""
STEEPEST = 8.0
"""Change of depth over three pixels, in pixels' widths, above which a point hangs between two things."""
TALLEST, WIDEST = 0.5, 0.6
"""Metres; what is larger is furniture or a robot."""
LEAST = 60
"""Pixels at working size; what has fewer is noise."""
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
    focal: float
    """In pixels of working size."""
    polygon: np.ndarray
    """The table's outline, of shape (N, 2), world x and y."""
    picture: np.ndarray
    """Colour at the frame's own size, of shape (H, W, 3), uint8: where edges are drawn."""
    right: np.ndarray
    """The camera's right along the table, a unit vector in world axes, of shape (3,)."""

    @cached_property
    def known(self) -> np.ndarray:
        return self.depth > 0

    @cached_property
    def steep(self) -> np.ndarray:
        """Pixels on a step in depth, whose points hang in the air between two things; of shape (h, w), bool."""
        far = np.where(self.known, self.depth, 0).astype(np.float32)
        near = np.where(self.known, self.depth, 1e3).astype(np.float32)
        kernel = np.ones((3, 3), np.uint8)
        return self.known & (
            cv2.dilate(far, kernel) - cv2.erode(near, kernel)
            > 0.003 + 0.002 * self.depth**2 + STEEPEST * self.depth / self.focal
        )

    @cached_property
    def above(self) -> np.ndarray:
        """Pixels surely above the table's plane, of shape (h, w), bool."""
        z = self.points[..., 2]
        return (z > np.maximum(0.006, noise(self.depth))) & (z < TALLEST)

    @cached_property
    def on_table(self) -> np.ndarray:
        """Pixels whose point lies over the seen table, or 3 cm beside it; of shape (h, w), bool."""
        centre = self.polygon.mean(0)
        return inside_polygon(
            self.points[..., :2], centre + (self.polygon - centre) * (1 + 0.03 / _reach(self.polygon))
        )


def heights(frame: Frame, support: Support) -> Heights:
    """The frame at working size, in world axes."""
    step = max(1, round(frame.depth.shape[1] / WORKING_WIDTH))
    k = frame.intrinsics
    depth = np.ascontiguousarray(frame.depth[::step, ::step])
    h, w = depth.shape
    small = Intrinsics(w, h, k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    points = Frame(frame.rgb[:1, :1], depth, small).points
    rgb = frame.rgb if step == 1 else cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)
    world = transform(support.world_from_camera.astype(np.float32), points)
    right = support.world_from_camera[:3, 0] * [1, 1, 0]
    right = right / np.linalg.norm(right) if np.linalg.norm(right) > 0.1 else np.array([1.0, 0, 0])
    return Heights(rgb, world, depth, step, small.fx, support.polygon, frame.rgb, right)


def standing(view: Heights) -> list[np.ndarray]:
    """A mask of shape (h, w), bool, for each thing that stands on the table; rough at its edges, largest first."""
    solid = view.above & ~view.steep
    labels, count = from_above(view.points, solid & view.on_table)
    everywhere, _ = from_above(view.points, solid)
    grown = np.bincount(everywhere[everywhere > 0], minlength=1)
    masks = []
    for label in np.flatnonzero(np.bincount(labels.ravel(), minlength=count + 1)[1:] >= LEAST) + 1:
        mask = labels == label
        if is_thing(view, mask) and grown[np.bincount(everywhere[mask]).argmax()] < 4 * mask.sum():
            masks.append(completed(view, mask))
    return [part for mask in joined(view, masks) for part in apart(view, mask)]


def apart(view: Heights, mask: np.ndarray) -> list[np.ndarray]:
    """The things that hang together in a mask by narrow necks, where each of them stands on the table by itself."""
    window = crop(mask, 2)
    if mask.sum() > 0.97 * image_hull(mask[window]).sum():
        return [mask]
    filled = holes_filled(cv2.morphologyEx(mask[window].astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)))
    parts = []
    for part in at_neck(filled):
        whole = np.zeros_like(mask)
        whole[window] = part
        whole &= mask
        parts.append(whole)
    if len(parts) < 2 or not all(_stands(view, part) for part in parts):
        return [mask]
    return [piece for part in parts for piece in apart(view, part)]


def _stands(view: Heights, mask: np.ndarray) -> bool:
    heights = view.points[mask & view.above][:, 2]
    return len(heights) > 60 and np.percentile(heights, 5) < 0.02 and np.percentile(heights, 95) > 0.03


def joined(
    view: Heights, masks: list[np.ndarray], may: Callable[[np.ndarray, np.ndarray], bool] | None = None
) -> list[np.ndarray]:
    """The masks with the parts of one thing put together (a bowl's two walls) where they `may` be, largest first."""
    masks = sorted(masks, key=np.count_nonzero, reverse=True)
    whole: list[np.ndarray] = []
    for mask in masks:
        homes = (i for i, other in enumerate(whole) if belong_together(view, other, mask))
        home = next((i for i in homes if may is None or may(whole[i], mask)), None)
        if home is None:
            whole.append(mask)
        else:
            whole[home] = completed(view, whole[home] | mask)
    return whole


def belong_together(view: Heights, large: np.ndarray, small: np.ndarray) -> bool:
    """Whether two masks are one thing: one inside the other, or of one colour and convex together seen from above."""
    if np.count_nonzero(large & small) > 0.5 * np.count_nonzero(small):
        return True
    if not (cv2.dilate(large.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0)[small].any():
        return False
    if small.sum() < 0.1 * large.sum() and (image_hull(large) & small).sum() > 0.5 * small.sum():
        return True  # a flake of it, cut off by a hole in depth
    if not ((large & view.known).any() and (small & view.known).any()):
        return False
    lab = [
        np.median(cv2.cvtColor(view.rgb[part][None], cv2.COLOR_RGB2LAB)[0], 0).astype(float) for part in (large, small)
    ]
    tops = [np.percentile(view.points[part & view.known][:, 2], 97) for part in (large, small)]
    alike = np.linalg.norm((lab[0] - lab[1])[1:]) < 20 and abs(lab[0] - lab[1])[0] < 60
    if not alike or min(tops) < 0.6 * max(tops):
        return False
    areas = [_ground_area(view, part) for part in (large, small, large | small)]
    return areas[2] < 1.25 * (areas[0] + areas[1])


def _ground_area(view: Heights, mask: np.ndarray) -> float:
    return cv2.contourArea(cv2.convexHull(view.points[mask & view.known][:, :2].astype(np.float32)))


def from_above(points: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Label the pixels of a mask (h, w) so that those apart on the ground are apart: labels (h, w), and how many.

    Tall parts are labelled first and low ones join the nearest: what bleeds between things in depth is low.
    """
    labels = np.zeros(mask.shape, int)
    if not mask.any():
        return labels, 0
    cells = _cells(points[mask][:, :2])
    tall = points[mask][:, 2] > TALL
    high, count = _islands(cells[tall], cells.max(0) + 3)
    low, lows = _islands(cells[~tall], cells.max(0) + 3)
    nearest = np.asarray(ndimage.distance_transform_edt(high == 0, return_distances=False, return_indices=True))
    gap = np.linalg.norm(nearest - np.indices(high.shape), axis=0)
    joined = np.where(gap * CELL <= JOIN, high[tuple(nearest)], 0)
    alone = np.ones(lows + 1, bool)
    alone[np.unique(low[(joined > 0) & (low > 0)])] = False
    merged = np.where((low > 0) & alone[low], count + low, np.where((high > 0), high, joined))
    labels[mask] = merged[tuple(cells.T)]
    return labels, count + lows


def _islands(cells: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, int]:
    """Label the cells (N, 2) of a grid that hang together: labels of the grid's shape, int, and how many."""
    filled = np.zeros(shape, np.uint8)
    np.add.at(filled, tuple(cells.T), 1)
    count, grid = cv2.connectedComponents(cv2.dilate((filled >= 2).astype(np.uint8), np.ones((3, 3), np.uint8)))
    return grid, count - 1


def ring_filled(ground: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Pixels (h, w) whose ground point, of shape (h, w, 2), lies on what `own` covers or encloses, seen from above."""
    if not own.any():
        return own
    cells = _cells(ground[own])
    corner = np.floor(ground[own].min(0) / CELL)
    covered = np.zeros(cells.max(0) + 9, np.uint8)
    covered[tuple((cells + 3).T)] = 1
    covered = cv2.morphologyEx(covered, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7)))
    covered = holes_filled(covered)
    at = np.nan_to_num(np.floor(ground / CELL) - corner + 4, nan=-1)
    inside = ((at >= 0) & (at < covered.shape)).all(-1)
    rows, cols = np.where(inside, at[..., 0], 0).astype(int), np.where(inside, at[..., 1], 0).astype(int)
    return inside & covered[rows, cols]


def _cells(ground: np.ndarray) -> np.ndarray:
    cells = np.floor(ground / CELL)
    return np.clip(cells - np.floor(ground.min(0) / CELL) + 1, 0, 4000).astype(int)


def is_thing(view: Heights, mask: np.ndarray) -> bool:
    """Large enough to be more than noise, small enough to be carried, and not hanging from a robot or a wall."""
    points = view.points[mask & view.known]
    if len(points) < LEAST:
        return False
    low, high = np.percentile(points, (3, 97), axis=0)
    extent, tall = high - low, high[2]
    carried = 0.012 < extent[:2].max() < WIDEST and extent[:2].min() > 0.004 and low[2] < 0.12
    sure = tall > (0.01 if len(points) > 600 else 0.016) and tall > 1.6 * float(noise(np.median(view.depth[mask])))
    return bool(carried and sure and (tall > 0.03 or _compact(mask)))


def _compact(mask: np.ndarray) -> bool:
    """Low things are either flat boxes, which fill their outline, or the table's own unevenness, which does not."""
    return bool(mask.sum() > 0.5 * image_hull(mask).sum())


def completed(view: Heights, mask: np.ndarray) -> np.ndarray:
    """The mask with what depth alone misses: a bowl's bottom at table height, holes in depth, its own steep edges."""
    whole, window = mask.copy(), crop(mask, 8)
    mask, points = mask[window], view.points[window]
    top = np.percentile(points[mask][:, 2], 98)
    around = cv2.dilate(mask.astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
    rim = around & view.above[window] & (points[..., 2] > 0.4 * top)
    mask = mask | (image_hull(mask) & (points[..., 2] < 0.6 * top) & ring_filled(points[..., :2], rim))
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)) > 0
    enclosed = holes_filled(closed)
    whole[window] = mask | (closed & view.steep[window]) | (enclosed & ~view.known[window])
    return whole


def doubtful(view: Heights, mask: np.ndarray, window: tuple[slice, slice]) -> np.ndarray:
    """What may belong to a thing for all that depth says: between its parts, on its own ground.

    The thing's mask is of shape (h, w); what is returned is a mask of the window, which holds all of the thing.
    """
    mask, ground, known = mask[window], view.points[window][..., :2], view.known[window]
    if not (mask & known).any():
        return image_hull(mask) & ~mask & ~known
    hull = cv2.convexHull(ground[mask & known].astype(np.float32))[:, 0]
    return image_hull(mask) & ~mask & (inside_polygon(ground, hull) | ~known)


def holes_filled(mask: np.ndarray) -> np.ndarray:
    """A mask (h, w), bool or uint8, with what it encloses, bool; scipy's binary_fill_holes in a tenth of the time."""
    _, labels = cv2.connectedComponents(np.pad(mask == 0, 1, constant_values=True).astype(np.uint8), connectivity=4)
    return (labels != labels[0, 0])[1:-1, 1:-1]


def image_hull(mask: np.ndarray) -> np.ndarray:
    """The convex outline of a mask (h, w), filled."""
    outline = cv2.convexHull(cv2.findNonZero(mask.astype(np.uint8)))
    return cv2.fillConvexPoly(np.zeros(mask.shape, np.uint8), outline, 1) > 0


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


def crop(mask: np.ndarray, margin: int) -> tuple[slice, slice]:
    """The mask's bounding box with a margin in pixels, inside the image."""
    rows, cols = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return (
        slice(max(0, rows[0] - margin), rows[-1] + 1 + margin),
        slice(max(0, cols[0] - margin), cols[-1] + 1 + margin),
    )
