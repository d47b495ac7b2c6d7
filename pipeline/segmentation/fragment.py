"""Masks that are probably a part of another thing: a fleck that hangs in the air right beside something far larger.

The two need not touch in the picture: where a thing shines no depth is measured, and its mask ends there.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from pipeline.frame import Frame, Support
from pipeline.geometry import transform
from pipeline.segmentation.segment import Segment

SMALL = 0.1
"""Of the larger one's pixels, that a part has at most."""
TINY = 0.05
"""Metres that what was seen of a part is long at most."""
HANGS = 0.02
"""Metres above the table from which on nothing that small stands by itself."""
BESIDE = 0.03
"""Metres to the nearest point of the larger one."""
ABOVE = 0.01
"""Metres that a small thing which stands on the larger one rises above that."""
FEWEST = 5
EDGE = 3
"""Per cent of points cut off at each end of an extent: what bleeds over an edge in depth."""


def fragments(frame: Frame, support: Support, segments: Sequence[Segment]) -> dict[int, int]:
    """Which segment each fleck is probably a part of, by id."""
    seen = {one.id: _points(frame, support, one) for one in segments}
    pixels = {one.id: int(one.mask.sum()) for one in segments}
    found = {}
    for id, points in seen.items():
        larger = [other for other in seen if pixels[id] < SMALL * pixels[other] and len(seen[other]) >= FEWEST]
        if larger and len(points) >= FEWEST and _hangs(points):
            apart = {other: float(KDTree(seen[other]).query(points)[0].min()) for other in larger}
            whole = min(larger, key=apart.__getitem__)
            if apart[whole] < BESIDE and not _stands_on(points, seen[whole]):
                found[id] = whole
    return found


def _points(frame: Frame, support: Support, segment: Segment) -> np.ndarray:
    """World points of a mask, of shape (N, 3)."""
    return transform(support.world_from_camera, frame.points[segment.mask & (frame.depth > 0)].astype(float))


def _hangs(points: np.ndarray) -> bool:
    low, high = np.percentile(points, (EDGE, 100 - EDGE), axis=0)
    return bool(low[2] > HANGS and (high - low).max() < TINY)


def _stands_on(points: np.ndarray, larger: np.ndarray) -> bool:
    top, below = (np.percentile(one[:, 2], 100 - EDGE) for one in (points, larger))
    return bool(top > below + ABOVE)
