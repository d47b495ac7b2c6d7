"""Masks as SAM 2's automatic generator returns them, drawn from true masks: wholes, parts, prints, unions, background.

SAM 2's weights are not to be had here, but what it answers is known (Kirillov et al. 2023, section 3: a click has
three readings, whole, part and subpart, each with a predicted quality). Every object is drawn with several clicks,
each with jittered borders, specks and holes; parts follow the colours of the photograph; unions join neighbours; the
background falls into large regions, stains and shadows. Duplicates are then removed as the studio does.
"""

import zlib
from collections.abc import Iterator, Mapping

import cv2
import numpy as np

from pipeline.geometry import bounding_box
from pipeline.segmentation.mask_operations import fill_holes
from pipeline.segmentation.sam2.automatic_masks import AutomaticSettings, ScoredMasks, without_duplicates

MIN_PART = 0.03
"""Share of an object from which a region of one colour is a part; smaller ones are prints."""
MIN_PIXELS = 40
CLICKS = 3
"""Clicks of the grid that hit an object, on average."""
WHOLE_PROBABILITY = 0.85
"""Probability that a click has the whole object among its readings."""


def draw_masks(rgb: np.ndarray, truth: Mapping[str, np.ndarray], name: str, seed: int) -> ScoredMasks:
    """Return overlapping masks (H, W), bool, with predicted qualities in [0, 1], best first.

    `truth` holds the true masks (H, W), bool, of the photograph `rgb` (H, W, 3), uint8. The same `name` and `seed` give
    the same masks.
    """
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    lab = cv2.cvtColor(cv2.bilateralFilter(np.ascontiguousarray(rgb), 7, 30, 7), cv2.COLOR_RGB2LAB)
    masks: ScoredMasks = []
    for mask in truth.values():
        masks += _object_readings(lab, mask, random)
    masks += _unions(list(truth.values()), random)
    masks += _background(lab, list(truth.values()), random)
    settings = AutomaticSettings()
    kept = [(mask, score) for mask, score in masks if score >= settings.pred_iou_thresh and mask.sum() >= MIN_PIXELS]
    return without_duplicates(kept, settings.box_nms_thresh)


def _object_readings(
    lab: np.ndarray, mask: np.ndarray, random: np.random.Generator
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield the readings of several clicks on one object."""
    parts = _regions(lab, mask, random)
    large = [part for part in parts if part.sum() >= MIN_PART * mask.sum()]
    for click in range(1 + random.poisson(CLICKS - 1)):
        if random.random() < WHOLE_PROBABILITY or (click == 0 and random.random() < 0.8):
            yield _imperfect(mask, random), float(random.uniform(0.72, 0.98))
        if len(large) > 1:
            part = large[int(random.integers(len(large)))]
            yield _imperfect(part, random), float(random.uniform(0.62, 0.97))
            if random.random() < 0.4:  # several colours, or all but the print
                other = large[int(random.integers(len(large)))]
                union = mask & ~part if random.random() < 0.5 else part | other
                yield _imperfect(union, random), float(random.uniform(0.6, 0.95))
    for part in parts:
        if part.sum() < MIN_PART * mask.sum() and random.random() < 0.5:
            yield part, float(random.uniform(0.6, 0.95))


def _regions(lab: np.ndarray, mask: np.ndarray, random: np.random.Generator) -> list[np.ndarray]:
    """Return the connected regions of one colour of a mask (H, W), largest first."""
    pixels = lab[mask].astype(np.float32)
    count = int(random.integers(2, 6))
    if len(pixels) < 20 * count:
        return []
    cv2.setRNGSeed(int(random.integers(1 << 30)))
    end = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 1.0)
    _, labels, _ = cv2.kmeans(pixels, count, np.empty(0), end, 1, cv2.KMEANS_PP_CENTERS)  # type: ignore[call-overload]
    coloured = np.zeros(mask.shape, np.uint8)
    coloured[mask] = labels[:, 0] + 1
    coloured = np.where(mask, cv2.medianBlur(coloured, 5), 0)
    regions = []
    for colour in range(1, count + 1):
        number, components = cv2.connectedComponents((coloured == colour).astype(np.uint8), connectivity=4)
        sizes = np.bincount(components.ravel(), minlength=number)
        regions += [components == k for k in range(1, number) if sizes[k] >= MIN_PIXELS]
    return sorted(regions, key=lambda region: -int(region.sum()))


def _imperfect(mask: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return a mask (H, W) with a wavy border that is off by a pixel or two, and now and then a hole or a speck."""
    box = bounding_box(mask)
    if not box.width:
        return mask
    window = box.padded(8, mask.shape)
    own = mask[window.slices].astype(np.uint8)
    distance = cv2.distanceTransform(own, cv2.DIST_L2, 5) - cv2.distanceTransform(1 - own, cv2.DIST_L2, 5)
    small = random.normal(0, 1, (own.shape[0] // 10 + 2, own.shape[1] // 10 + 2))
    wobble = cv2.resize(small, own.shape[::-1], interpolation=cv2.INTER_CUBIC)
    changed = distance + random.uniform(0.5, 1.6) * wobble + random.normal(0, 0.6) > 0
    for _ in range(int(random.random() < 0.25) * int(random.integers(1, 4))):
        y, x = (int(random.integers(side)) for side in own.shape)
        radius = max(2, int(0.08 * np.sqrt(own.sum())))
        disc = cv2.circle(np.zeros(own.shape, np.uint8), (x, y), radius, 1, -1) > 0
        changed = changed & ~disc if random.random() < 0.6 else changed | disc & (distance > -6)
    result = np.zeros_like(mask)
    result[window.slices] = changed
    return result


def _unions(masks: list[np.ndarray], random: np.random.Generator) -> Iterator[tuple[np.ndarray, float]]:
    """Yield neighbours as one mask, and heaps of several."""
    near = [cv2.dilate(mask.astype(np.uint8), np.ones((13, 13), np.uint8)) > 0 for mask in masks]
    for i, mask in enumerate(masks):
        heap = mask
        for j, other in enumerate(masks):
            if j != i and (near[i] & other).any():
                heap = heap | other
                if j < i and random.random() < 0.5:
                    yield _imperfect(mask | other, random), float(random.uniform(0.65, 0.94))
        if heap is not mask and random.random() < 0.25:
            yield _imperfect(heap, random), float(random.uniform(0.6, 0.9))


def _background(
    lab: np.ndarray, masks: list[np.ndarray], random: np.random.Generator
) -> Iterator[tuple[np.ndarray, float]]:
    """Yield table, wall and floor as regions of one colour, all of them as one, stains and shadows."""
    free = ~np.logical_or.reduce(masks)
    yield free, float(random.uniform(0.8, 0.97))
    for region in _regions(cv2.GaussianBlur(lab, (0, 0), 3), free, random)[:40]:
        share = region.mean()
        if random.random() < (0.9 if share > 0.02 else 0.35):
            whole = fill_holes(region) if random.random() < 0.3 else region  # with the objects on it
            yield _imperfect(whole, random), float(random.uniform(0.65, 0.98))
    for mask in masks:
        if random.random() < 0.25:  # a shadow beside an object
            shift = random.integers(-12, 13, 2)
            moved = np.roll(mask, tuple(int(one) for one in shift), (0, 1)) & free
            yield _imperfect(moved, random), float(random.uniform(0.6, 0.88))
