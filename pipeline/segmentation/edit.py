"""Segments put together and taken apart, by hand or at their necks."""

from collections.abc import Sequence

import cv2
import numpy as np

from pipeline.segmentation.segment import Segment, SegmentationError

SMALLEST_SHARE = 0.06
"""Of a mask's pixels, that a part needs to count as one."""


def merge(segments: Sequence[Segment], source: str = "human") -> Segment:
    """One segment of all their pixels, with the first one's id. Raises SegmentationError for fewer than two."""
    if len(segments) < 2:
        raise SegmentationError(f"Merging takes two segments or more, {len(segments)} given.")
    mask = np.logical_or.reduce([segment.mask for segment in segments])
    return Segment(segments[0].id, mask, min(segment.score for segment in segments), source)


def split(
    segment: Segment, first_id: int, source: str = "human", seen: Sequence[np.ndarray] = ()
) -> tuple[Segment, ...]:
    """The segment's parts, largest first: the largest keeps the id, others get first_id, first_id + 1, ...

    Separate parts come apart; one part comes apart into what a segmenter has `seen` in it, masks (H, W), or at its
    narrowest neck. Raises SegmentationError where it has none.
    """
    parts = islands(segment.mask)
    if len(parts) < 2:
        parts = list(seen) if len(seen) > 1 else at_neck(segment.mask)
    if len(parts) < 2:
        raise SegmentationError(
            f"Segment {segment.id} is one compact piece: there is no neck to split it at. Use minus clicks instead."
        )
    ids = [segment.id, *range(first_id, first_id + len(parts) - 1)]
    return tuple(Segment(i, part, segment.score, source) for i, part in zip(ids, parts, strict=True))


def islands(mask: np.ndarray) -> list[np.ndarray]:
    """Its separate parts, largest first; specks go with the nearest of them."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8))
    area = np.bincount(labels.ravel(), minlength=count)
    area[0] = 0
    kept = np.flatnonzero(area >= max(8, SMALLEST_SHARE * mask.sum()))
    return _grown([labels == i for i in kept], mask) if len(kept) else []


def divided(mask: np.ndarray, cores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The mask's pixels given to the nearest of the cores that have a fair share of it, largest first."""
    fair = [core for core in cores if np.count_nonzero(core) >= SMALLEST_SHARE * np.count_nonzero(mask)]
    return _grown(fair, mask) if len(fair) > 1 else [mask]


def at_neck(mask: np.ndarray) -> list[np.ndarray]:
    """The parts of a mask that hang together by the narrowest neck, largest first; the mask alone if it has none."""
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    for share in (0.1, 0.15, 0.2, 0.28, 0.36, 0.45, 0.55, 0.65):
        count, labels = cv2.connectedComponents((depth > max(1.0, share * depth.max())).astype(np.uint8))
        cores = [labels == i for i in range(1, count) if depth[labels == i].max() > 1.8 * share * depth.max()]
        parts = _grown(cores, mask) if len(cores) > 1 else []
        if len(parts) > 1 and min(part.sum() for part in parts) >= SMALLEST_SHARE * mask.sum():
            return parts
    return [mask]


def _grown(cores: list[np.ndarray], mask: np.ndarray) -> list[np.ndarray]:
    """Every pixel of the mask to the nearest core; the results largest first."""
    gaps = [cv2.distanceTransform((~core).astype(np.uint8), cv2.DIST_L2, 5) for core in cores]
    nearest = np.argmin(gaps, axis=0)
    return sorted((mask & (nearest == i) for i in range(len(cores))), key=np.count_nonzero, reverse=True)
