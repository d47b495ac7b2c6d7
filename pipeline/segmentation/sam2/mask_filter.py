"""Filter SAM 2's automatic masks with depth: drop what is not an object, join the parts of one object."""

from collections.abc import Iterator, Sequence

import cv2
import numpy as np

from pipeline.frame import Frame, Support
from pipeline.segmentation.mask_operations import MAX_HEIGHT, MAX_WIDTH, fill_holes, iou, join_greedily
from pipeline.segmentation.sam2.automatic_masks import ScoredMasks
from pipeline.segmentation.sam2.mask_evidence import (
    SceneDepth,
    footprint,
    object_probability,
    separate_probability,
)
from pipeline.segmentation.segment import Segment

MIN_AREA, MAX_AREA = 0.0004, 0.25
"""Share of the image that an object covers: less is a speck, more is a table or a wall."""
MIN_PART, MAX_PART = 0.08, 0.92
"""Share of a mask that a part covers whose border with the rest is looked at."""
LEVEL_RANGE = 0.012
"""Metres of height within which a face counts as level."""


def clean_masks(
    frame: Frame, masks: ScoredMasks, include_parts: bool = False, support: Support | None = None
) -> tuple[Segment, ...]:
    """Return masks (H, W) with scores as segments from left to right, ids 1, 2, ...; they do not overlap.

    Table, floor, wall and robot are dropped. With `include_parts`, a part takes its pixels from the whole object and
    both stay; without, the parts of one object are joined, and a mask of several objects is replaced by their masks.
    """
    scene = SceneDepth.from_frame(frame, support)
    masks = [(mask.astype(bool), score) for mask, score in masks if MIN_AREA < mask.mean() < MAX_AREA]
    if scene.depth.any():
        masks = [(mask, score) for mask, score in masks if _may_be_object(scene, scene_mask(scene, mask))]
    if scene.has_table:
        masks = _drop_floating(scene, masks)
    masks.sort(key=lambda entry: -entry[1])
    masks = _without_duplicates(masks)
    if include_parts or not scene.depth.any():
        masks.sort(key=lambda entry: int(entry[0].sum()))
    else:
        masks = _fill_prints(_join_parts(scene, _resolve_nesting(scene, masks)))
    result = _without_overlap(masks)
    result.sort(key=lambda entry: float(np.flatnonzero(entry[0].any(0)).mean()))
    return tuple(Segment(i, mask, float(np.clip(score, 0, 1)), "sam2") for i, (mask, score) in enumerate(result, 1))


def _may_be_object(scene: SceneDepth, mask: np.ndarray) -> bool:
    """Return whether a mask (h, w) may be an object, or a part of one: no furniture, no ground, no wall."""
    known = np.isfinite(scene.points[..., 2]) & mask
    if scene.has_table and known.sum() > 20:
        low, median, high = np.percentile(scene.points[known], (5, 50, 95), axis=0)
        # -0.02: metres above the table; lower regions are floor
        if median[2] < -0.02 or high[2] > MAX_HEIGHT or max((high - low)[:2]) > MAX_WIDTH:
            return False
    # Probability below which a mask is dropped: 95 % of objects and parts on drawn frames of other kinds reach it
    return object_probability(scene, mask) > 0.21


def _drop_floating(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Drop masks in the air: high ones stay only if what lies under their lower edge is not floating itself."""
    small = [scene_mask(scene, mask) for mask, _ in masks]
    # Metres above the table from which an object needs another one below it
    floating = [i for i, mask in enumerate(small) if _lowest_height(scene, mask) > 0.12]
    while True:
        in_air = np.logical_or.reduce([small[i] for i in floating]) if floating else None
        still_floating = [i for i in floating if in_air is None or not _rests_on(scene, small[i], ~in_air)]
        if len(still_floating) == len(floating):
            return [entry for i, entry in enumerate(masks) if i not in floating]
        floating = still_floating


def _lowest_height(scene: SceneDepth, mask: np.ndarray) -> float:
    z = scene.points[mask][:, 2]
    return float(np.percentile(z[np.isfinite(z)], 5)) if np.isfinite(z).any() else 0.0


def _rests_on(scene: SceneDepth, mask: np.ndarray, below: np.ndarray) -> bool:
    """Return whether a good part of the mask's lower edge is close, in space, to pixels of `below` just under it."""
    gap, height = 5, mask.shape[0]
    cols = np.flatnonzero(mask.any(0))
    rows = height - 1 - np.argmax(mask[::-1, cols], axis=0)
    under = np.minimum(rows + gap, height - 1)
    inner = np.maximum(rows - 2, 0)
    distance = np.linalg.norm(scene.points[under, cols] - scene.points[inner, cols], axis=-1)
    # 0.05: metres from an object's lower edge to the object below it
    return bool(np.mean(below[under, cols] & (distance < 0.05)) > 0.3)


def _resolve_nesting(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Replace masks of several objects by those of each, and drop the parts of one object."""
    remaining = sorted(masks, key=lambda entry: -int(entry[0].sum()))
    small = [scene_mask(scene, mask) for mask, _ in remaining]
    kept: ScoredMasks = []
    while remaining:
        (mask, score), own = remaining[0], small[0]
        split = _most_separate(scene, own, small[1:])
        if split is None:
            outside = [j for j in range(1, len(remaining)) if _share_inside(small[j], own) <= 0.9]
            kept.append((mask, score))
        else:
            outside = list(range(1, len(remaining)))
            rest = _rest(mask, split, scene)
            if rest is not None and max((iou(scene_mask(scene, rest), one) for one in small[1:]), default=0) < 0.5:
                remaining.append((rest, score))
                small.append(scene_mask(scene, rest))
                outside.append(len(remaining) - 1)
        remaining, small = [remaining[j] for j in outside], [small[j] for j in outside]
        order = sorted(range(len(remaining)), key=lambda j: -int(remaining[j][0].sum()))
        remaining, small = [remaining[j] for j in order], [small[j] for j in order]
    return kept


def _most_separate(scene: SceneDepth, mask: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return the part (h, w) of a mask that most likely is an object of its own, None if it shows one object."""
    scored = [
        (separate_probability(scene, part, rest, rest_is_mask), part)
        for part, rest, rest_is_mask in splits(mask, others)
    ]
    probability, part = max(scored, key=lambda entry: entry[0], default=(0.0, None))
    return part if probability > 0.5 else None


def splits(mask: np.ndarray, others: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield each part of a mask (h, w) among `others`, the rest of the mask, and how similar the rest is to a mask."""
    area = mask.sum()
    inside = [one & mask for one in others if _share_inside(one, mask) > 0.9]
    for part in inside:
        if not MIN_PART * area < part.sum() < MAX_PART * area:
            continue
        rest = _largest_region(mask & ~part)
        if rest.sum() > MIN_PART * area:
            yield part, rest, max(iou(rest, other) for other in inside)


def _largest_region(mask: np.ndarray) -> np.ndarray:
    """Return the largest connected region of a mask once slivers of two pixels are gone."""
    opened = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    _, labels = cv2.connectedComponents(opened, connectivity=4)
    sizes = np.bincount(labels.ravel())
    sizes[0] = 0
    return labels == sizes.argmax() if sizes.max() else np.zeros_like(mask)


def _rest(mask: np.ndarray, part: np.ndarray, scene: SceneDepth) -> np.ndarray | None:
    """Return what remains of a mask (H, W) without its part (h, w), None if that is a speck."""
    grown = cv2.dilate(part.astype(np.uint8), np.ones((3, 3), np.uint8))
    large = cv2.resize(grown, mask.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0
    rest = _largest_region(mask & ~large)
    return rest if rest.mean() > MIN_AREA else None


def _join_parts(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Join masks that touch and are parts of one object; the score is the lowest of them."""
    joined = join_greedily(
        sorted(masks, key=lambda entry: -int(entry[0].sum())),
        lambda large, small: _is_one_object(scene, scene_mask(scene, large[0]), scene_mask(scene, small[0])),
        lambda large, small: (large[0] | small[0], min(large[1], small[1])),
    )
    if len(joined) < len(masks):  # two side faces may only join through the top they share
        return _join_parts(scene, joined)
    return sorted(joined, key=lambda entry: -entry[1])


def _is_one_object(scene: SceneDepth, large: np.ndarray, small: np.ndarray) -> bool:
    """Return whether two masks (h, w) are faces of one object.

    They touch, their common footprint is no larger than that of one of them, and they have the
    same hue, or one is the level top of the other.
    """
    # Pixels between masks that may touch
    near = cv2.dilate(large.astype(np.uint8), np.ones((2 * 4 - 1,) * 2, np.uint8)) > 0
    known = np.isfinite(scene.points[..., 2])
    if not (near & small).any() or min((large & known).sum(), (small & known).sum()) < 20:
        return False
    areas = [footprint(scene.points, mask) for mask in (large, small, large | small)]
    if not scene.has_table or areas[2] > 1.2 * max(areas[:2]):
        return False
    hues = [np.median(scene.lab[part][:, 1:], 0) for part in (large, small)]
    # Distance in CIELAB's a and b up to which two masks have the same hue
    if np.linalg.norm(hues[0] - hues[1]) < 12:
        return True
    spans = [np.percentile(scene.points[part & known][:, 2], (10, 50, 90)) for part in (large, small)]
    top, side = sorted(spans, key=lambda span: -span[1])
    return bool(top[2] - top[0] < LEVEL_RANGE and abs(top[1] - side[2]) < 3 * LEVEL_RANGE)


def _fill_prints(masks: ScoredMasks) -> ScoredMasks:
    """Fill the holes of masks that no other mask covers: SAM 2 leaves out labels and reflections."""
    if not masks:
        return []
    every = np.logical_or.reduce([mask for mask, _ in masks])
    return [(mask | (fill_holes(mask) & ~every), score) for mask, score in masks]


def scene_mask(scene: SceneDepth, mask: np.ndarray) -> np.ndarray:
    """Return a mask (H, W) at working size (h, w)."""
    return mask[:: scene.step, :: scene.step]


def _share_inside(part: np.ndarray, mask: np.ndarray) -> float:
    return float((part & mask).sum() / max(1, part.sum()))


def _without_duplicates(masks: ScoredMasks) -> ScoredMasks:
    """Drop masks with an IoU of 0.8 or more with an earlier one."""
    unique: ScoredMasks = []
    for mask, score in masks:
        if all((mask & other).sum() < 0.8 * (mask | other).sum() for other, _ in unique):
            unique.append((mask, score))
    return unique


def _without_overlap(masks: ScoredMasks) -> ScoredMasks:
    """Remove the pixels of earlier masks from each; drop masks of which too little remains."""
    taken, result = np.zeros(masks[0][0].shape if masks else (0, 0), bool), []
    for mask, score in masks:
        own = mask & ~taken
        if own.mean() > MIN_AREA and own.sum() > 0.3 * mask.sum():
            result.append((own, score))
            taken |= own
    return result
