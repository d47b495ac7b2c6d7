"""Propose objects from depth alone: clusters of points above the table that are separate when viewed from above."""

from collections.abc import Callable

import cv2
import numpy as np
from scipy import ndimage

from pipeline.frame.plane_extraction import depth_noise
from pipeline.geometry import inside_polygon
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.edit import split_at_neck
from pipeline.segmentation.mask_operations import (
    MAX_WIDTH,
    convex_hull,
    fill_holes,
    hull_area,
    join_greedily,
    padded_window,
)

GROUND_CELL = 0.005
"""Side in metres of the cells of the grid on the ground."""
TALL, MAX_GAP = 0.025, 0.03
"""Metres: height from which points are clustered first, and the distance up to which lower points join a cluster."""
MIN_PIXELS = 60
"""At working size; smaller regions are noise."""


def object_proposals(view: HeightMap) -> list[np.ndarray]:
    """Return a mask of shape (h, w), bool, for each object on the table, rough at its edges, largest first."""
    solid = view.above & ~view.flying
    labels, count = _label_clusters(view, solid & view.on_table)
    unbounded, _ = _label_clusters(view, solid)
    unbounded_sizes = np.bincount(unbounded[unbounded > 0], minlength=1)
    masks = []
    for label in np.flatnonzero(np.bincount(labels.ravel(), minlength=count + 1)[1:] >= MIN_PIXELS) + 1:
        mask = labels == label
        if is_object(view, mask) and unbounded_sizes[np.bincount(unbounded[mask]).argmax()] < 4 * mask.sum():
            masks.append(_complete_mask(view, mask))
    return [part for mask in join_fragments(view, masks) for part in _split_touching(view, mask)]


def _label_clusters(view: HeightMap, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Label the clusters of a mask (h, w) on each surface, as `_label_ground_clusters` does."""
    labels, count = np.zeros(mask.shape, int), 0
    for part in view.by_surface(mask):
        own, number = _label_ground_clusters(view.points, part)
        labels[own > 0] = own[own > 0] + count
        count += number
    return labels, count


def _split_touching(view: HeightMap, mask: np.ndarray) -> list[np.ndarray]:
    """Split a mask at its narrow necks if every part stands on the table by itself."""
    window = padded_window(mask, 2)
    if mask.sum() > 0.97 * convex_hull(mask[window]).sum():
        return [mask]
    filled = fill_holes(cv2.morphologyEx(mask[window].astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)))
    parts = []
    for part in split_at_neck(filled):
        full = np.zeros_like(mask)
        full[window] = part
        full &= mask
        parts.append(full)
    if len(parts) < 2 or not all(_stands_on_table(view, part) for part in parts):
        return [mask]
    return [smaller for part in parts for smaller in _split_touching(view, part)]


def _stands_on_table(view: HeightMap, mask: np.ndarray) -> bool:
    heights = view.points[mask & view.above][:, 2]
    return len(heights) > 60 and np.percentile(heights, 5) < 0.02 and np.percentile(heights, 95) > 0.03


def join_fragments(
    view: HeightMap, masks: list[np.ndarray], may_join: Callable[[np.ndarray, np.ndarray], bool] | None = None
) -> list[np.ndarray]:
    """Join masks that are parts of one object, such as a bowl's two walls, if `may_join` agrees; largest first."""
    return join_greedily(
        sorted(masks, key=np.count_nonzero, reverse=True),
        lambda large, small: _same_object(view, large, small) and (may_join is None or may_join(large, small)),
        lambda large, small: _complete_mask(view, large | small),
    )


def _same_object(view: HeightMap, large: np.ndarray, small: np.ndarray) -> bool:
    """Return whether one mask lies inside the other, or both have one colour and a convex common ground area."""
    if np.count_nonzero(large & small) > 0.5 * np.count_nonzero(small):
        return True
    if not (cv2.dilate(large.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0)[small].any():
        return False
    if small.sum() < 0.1 * large.sum() and (convex_hull(large) & small).sum() > 0.5 * small.sum():
        return True  # a small part of it, cut off by a hole in depth
    if not ((large & view.known).any() and (small & view.known).any()):
        return False
    lab = [
        np.median(cv2.cvtColor(view.rgb[part][None], cv2.COLOR_RGB2LAB)[0], 0).astype(float) for part in (large, small)
    ]
    tops = [np.percentile(view.points[part & view.known][:, 2], 97) for part in (large, small)]
    alike = np.linalg.norm((lab[0] - lab[1])[1:]) < 20 and abs(lab[0] - lab[1])[0] < 60
    if not alike or min(tops) < 0.6 * max(tops):
        return False
    areas = [hull_area(view.points[part & view.known][:, :2]) for part in (large, small, large | small)]
    return areas[2] < 1.25 * (areas[0] + areas[1])


def _label_ground_clusters(points: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, int]:
    """Label the pixels of a mask (h, w) by clusters of their points (h, w, 3) on the ground.

    Tall points are clustered first and low ones join the nearest cluster, because depth that bleeds between two objects
    is low. Returns labels (h, w), 0 outside the mask, and their number.
    """
    labels = np.zeros(mask.shape, int)
    if not mask.any():
        return labels, 0
    cells = _cells(points[mask][:, :2])
    is_tall = points[mask][:, 2] > TALL
    tall, tall_count = _label_cells(cells[is_tall], cells.max(0) + 3)
    low, low_count = _label_cells(cells[~is_tall], cells.max(0) + 3)
    nearest = np.asarray(ndimage.distance_transform_edt(tall == 0, return_distances=False, return_indices=True))
    gap = np.linalg.norm(nearest - np.indices(tall.shape), axis=0)
    joined = np.where(gap * GROUND_CELL <= MAX_GAP, tall[tuple(nearest)], 0)
    is_separate = np.ones(low_count + 1, bool)
    is_separate[np.unique(low[(joined > 0) & (low > 0)])] = False
    merged = np.where((low > 0) & is_separate[low], tall_count + low, np.where((tall > 0), tall, joined))
    labels[mask] = merged[tuple(cells.T)]
    return labels, tall_count + low_count


def _label_cells(cells: np.ndarray, shape: np.ndarray) -> tuple[np.ndarray, int]:
    """Label connected cells (N, 2) of a grid; return labels of the grid's shape, int, and their number."""
    filled = np.zeros(shape, np.uint8)
    np.add.at(filled, tuple(cells.T), 1)
    count, grid = cv2.connectedComponents(cv2.dilate((filled >= 2).astype(np.uint8), np.ones((3, 3), np.uint8)))
    return grid, count - 1


def _fill_ground_ring(ground: np.ndarray, ring: np.ndarray) -> np.ndarray:
    """Return the pixels (h, w) whose ground point, of (h, w, 2), lies on or inside the ring of pixels `ring`."""
    if not ring.any():
        return ring
    cells = _cells(ground[ring])
    corner = np.floor(ground[ring].min(0) / GROUND_CELL)
    covered = np.zeros(cells.max(0) + 9, np.uint8)
    covered[tuple((cells + 3).T)] = 1
    covered = cv2.morphologyEx(covered, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (7, 7)))
    covered = fill_holes(covered)
    index = np.nan_to_num(np.floor(ground / GROUND_CELL) - corner + 4, nan=-1)
    inside = ((index >= 0) & (index < covered.shape)).all(-1)
    rows, cols = np.where(inside, index[..., 0], 0).astype(int), np.where(inside, index[..., 1], 0).astype(int)
    return inside & covered[rows, cols]


def _cells(ground: np.ndarray) -> np.ndarray:
    """Return the grid cells, of shape (N, 2), int, of ground points (N, 2)."""
    cells = np.floor(ground / GROUND_CELL)
    return np.clip(cells - np.floor(ground.min(0) / GROUND_CELL) + 1, 0, 4000).astype(int)


def is_object(view: HeightMap, mask: np.ndarray) -> bool:
    """Return whether a mask is larger than noise, small enough to be movable, and not held in the air."""
    points = view.points[mask & view.known]
    if len(points) < MIN_PIXELS:
        return False
    low, high = np.percentile(points, (3, 97), axis=0)
    extent, top = high - low, high[2]
    movable = 0.012 < extent[:2].max() < MAX_WIDTH and extent[:2].min() > 0.004 and low[2] < 0.12
    clear = top > (0.01 if len(points) > 600 else 0.016) and top > 1.6 * float(depth_noise(np.median(view.depth[mask])))
    return bool(movable and clear and (top > 0.03 or _is_compact(mask)))


def _is_compact(mask: np.ndarray) -> bool:
    """Return whether a mask fills its hull: low boxes do, unevenness of the table does not."""
    return bool(mask.sum() > 0.5 * convex_hull(mask).sum())


def _complete_mask(view: HeightMap, mask: np.ndarray) -> np.ndarray:
    """Add to a mask what depth misses: a bowl's bottom at table height, holes in depth, flying pixels at its edge."""
    full, window = mask.copy(), padded_window(mask, 8)
    mask, points = mask[window], view.points[window]
    top = np.percentile(points[mask][:, 2], 98)
    around = cv2.dilate(mask.astype(np.uint8), np.ones((7, 7), np.uint8)) > 0
    rim = around & view.above[window] & (points[..., 2] > 0.4 * top)
    mask = mask | (convex_hull(mask) & (points[..., 2] < 0.6 * top) & _fill_ground_ring(points[..., :2], rim))
    closed = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((5, 5), np.uint8)) > 0
    enclosed = fill_holes(closed)
    full[window] = mask | (closed & view.flying[window]) | (enclosed & ~view.known[window])
    return full


def uncertain_pixels(view: HeightMap, mask: np.ndarray, window: tuple[slice, slice]) -> np.ndarray:
    """Return pixels near a mask (h, w) that depth cannot decide: between its parts and over its own ground area.

    The result has the shape of the window, which must hold the whole mask.
    """
    mask, ground, known = mask[window], view.points[window][..., :2], view.known[window]
    if not (mask & known).any():
        return convex_hull(mask) & ~mask & ~known
    hull = cv2.convexHull(ground[mask & known].astype(np.float32))[:, 0]
    return convex_hull(mask) & ~mask & (inside_polygon(ground, hull) | ~known)
