"""Merge segments, and split them into parts."""

from collections.abc import Sequence

import cv2
import numpy as np

from pipeline.segmentation.segment import Segment, SegmentationError

MIN_PART_SHARE = 0.06
"""Share of a mask's pixels that a part needs to count."""


def merge(segments: Sequence[Segment], source: str = "human") -> Segment:
    """Return one segment of all their pixels, with the first one's id. Raises SegmentationError for fewer than two."""
    if len(segments) < 2:
        raise SegmentationError(f"Select two segments or more to merge; {len(segments)} selected.")
    mask = np.logical_or.reduce([segment.mask for segment in segments])
    return Segment(segments[0].id, mask, min(segment.score for segment in segments), source)


def split(
    segment: Segment, first_id: int, source: str = "human", proposals: Sequence[np.ndarray] = ()
) -> tuple[Segment, ...]:
    """Return the segment's parts, largest first: the largest keeps the id, others get first_id, first_id + 1, ...

    The parts are the connected parts. A connected mask is split into a segmenter's `proposals`, masks (H, W), or at its
    narrowest neck. Raises SegmentationError if it has none.
    """
    parts = connected_parts(segment.mask)
    if len(parts) < 2:
        parts = list(proposals) if len(proposals) > 1 else split_at_neck(segment.mask)
    if len(parts) < 2:
        raise SegmentationError(
            f"Segment {segment.id} is one compact region: there is no neck to split it at. Use minus clicks instead."
        )
    ids = [segment.id, *range(first_id, first_id + len(parts) - 1)]
    return tuple(Segment(i, part, segment.score, source) for i, part in zip(ids, parts, strict=True))


def connected_parts(mask: np.ndarray) -> list[np.ndarray]:
    """Return the connected parts of a mask, largest first; specks are added to the nearest part."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8))
    area = np.bincount(labels.ravel(), minlength=count)
    area[0] = 0
    large = np.flatnonzero(area >= max(8, MIN_PART_SHARE * mask.sum()))
    return _grow([labels == i for i in large], mask) if len(large) else []


def divide(mask: np.ndarray, cores: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Divide a mask among those cores that are large enough, each pixel to the nearest; return parts, largest first."""
    large = [core for core in cores if np.count_nonzero(core) >= MIN_PART_SHARE * np.count_nonzero(mask)]
    return _grow(large, mask) if len(large) > 1 else [mask]


def split_at_neck(mask: np.ndarray) -> list[np.ndarray]:
    """Split a mask at its narrowest neck; return parts, largest first, or the mask alone if it has none."""
    distance = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    for share in (0.1, 0.15, 0.2, 0.28, 0.36, 0.45, 0.55, 0.65):
        count, labels = cv2.connectedComponents((distance > max(1.0, share * distance.max())).astype(np.uint8))
        cores = [labels == i for i in range(1, count) if distance[labels == i].max() > 1.8 * share * distance.max()]
        parts = _grow(cores, mask) if len(cores) > 1 else []
        if len(parts) > 1 and min(part.sum() for part in parts) >= MIN_PART_SHARE * mask.sum():
            return parts
    return [mask]


def _grow(cores: list[np.ndarray], mask: np.ndarray) -> list[np.ndarray]:
    """Give each pixel of the mask to the nearest core; return the results, largest first."""
    distances = [cv2.distanceTransform((~core).astype(np.uint8), cv2.DIST_L2, 5) for core in cores]
    nearest = np.argmin(distances, axis=0)
    return sorted((mask & (nearest == i) for i in range(len(cores))), key=np.count_nonzero, reverse=True)
