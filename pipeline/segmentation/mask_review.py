"""Reasons for a person to review an automatic mask."""

import cv2
import numpy as np

from pipeline.segmentation.segment import Segment

REVIEW_IOU = 0.75
"""Predicted IoU below which a mask needs a review."""


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
