"""What speaks against a mask that no person has looked at yet."""

import cv2
import numpy as np

from pipeline.segmentation.segment import Segment

POOR, GOOD = 0.75, 0.9
"""Predicted overlap with the true mask below which a mask needs a look, and from which it is called good."""
SPECK = 0.03
"""Share of a mask below which a separate piece does not count."""


def doubts(segment: Segment) -> tuple[str, ...]:
    """Reasons to look again, a sentence each; none for a person's own mask."""
    if segment.source == "human":
        return ()
    found = []
    quality = predicted(segment)
    if quality is not None and quality < POOR:
        found.append(f"Its predicted quality is low ({quality:.2f}).")
    if segment.source == "depth" and segment.score < POOR:
        found.append("It may hold several things: S, then S again splits it.")
    count, _, stats, _ = cv2.connectedComponentsWithStats(segment.mask.astype(np.uint8))
    pieces = int((stats[1:count, cv2.CC_STAT_AREA] > SPECK * segment.mask.sum()).sum())
    if pieces > 1:
        found.append(f"It is in {pieces} separate pieces.")
    return tuple(found)


def predicted(segment: Segment) -> float | None:
    """The quality that its segmenter predicted, in [0, 1]; None where it predicts none."""
    return float(segment.score) if segment.source == "sam2" else None
