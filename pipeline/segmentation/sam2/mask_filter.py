"""Filter SAM 2's automatic masks with depth: drop what is not an object, join the parts of one object."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame import Frame, Support, SupportError, find_support, register_depth
from pipeline.frame.frame import subsampling_step
from pipeline.geometry import bounding_box, transform
from pipeline.segmentation.mask_operations import hull_area, join_greedily
from pipeline.segmentation.sam2.automatic_masks import ScoredMasks
from pipeline.segmentation.segment import Segment
from pipeline.segmentation.tabletop_limits import MAX_HEIGHT, MAX_WIDTH, WORKING_WIDTH

MIN_AREA, MAX_AREA = 0.0004, 0.25
"""Share of the image that an object covers: less is a speck, more is a table or a wall."""
MIN_HEIGHT = -0.02
"""Metres above the table; lower regions are floor."""
FLOATING_HEIGHT = 0.12
"""Metres above the table from which an object needs another one below it."""
MAX_SUPPORT_GAP = 0.05
"""Metres from an object's lower edge to the object below it."""
LEVEL_RANGE = 0.012
"""Metres of height within which a face counts as level."""
NEIGHBOUR_MARGIN = 4
"""Pixels between the bounding boxes of masks that may touch."""


@dataclass(frozen=True, eq=False)
class SceneDepth:
    """The frame's points and colours at working size (h, w)."""

    points: np.ndarray
    """World points in metres, of shape (h, w, 3), float32, NaN where depth is unknown."""
    lab: np.ndarray
    """CIELAB colours, of shape (h, w, 3), float32, 8-bit range."""
    table: np.ndarray
    """Pixels that show the table's top, of shape (h, w), bool."""
    step: int
    """Pixels of the frame per pixel at working size."""

    @staticmethod
    def from_frame(frame: Frame, support: Support | None = None) -> "SceneDepth | None":
        """Return None if no table is found: masks cannot be filtered by depth then."""
        frame = register_depth(frame)
        try:
            support = support or find_support(frame)
        except SupportError:
            return None
        step = subsampling_step(frame, WORKING_WIDTH)
        points = transform(support.world_from_camera.astype(np.float32), frame.points[::step, ::step])
        rgb = np.ascontiguousarray(frame.rgb[::step, ::step])
        lab = cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32)
        return SceneDepth(points, lab, support.inliers[::step, ::step], step)


def clean_masks(
    frame: Frame, masks: ScoredMasks, include_parts: bool = False, support: Support | None = None
) -> tuple[Segment, ...]:
    """Return masks (H, W) with scores as segments from left to right, ids 1, 2, ...; they do not overlap.

    Table, floor, wall and robot are dropped. With `include_parts`, a part takes its pixels from the whole object and
    both stay; without, the parts of one object are joined, and a mask of several objects is replaced by their masks.
    """
    scene = SceneDepth.from_frame(frame, support)
    masks = [(mask.astype(bool), score) for mask, score in masks if MIN_AREA < mask.mean() < MAX_AREA]
    if scene is not None:
        masks = drop_floating(
            scene, [(mask, score) for mask, score in masks if may_be_object(scene, scene_mask(scene, mask))]
        )
    masks.sort(key=lambda entry: -entry[1])
    masks = _without_duplicates(masks)
    if include_parts or scene is None:
        masks.sort(key=lambda entry: int(entry[0].sum()))
    else:
        masks = join_faces(scene, resolve_nesting(scene, masks))
    result = _without_overlap(masks)
    result.sort(key=lambda entry: float(np.flatnonzero(entry[0].any(0)).mean()))
    return tuple(Segment(i, mask, float(np.clip(score, 0, 1)), "sam2") for i, (mask, score) in enumerate(result, 1))


def may_be_object(scene: SceneDepth, mask: np.ndarray) -> bool:
    """Return whether a mask (h, w) may be an object on the table. Without depth its surroundings decide."""
    known = np.isfinite(scene.points[..., 2]) & mask
    if known.sum() < 0.1 * mask.sum():
        ring = cv2.dilate(mask.astype(np.uint8), np.ones((9, 9), np.uint8)).astype(bool) & ~mask
        heights = scene.points[ring & np.isfinite(scene.points[..., 2])][:, 2]
        return bool(len(heights) and MIN_HEIGHT < np.median(heights) < MAX_HEIGHT)
    if (scene.table & known).sum() > 0.5 * known.sum():
        return False
    low, median, high = np.percentile(scene.points[known], (5, 50, 95), axis=0)
    width = max((high - low)[:2])
    return bool(median[2] > MIN_HEIGHT and high[2] < MAX_HEIGHT and width < MAX_WIDTH)


def drop_floating(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Drop masks in the air: high ones stay only if what lies under their lower edge is not floating itself."""
    small = [scene_mask(scene, mask) for mask, _ in masks]
    floating = [i for i, mask in enumerate(small) if _lowest_height(scene, mask) > FLOATING_HEIGHT]
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
    return bool(np.mean(below[under, cols] & (distance < MAX_SUPPORT_GAP)) > 0.3)


def resolve_nesting(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Drop masks of several objects, and masks inside another one."""
    remaining = sorted(masks, key=lambda entry: -int(entry[0].sum()))
    i = 0
    while i < len(remaining):
        mask = remaining[i][0]
        parts = [j for j in range(i + 1, len(remaining)) if _share_inside(remaining[j][0], mask) > 0.9]
        if holds_several_objects(scene, mask, [remaining[j][0] for j in parts]):
            remaining.pop(i)
            continue
        remaining = [entry for j, entry in enumerate(remaining) if j not in parts]
        i += 1
    return remaining


def holds_several_objects(scene: SceneDepth, mask: np.ndarray, parts: list[np.ndarray]) -> bool:
    """Return whether a mask shows several objects: its parts cover most of it, and two are apart on the ground."""
    parts = [part for part in parts if part.sum() > 0.1 * mask.sum()]
    if len(parts) < 2 or np.logical_or.reduce(parts).sum() < 0.7 * mask.sum():
        return False
    areas = [footprint(scene, scene_mask(scene, part)) for part in parts]
    for i, part in enumerate(parts):
        for j, other in enumerate(parts[:i]):
            both = footprint(scene, scene_mask(scene, part | other))
            if not (part & other).any() and both > 1.3 * max(areas[i], areas[j]):
                return True
    return False


def join_faces(scene: SceneDepth, masks: ScoredMasks) -> ScoredMasks:
    """Join masks that are faces of one convex object; the score is the lowest of them."""
    joined = join_greedily(
        sorted(masks, key=lambda entry: -int(entry[0].sum())),
        lambda large, small: same_convex_object(scene, large[0], small[0]),
        lambda large, small: (large[0] | small[0], min(large[1], small[1])),
    )
    if len(joined) < len(masks):  # two side faces may only join through the top they share
        return join_faces(scene, joined)
    return sorted(joined, key=lambda entry: -entry[1])


def same_convex_object(scene: SceneDepth, large: np.ndarray, small: np.ndarray) -> bool:
    """Return whether two masks are faces of one object.

    They touch, their common footprint is no larger than that of one of them, and they have the same hue, or one is the
    level top of the other.
    """
    a, b = scene_mask(scene, large), scene_mask(scene, small)
    if not _boxes_touch(a, b):
        return False
    near = cv2.dilate(a.astype(np.uint8), np.ones((7, 7), np.uint8)).astype(bool)
    known = np.isfinite(scene.points[..., 2])
    if not (near & b).any() or min((a & known).sum(), (b & known).sum()) < 20:
        return False
    if footprint(scene, a | b) > 1.2 * max(footprint(scene, a), footprint(scene, b)):
        return False
    hues = [np.median(scene.lab[part][:, 1:], 0) for part in (a, b)]
    if np.linalg.norm(hues[0] - hues[1]) < 12:
        return True
    spans = [np.percentile(scene.points[part & known][:, 2], (10, 50, 90)) for part in (a, b)]
    top, side = sorted(spans, key=lambda span: -span[1])
    return bool(top[2] - top[0] < LEVEL_RANGE and abs(top[1] - side[2]) < 3 * LEVEL_RANGE)


def _boxes_touch(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether the bounding boxes of two masks come within NEIGHBOUR_MARGIN pixels; a quick first test."""
    first, second = bounding_box(a), bounding_box(b)
    if not first.width or not second.width:
        return False
    margin = NEIGHBOUR_MARGIN
    beside = first.left > second.right - 1 + margin or second.left > first.right - 1 + margin
    return not (beside or first.top > second.bottom - 1 + margin or second.top > first.bottom - 1 + margin)


def footprint(scene: SceneDepth, mask: np.ndarray) -> float:
    """Return the area (m^2) of the convex hull of a mask (h, w) on the ground, without the outermost points."""
    ground = scene.points[mask][:, :2]
    ground = ground[np.isfinite(ground).all(1)]
    if len(ground) < 10:
        return 0.0
    distance = np.linalg.norm(ground - np.median(ground, 0), axis=1)
    return float(hull_area(ground[distance <= np.quantile(distance, 0.98)]))


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
