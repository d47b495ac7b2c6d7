"""What was seen of one object: its points in the world's axes."""

from collections.abc import Iterable
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.description import Description
from pipeline.frame import Frame
from pipeline.frame.support import Support
from pipeline.geometry import transform
from pipeline.matching import Match
from pipeline.segmentation import Segment

NEAR = 0.05
"""Metres from the main cluster of a segment's points within which smaller clusters belong to it."""
ABOVE = 0.003


@dataclass(frozen=True, eq=False)
class Seen:
    """One object with its points, of shape (N, 3), in world axes."""

    segment: Segment
    description: Description
    match: Match | None
    points: np.ndarray

    @property
    def top(self) -> float:
        """Height of its highest points, in metres above the table."""
        return float(np.quantile(self.points[:, 2], 0.98))

    @property
    def low(self) -> float:
        """Height of its lowest points."""
        return float(np.quantile(self.points[:, 2], 0.05))


def things_seen(
    frame: Frame,
    support: Support,
    segments: Iterable[Segment],
    descriptions: Iterable[Description],
    matches: Iterable[Match],
) -> tuple[Seen, ...]:
    """Every segment that is an object, in the order of the segments."""
    described = {d.segment_id: d for d in descriptions if d.is_object}
    matched = {m.segment_id: m for m in matches}
    return tuple(
        Seen(s, described[s.id], matched.get(s.id), object_points(frame, support, s))
        for s in segments
        if s.id in described
    )


def object_points(frame: Frame, support: Support, segment: Segment) -> np.ndarray:
    """A segment's own points in world axes, of shape (N, 3): above the table, without what bled in at its edge."""
    inner = cv2.erode(segment.mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    mask = inner if inner.sum() > 100 else segment.mask
    points = transform(support.world_from_camera, frame.points[mask & (frame.depth > 0)].astype(float))
    points = points[points[:, 2] > ABOVE]
    return points[_of_one_thing(points)]


def _of_one_thing(points: np.ndarray) -> np.ndarray:
    """Which points belong to the main cluster or near it, of shape (N,), bool."""
    import open3d

    if len(points) < 30:
        return np.ones(len(points), bool)
    step = max(1, len(points) // 1500)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[::step]))
    labels = np.asarray(cloud.cluster_dbscan(eps=0.02, min_points=4))
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    if not sizes.any():
        return np.ones(len(points), bool)
    main = points[::step][labels == sizes.argmax()]
    low, high = main.min(0) - NEAR, main.max(0) + NEAR
    keep = np.zeros(len(points), bool)
    for label in np.flatnonzero(sizes >= 0.05 * sizes.max()):
        part = points[::step][labels == label]
        if ((part > low) & (part < high)).all(1).mean() > 0.5:
            keep |= ((points >= part.min(0) - 0.005) & (points <= part.max(0) + 0.005)).all(1)
    return keep
