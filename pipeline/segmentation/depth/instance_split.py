"""Split a region into touching and stacked objects: superpixels are agglomerated by their affinities.

Affinities come from a network that judges pairs of cells (affinity.py) and, with a small weight, from a boundary
classifier: a perceptron with 14 inputs, two hidden layers of 24, one output (boundary_mlp.npz). The classifier alone
decides which fine parts a click may select. Both were trained on rendered tables only.
"""

from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.segmentation.depth.affinity import label_affinities, mean_affinity
from pipeline.segmentation.depth.agglomeration import (
    PairAffinities,
    absorb_small_regions,
    agglomerate,
    agglomerate_in_stages,
)
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.object_proposals import join_fragments
from pipeline.segmentation.depth.superpixels import find_boundaries, superpixels, surface_map
from pipeline.segmentation.mask_operations import join_greedily, padded_window

OBJECT_THRESHOLD, PART_THRESHOLD, FINE_THRESHOLD = -1.5, 0.7, 2.5
"""Mean log odds down to which superpixels merge: into objects, into parts that are likely one object, and, by the
boundary classifier alone, into fine parts."""
MIN_JOIN_AFFINITY = -1.0
"""Mean log odds above which fragments of one object may be joined."""

BAND = 0.015
"""Metres above and below the common line in which the outlines of two parts are compared."""
MIN_POINTS = 12
"""Points needed on the line and on each side of it."""


@dataclass(frozen=True, eq=False)
class InstanceParts:
    """A region of the table, divided in three ways. Masks are of shape (h, w), bool."""

    objects: list[np.ndarray]
    """One mask per object."""
    likely_parts: list[np.ndarray]
    """The same pixels, divided wherever the affinities are not clear."""
    fine_parts: list[np.ndarray]
    """The same pixels in smaller parts, which a click may select."""


def split_instances(view: HeightMap, mask: np.ndarray, cell_affinities: np.ndarray) -> InstanceParts:
    """Divide a rough mask (h, w) into objects; `cell_affinities` is the result of `predict_affinities`."""
    window = padded_window(mask, 4)
    surface = surface_map(view, window)
    labels = superpixels(surface, mask[window])
    if labels.max() < 2:
        return InstanceParts([mask], [mask], [mask])
    edges = find_boundaries(surface, labels)
    local = PairAffinities(edges.pairs, classify_boundaries(edges.features) * edges.length, edges.length, edges.length)
    count = int(labels.max()) + 1
    fine = agglomerate(count, [local], FINE_THRESHOLD)[labels]
    full_labels = np.zeros(mask.shape, np.int32)
    full_labels[window] = labels
    # Weight of a boundary pixel, in pairs of cells
    affinities = [local.scale(0.075), label_affinities(full_labels, cell_affinities)]
    parts, objects = (
        _masks(absorb_small_regions(stage, labels, affinities)[labels], mask, window)
        for stage in agglomerate_in_stages(count, affinities, (PART_THRESHOLD, OBJECT_THRESHOLD))
    )
    joined = join_fragments(view, objects, lambda a, b: mean_affinity(cell_affinities, a, b) > MIN_JOIN_AFFINITY)
    return InstanceParts(merge_vertically(view, joined) or [mask], parts, _masks(fine, mask, window))


def _masks(labels: np.ndarray, mask: np.ndarray, window: tuple[slice, slice]) -> list[np.ndarray]:
    """Return a mask of the shape of `mask` for each label in a window."""
    masks = []
    for label in np.unique(labels[labels > 0]):
        full = np.zeros_like(mask)
        full[window] = labels == label
        masks.append(full)
    return masks


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(Path(__file__).with_name("boundary_mlp.npz")) as stored:
        return tuple(stored[name] for name in ("w0", "b0", "w1", "b1", "w2", "b2"))


def classify_boundaries(features: np.ndarray) -> np.ndarray:
    """Return the log odds that both sides of a boundary belong to one object, (N,), for features (N, 14)."""
    w0, b0, w1, b1, w2, b2 = _weights()
    hidden = np.tanh(np.tanh(features @ w0 + b0) @ w1 + b1)
    return np.clip((hidden @ w2 + b2)[:, 0], -8, 8)


def merge_vertically(view: HeightMap, masks: list[np.ndarray]) -> list[np.ndarray]:
    """Return the masks (h, w), largest first, with those joined that share a wall above and below a line."""
    ordered = sorted(masks, key=np.count_nonzero, reverse=True)
    return join_greedily(ordered, partial(share_wall, view), np.logical_or)


def share_wall(view: HeightMap, a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two masks (h, w) meet at a line and have the same outline, from above, on both sides of it."""
    line = _dilated(a) & _dilated(b) & view.known
    if np.count_nonzero(line) < MIN_POINTS:
        return False
    line_height = float(np.median(view.points[line][:, 2]))
    upper, lower = sorted((view.points[mask & view.known] for mask in (a, b)), key=_median_height, reverse=True)
    over = upper[(upper[:, 2] > line_height) & (upper[:, 2] < line_height + BAND), :2]
    under = lower[(lower[:, 2] < line_height) & (lower[:, 2] > line_height - BAND), :2]
    if min(len(over), len(under)) < MIN_POINTS:
        return False
    gaps = np.concatenate([KDTree(over).query(under)[0], KDTree(under).query(over)[0]])
    # 0.004: metres between the two outlines (95th percentile) up to which they are one wall; stacked objects fit less
    # well
    return bool(np.quantile(gaps, 0.95) < 0.004)


def _median_height(points: np.ndarray) -> float:
    return float(np.median(points[:, 2])) if len(points) else 0.0


def _dilated(mask: np.ndarray) -> np.ndarray:
    return cv2.dilate(mask.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0
