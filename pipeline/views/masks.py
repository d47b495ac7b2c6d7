"""Carry the masks of the main frame to further views by geometry.

Each pixel of a view is a point that the main camera measured too, or that was hidden from it, or that it saw through.
Points that both measured vote for the mask that they lie in; a segment of the view gets the mask that its points vote
for. Points that were hidden behind an object may be its far side.
"""

from collections.abc import Sequence

import numpy as np
from scipy.spatial import KDTree

from pipeline.frame import Frame, FurtherView, Support
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.geometry import transform
from pipeline.segmentation import DepthSegmenter, Segment
from pipeline.views.consistency import Consistency, compare

MIN_VOTES = 20
"""Pixels that show the surface of a mask, from which a segment of the view may be its object."""
CLEAR_SHARE = 0.85
"""Share of the votes of one mask from which a segment of the view is one object; below it is split."""
FAR_SIDE_GAP_M = 0.015
"""Distance from the known part of an object up to which what was hidden behind it may be its far side."""


def carry_masks(
    main: Frame, support: Support, segments: Sequence[Segment], views: Sequence[tuple[Frame, np.ndarray]]
) -> tuple[FurtherView, ...]:
    """Return the views with the pixels that show the objects of `segments`.

    Args:
        main: the main frame, in which the segments are.
        support: its table, in whose world the views are placed.
        segments: masks of the main frame.
        views: each a frame and its main_from_camera, of shape (4, 4).
    """
    labels = np.zeros(main.depth.shape, int)
    for segment in segments:
        labels[segment.mask] = segment.id
    return tuple(
        FurtherView(frame, support.world_from_camera @ pose, _labels(main, labels, frame, pose))
        for frame, pose in views
    )


def _labels(main: Frame, labels: np.ndarray, view: Frame, main_from_view: np.ndarray) -> np.ndarray:
    """Return the id of the segment that each pixel of a view shows, of shape (H, W), int; 0 for none."""
    known = view.depth > 0
    points = transform(main_from_view, view.points[known].astype(float))
    seen = compare(points, main, np.eye(4))
    label = labels[seen.pixels[:, 1], seen.pixels[:, 0]]
    found = np.where(seen.same, label, 0)
    numbers = np.full(view.depth.shape, -1)
    numbers[known] = np.arange(len(points))
    rest = []
    for mask in _objects(view):
        rows = numbers[mask & known]
        if not _assign(rows, label, seen, points, found):
            rest.append(rows)
    surface = {k: KDTree(points[found == k]) for k in np.unique(found[found > 0])}
    for rows in rest:
        _assign_far_side(rows, label, seen, points, surface, found)
    found[seen.seen_through] = 0
    carried = np.zeros(view.depth.shape, int)
    carried[known] = found
    return carried


def _objects(view: Frame) -> tuple[np.ndarray, ...]:
    """Return what the embedded segmenter finds in a view, masks of shape (H, W), bool."""

    def find() -> tuple[np.ndarray, ...]:
        return tuple(segment.mask for segment in DepthSegmenter().open(view).automatic())

    return keep_with_frame(view, "objects of a further view", find)


def _assign(rows: np.ndarray, label: np.ndarray, seen: Consistency, points: np.ndarray, found: np.ndarray) -> bool:
    """Write into `found` whose surface the points of a segment are; return whether they show any that is known."""
    votes = np.bincount(label[rows][seen.same[rows]], minlength=2)
    votes[0] = 0
    best = int(votes.argmax())
    if votes[best] < MIN_VOTES:
        return False
    if votes[best] >= CLEAR_SHARE * votes.sum():
        found[rows] = best
        return True
    sure = rows[seen.same[rows] & (label[rows] > 0)]
    found[rows] = label[sure][KDTree(points[sure]).query(points[rows])[1]]
    return True


def _assign_far_side(
    rows: np.ndarray, label: np.ndarray, seen: Consistency, points: np.ndarray, surface: dict[int, KDTree],
    found: np.ndarray,
) -> None:  # fmt: skip
    """Write into `found` a segment that was hidden from the main camera by the one object that it touches."""
    behind = np.bincount(label[rows][seen.hidden[rows]], minlength=1)
    best = int(behind.argmax())
    if best == 0 or best not in surface or behind[best] < CLEAR_SHARE * len(rows):
        return
    if np.quantile(surface[best].query(points[rows])[0], 0.1) < FAR_SIDE_GAP_M:
        found[rows] = best
