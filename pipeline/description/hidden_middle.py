"""Find the two ends of an object whose middle something nearer hides: two masks that show one box."""

from collections.abc import Sequence
from itertools import combinations, permutations

import cv2
import numpy as np

from pipeline.description.measure import measured_points
from pipeline.description.shape_fit import fit_upright_rectangle
from pipeline.frame import Frame, Support
from pipeline.frame.surfaces import lowered, surface_under
from pipeline.geometry import planar_rotation
from pipeline.segmentation import Segment

MAX_ERROR = 0.05
"""Largest median distance of each end from the faces of the box around both, relative to the box's mean extent."""
MAX_STEP_M = 0.01
"""Largest difference between the heights of both, and between their sides across the box."""
MAX_COLOUR = 30.0
"""Largest difference between the colours of both in CIELAB: they may show different parts of a print."""


def find_ends(frame: Frame, support: Support, segments: Sequence[Segment]) -> dict[int, int]:
    """Return the larger end of an object for each smaller end, by segment id."""
    kernel = np.ones((9, 9), np.uint8)
    around = {one.id: cv2.dilate(one.mask.astype(np.uint8), kernel).astype(bool) for one in segments}
    beside = {(a.id, b.id): bool((around[a.id] & b.mask).any()) for a, b in permutations(segments, 2)}
    known = {one.id: frame.depth[one.mask & (frame.depth > 0)] for one in segments}
    depth = {id: float(np.median(values)) if len(values) else np.inf for id, values in known.items()}
    ends: dict[int, int] = {}
    for small, large in combinations(sorted(segments, key=lambda one: int(one.mask.sum())), 2):
        nearest = min(depth[small.id], depth[large.id])
        is_hidden = any(
            depth[one.id] < nearest and beside[one.id, small.id] and beside[one.id, large.id]
            for one in segments
            if one is not small and one is not large
        )
        apart = not beside[small.id, large.id]
        if apart and is_hidden and small.id not in ends and _is_one_box(frame, support, small, large):
            ends[small.id] = large.id
    return ends


def _is_one_box(frame: Frame, support: Support, small: Segment, large: Segment) -> bool:
    """Whether two masks show the ends of one upright box, of like colours."""
    surface = surface_under(frame, support, large.mask)
    clouds = [measured_points(frame, lowered(surface), one.mask)[0] for one in (small, large)]
    lab = [np.median(_lab(frame.rgb[one.mask]), axis=0) for one in (small, large)]
    if np.linalg.norm(lab[0] - lab[1]) > MAX_COLOUR:
        return False
    size, yaw, centre = fit_upright_rectangle(np.concatenate(clouds)[:, :2])
    across = int(size.argmin())
    tops, sides, errors = [], [], []
    for points in clouds:
        local = (points[:, :2] - centre) @ planar_rotation(yaw)
        top = float(np.percentile(points[:, 2], 98))
        gaps = np.column_stack([np.abs(np.abs(local) - size / 2), np.abs(points[:, 2] - top)])
        tops.append(top)
        sides.append(np.percentile(local[:, across], (2, 98)))
        errors.append(float(np.median(gaps.min(axis=1))))
    steps = [abs(tops[0] - tops[1]), *np.abs(sides[0] - sides[1])]
    return max(errors) < MAX_ERROR * float(np.mean([*size, max(tops)])) and max(steps) < MAX_STEP_M


def _lab(rgb: np.ndarray) -> np.ndarray:
    """Return colours (N, 3), uint8, in CIELAB."""
    return cv2.cvtColor(rgb[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
