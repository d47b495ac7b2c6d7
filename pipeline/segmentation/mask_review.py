"""Finds what a person should review: doubtful masks, and fragments, small masks in the air beside a far larger one.

The two need not touch in the image: a shiny surface has no depth, and the mask ends there.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.frame import Frame, Support
from pipeline.frame.surfaces import surface_under
from pipeline.geometry import transform
from pipeline.segmentation.segment import Segment

REVIEW_IOU = 0.75
"""Predicted IoU below which a mask needs a review."""

MIN_POINTS = 5
TRIM_PERCENT = 3
"""Of the points, cut off at each end of an extent, because depth bleeds over edges."""


def review_reasons(segment: Segment) -> tuple[str, ...]:
    """Return the reasons to review a mask, one sentence each; none for a mask drawn by a person."""
    if segment.source == "human":
        return ()
    reasons = []
    quality = predicted_quality(segment)
    if quality is not None and quality < REVIEW_IOU:
        reasons.append(f"Its predicted quality is low ({quality:.2f}).")
    if segment.source == "depth" and segment.score < REVIEW_IOU:
        reasons.append("It may hold several objects: press S twice to split it.")
    count, _, stats, _ = cv2.connectedComponentsWithStats(segment.mask.astype(np.uint8))
    # 0.03: share of a mask below which a separate part does not count
    parts = int((stats[1:count, cv2.CC_STAT_AREA] > 0.03 * segment.mask.sum()).sum())
    if parts > 1:
        reasons.append(f"It has {parts} separate parts.")
    return tuple(reasons)


def predicted_quality(segment: Segment) -> float | None:
    """Return the IoU that the segmenter predicted, in [0, 1]; None if it predicts none."""
    return float(segment.score) if segment.source == "sam2" else None


def find_fragments(frame: Frame, support: Support, segments: Sequence[Segment]) -> dict[int, int]:
    """Return for each fragment the segment it is probably a part of, by id."""
    points_by_id = {segment.id: _points(frame, support, segment) for segment in segments}
    bottom = {segment.id: surface_under(frame, support, segment.mask).height for segment in segments}
    pixels = {segment.id: int(segment.mask.sum()) for segment in segments}
    fragments = {}
    for id, points in points_by_id.items():
        larger = [
            other
            for other in points_by_id
            # 0.1: pixels of a fragment over those of the larger mask
            if pixels[id] < 0.1 * pixels[other] and len(points_by_id[other]) >= MIN_POINTS
        ]
        if larger and len(points) >= MIN_POINTS and _is_floating(points, bottom[id]):
            gaps = {other: float(KDTree(points_by_id[other]).query(points)[0].min()) for other in larger}
            nearest = min(larger, key=gaps.__getitem__)
            # Metres to the nearest point of the larger mask
            if gaps[nearest] < 0.03 and not _stands_on(points, points_by_id[nearest]):
                fragments[id] = nearest
    return fragments


def _points(frame: Frame, support: Support, segment: Segment) -> np.ndarray:
    """Return the world points of a mask, of shape (N, 3)."""
    return transform(support.world_from_camera, frame.points[segment.mask & (frame.depth > 0)].astype(float))


def _is_floating(points: np.ndarray, bottom: float) -> bool:
    low, high = np.percentile(points, (TRIM_PERCENT, 100 - TRIM_PERCENT), axis=0)
    # 0.05: largest extent of a fragment in metres
    # 0.02: metres above the table from which nothing this small can stand by itself
    return bool(low[2] - bottom > 0.02 and (high - low).max() < 0.05)


def _stands_on(points: np.ndarray, larger: np.ndarray) -> bool:
    top, larger_top = (np.percentile(cloud[:, 2], 100 - TRIM_PERCENT) for cloud in (points, larger))
    # Metres by which a small object that stands on the larger one rises above it
    return bool(top > larger_top + 0.01)
