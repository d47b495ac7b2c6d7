"""Add what the network takes for an object to the proposals from depth: flat, clear and touching objects.

Depth proposes what stands out from the table by more than its noise. A sheet, a part in a bin, or a clear cup does not,
and a heap may be dropped as too large to move. The affinity network sees colour, too: its regions are added, and
divided into objects before any of them is judged by its size.
"""

import cv2
import numpy as np

from pipeline.frame.plane_extraction import depth_noise
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.mask_operations import MAX_HEIGHT, MAX_WIDTH, convex_hull, padded_window

MIN_PROBABILITY = 0.5
"""Probability of showing an object from which a pixel counts as foreground."""
MIN_PIXELS, MIN_RADIUS = 200, 3
"""At working size: area and half thickness below which what depth missed is not added."""
LIGHTNESS_WEIGHT, SAME_COLOUR = 0.5, 12.0
"""Weight of the lightness, because light falls off, and CIELAB distance up to which colours are the same."""
TABLE_MARGIN, MIN_Z = 0.2, -0.03
"""Metres beside the visible table, whose outline misses what a heap hides, and below it, up to which objects are
added."""


def merge_foreground(view: HeightMap, proposals: list[np.ndarray], probability: np.ndarray) -> list[np.ndarray]:
    """Return regions (h, w) to divide into objects: proposals from depth, extended by what only the network found.

    `probability` (h, w) is that of showing an object. A proposal that meets no other foreground stays as it is.
    """
    missed = _missed_foreground(view, proposals, probability)
    if not missed.any():
        return proposals
    near = cv2.dilate(missed.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    alone = [mask for mask in proposals if not _is_extended(mask, near)]
    extended = [mask & (probability > MIN_PROBABILITY / 2) for mask in proposals if _is_extended(mask, near)]
    region = np.logical_or.reduce([missed, *extended]) & ~np.logical_or.reduce([missed & False, *alone])
    joined = cv2.morphologyEx(region.astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    count, labels = cv2.connectedComponents(joined, connectivity=4)
    regions = [(labels == label) & region for label in range(1, count)]
    return alone + [one for one in regions if np.count_nonzero(one) >= MIN_PIXELS]


def _is_extended(mask: np.ndarray, near: np.ndarray) -> bool:
    return bool(np.count_nonzero(mask & near) > 30)


def _missed_foreground(view: HeightMap, proposals: list[np.ndarray], probability: np.ndarray) -> np.ndarray:
    """Return foreground (h, w) over the table that no proposal covers, without thin rims."""
    foreground = (probability > MIN_PROBABILITY) & _table_region(view)
    covered = np.logical_or.reduce([foreground & False, *proposals])
    covered = cv2.dilate(covered.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * MIN_RADIUS + 1,) * 2)
    missed = cv2.morphologyEx((foreground & ~covered).astype(np.uint8), cv2.MORPH_OPEN, disc)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(missed, connectivity=4)
    large = np.flatnonzero(stats[1:count, cv2.CC_STAT_AREA] >= MIN_PIXELS) + 1
    kept = np.isin(labels, large)
    return (cv2.dilate(kept.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0) & foreground


def _table_region(view: HeightMap) -> np.ndarray:
    """Return pixels (h, w) at heights of objects, and those without depth inside the table's outline in the image."""
    z = np.nan_to_num(view.points[..., 2], nan=1.0)
    flat = view.on_table & (np.abs(z) < 0.02)
    outline = convex_hull(flat) if flat.any() else flat
    return np.where(view.known, (z > MIN_Z) & (z < MAX_HEIGHT), outline)


def is_plausible(view: HeightMap, mask: np.ndarray, probability: np.ndarray) -> bool:
    """Return whether a mask (h, w) that depth did not propose is an object: probable, on the table, small enough."""
    # 0.8: mean probability from which a mask without a proposal from depth is an object
    if np.count_nonzero(mask) < MIN_PIXELS or float(probability[mask].mean()) < 0.8:
        return False
    known = mask & view.known
    if np.count_nonzero(known) < 0.2 * np.count_nonzero(mask):
        return True
    points = view.points[known]
    low, high = np.percentile(points, (3, 97), axis=0)
    if _continues_above(view, mask) or _is_ground_pattern(view, mask):
        return False
    x, y = np.median(points[:, :2], axis=0)
    beside = -cv2.pointPolygonTest(view.outline_under(mask).astype(np.float32), (float(x), float(y)), True)
    # 0.25: metres above the table of the lowest point of an added object: a heap's top, but no lamp
    return bool((high - low)[:2].max() < MAX_WIDTH and low[2] < 0.25 and beside < TABLE_MARGIN)


def _continues_above(view: HeightMap, mask: np.ndarray) -> bool:
    """Return whether a mask (h, w) goes on above MAX_HEIGHT, as a robot's arm or a wall does."""
    window = padded_window(mask, 4)
    around = cv2.dilate(mask[window].astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
    tall = view.points[window][..., 2] > MAX_HEIGHT
    depth = view.depth[window]
    near = np.abs(depth - np.median(depth[mask[window] & view.known[window]])) < MAX_WIDTH / 2
    return bool(np.count_nonzero(around & tall & near) > 15)


def _is_ground_pattern(view: HeightMap, mask: np.ndarray) -> bool:
    """Return whether a flat mask (h, w) has a colour that covers more of the ground elsewhere, as a chequer does."""
    points, known = view.points[mask][:, 2], view.known[mask]
    noise = float(depth_noise(np.median(view.depth[mask & view.known])))
    # 0.8: share of a flat mask with depth from which it may be a pattern of the ground
    if known.mean() < 0.8 or np.percentile(points[known], 90) > 0.5 * noise:
        return False
    elsewhere = view.on_table & (np.abs(view.points[..., 2]) < noise) & ~mask
    lab = cv2.cvtColor(view.rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
    lab[..., 0] *= LIGHTNESS_WEIGHT
    alike = np.linalg.norm(lab[elsewhere] - np.median(lab[mask], axis=0), axis=-1) < SAME_COLOUR
    # Pixels of a flat mask's colour elsewhere on the ground, in areas of the mask, above which it is a pattern
    return bool(np.count_nonzero(alike) > 2.5 * np.count_nonzero(mask))
