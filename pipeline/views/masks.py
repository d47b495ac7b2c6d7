"""Carry the masks of the main frame to further views by geometry.

Each pixel of a view is a point that the main camera measured too, or that was hidden from it, or that it saw through.
A segment of the view belongs to the masks of whose surfaces it shows some; points that were hidden behind an object may
be its far side.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from scipy.spatial import KDTree

from pipeline.frame import Frame, FurtherView, Support
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.geometry import transform
from pipeline.segmentation import DepthSegmenter, Segment
from pipeline.segmentation.segment import Carrier
from pipeline.views.consistency import compare

MIN_VOTES = 20
"""Pixels that show the surface of a mask, from which a segment of the view may be its object."""
MIN_HIDDEN_SHARE = 0.1
"""Share of a segment's points that lie behind a mask, from which they may be that object's far side."""
METRES_PER_COLOUR = 0.02 / 25
"""What a difference of 1 in CIELAB counts: 25, from which colours are different surfaces, is as far as 2 cm."""
FAR_SIDE_GAP_M = 0.015
"""Distance from the known part of an object up to which what was hidden behind it may be its far side."""
HIDER_GAP_M = 0.025
"""The same for a point of a segment that shows the surface of another object."""


def carry_masks(
    main: Frame, support: Support, segments: Sequence[Segment], views: Sequence[tuple[Frame, np.ndarray]],
    carrier: Carrier | None = None,
) -> tuple[FurtherView, ...]:  # fmt: skip
    """Return the views with the pixels that show the objects of `segments`. Raises SegmentationError of a carrier.

    Args:
        main: the main frame, in which the segments are.
        support: its table, in whose world the views are placed.
        segments: masks of the main frame.
        views: each a frame and its main_from_camera, of shape (4, 4).
        carrier: parts the views too; geometry decides which object each of its masks shows, as for the embedded ones.
    """
    pictures, masks = [main.rgb, *(frame.rgb for frame, _ in views)], [segment.mask for segment in segments]
    carried = carrier(pictures, masks) if carrier and masks else [[]] * len(views)
    labels = np.zeros(main.depth.shape, int)
    for segment in segments:
        labels[segment.mask] = segment.id
    return tuple(
        FurtherView(frame, support.world_from_camera @ pose, _labels(main, labels, frame, pose, parts))
        for (frame, pose), parts in zip(views, carried, strict=True)
    )


def _labels(
    main: Frame, labels: np.ndarray, view: Frame, main_from_view: np.ndarray, parts: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the id of the segment that each pixel of a view shows, of shape (H, W), int; 0 for none.

    `parts` are masks (H, W) of a carrier, which count over the embedded segmenter's.
    """
    known = view.depth > 0
    points = transform(main_from_view, view.points[known].astype(float))
    seen = compare(points, main, np.eye(4))
    label = labels[seen.pixels[:, 1], seen.pixels[:, 0]]
    found = np.where(seen.same, label, 0)
    numbers = np.full(view.depth.shape, -1)
    numbers[known] = np.arange(len(points))
    features = _features(points, view.rgb[known])
    measured = (labels > 0) & (main.depth > 0)
    surfaces = _features(main.points[measured].astype(float), main.rgb[measured])
    trees = {int(k): KDTree(surfaces[labels[measured] == k][::3]) for k in np.unique(labels[measured])}
    objects = (*_objects(view), *(part for part in parts if part.any()))
    for mask in objects:
        rows = numbers[mask & known]
        found[rows] = _owner(label[rows], seen.same[rows], seen.hidden[rows], features[rows], trees, found[rows])
    found[seen.seen_through] = 0
    carried = np.zeros(view.depth.shape, int)
    carried[known] = found
    loose = (carried > 0) & ~np.any([*objects, np.zeros_like(known)], axis=0)  # of objects that were not found here
    solid = cv2.morphologyEx(loose.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)).astype(bool)
    carried[loose & ~solid] = 0
    return carried


def _features(points: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """Return points (N, 3) in metres with their colours in CIELAB, scaled to metres, of shape (N, 6)."""
    lab = cv2.cvtColor(rgb[None].astype(np.float32) / 255, cv2.COLOR_RGB2LAB)[0]
    return np.hstack([points, METRES_PER_COLOUR * lab])


def _objects(view: Frame) -> tuple[np.ndarray, ...]:
    """Return what the embedded segmenter finds in a view, masks of shape (H, W), bool."""

    def find() -> tuple[np.ndarray, ...]:
        return tuple(segment.mask for segment in DepthSegmenter().open(view).automatic())

    return keep_with_frame(view, "objects of a further view", find)


def _owner(
    label: np.ndarray, same: np.ndarray, hidden: np.ndarray, features: np.ndarray, trees: dict[int, KDTree],
    found: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return whose surface the points (N,) of one segment of the view are; `found` where that is not known.

    A segment is of the masks that it shows or that may hide its object; of several, each point is of the one whose
    surface is nearest in place and colour. A segment that shows no known surface is a far side if it touches one.
    """
    shown, behind = (np.bincount(label[which], minlength=1) for which in (same, hidden))
    owners = [k for k in trees if shown[k : k + 1].sum() >= MIN_VOTES]
    hiders = [k for k in trees if behind[k : k + 1].sum() >= max(MIN_VOTES, MIN_HIDDEN_SHARE * len(label))]
    distance = {k: trees[k].query(features)[0] for k in {*owners, *hiders}}
    for k in (k for k in hiders if owners and k not in owners):
        distance[k][~hidden | (label != k) | (distance[k] > HIDER_GAP_M)] = np.inf
    if owners:
        near = list(distance)
        return np.array(near)[np.argmin([distance[k] for k in near], axis=0)]
    gaps = sorted((float(np.quantile(distance[k], 0.1)), k) for k in hiders)
    return np.full(len(label), gaps[0][1]) if gaps and gaps[0][0] < FAR_SIDE_GAP_M else found
