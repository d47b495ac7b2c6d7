"""What the camera measured of one object: its segment, its description, its match and its points in world axes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np

from pipeline.description import Description
from pipeline.frame import Frame, Observation
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.frame.surfaces import surface_under
from pipeline.geometry import transform
from pipeline.matching import Match
from pipeline.scene.registration import RegistrationTarget
from pipeline.segmentation import Segment
from pipeline.store import digest

CLUSTER_GAP_M = 0.05
"""Distance from the main cluster of a segment's points within which smaller clusters belong to the object."""


@dataclass(frozen=True, eq=False)
class ObservedObject:
    """One object as the camera measured it."""

    observation: Observation
    """Its support is the surface that the object is over: the table or a shelf."""
    segment: Segment
    description: Description
    match: Match | None
    """None if the object was not matched."""
    points: np.ndarray
    """Measured points of all views in world axes, of shape (N, 3), in metres."""

    @cached_property
    def key(self) -> str:
        """A hash of what was measured of it, to key what is computed from that."""
        return digest(self.points, self.segment.mask_digest)

    @cached_property
    def top(self) -> float:
        """Height in metres of the highest points above the table."""
        return float(np.quantile(self.points[:, 2], 0.98))

    @cached_property
    def bottom(self) -> float:
        """Height in metres of the lowest points above the table."""
        return float(np.quantile(self.points[:, 2], 0.05))

    @property
    def ground(self) -> float:
        """Height in metres of the surface that the object is over: 0 for the table."""
        return self.observation.support.height

    @cached_property
    def target(self) -> RegistrationTarget:
        """What a surface is registered to."""
        others = (RegistrationTarget(self.points, one.frame, one.world_from_camera) for one in self.observation.views)
        camera = self.observation.support.world_from_camera
        return RegistrationTarget(self.points, self.observation.frame, camera, tuple(others))


def observe_objects(
    observation: Observation, segments: Iterable[Segment], descriptions: Iterable[Description], matches: Iterable[Match]
) -> tuple[ObservedObject, ...]:
    """Return every segment that is described as an object, in the order of the segments."""
    described = {d.segment_id: d for d in descriptions if d.is_object}
    matched = {m.segment_id: m for m in matches}
    return tuple(observe(observation, s, described[s.id], matched.get(s.id)) for s in segments if s.id in described)


def observe(
    observation: Observation, segment: Segment, description: Description, match: Match | None = None
) -> ObservedObject:
    """Return one segment as an observed object."""
    under = surface_under(observation.frame, observation.support, segment.mask)
    observation = observation if under is observation.support else replace(observation, support=under)
    return ObservedObject(observation, segment, description, match, object_points(observation, segment))


def match_score(match: Match | None) -> float:
    """Return the score of the asset that was chosen, in [0, 1]; 0 if none was."""
    if match is None:
        return 0.0
    return max((c.score for c in match.candidates if c.asset_id == match.asset_id), default=0.0)


def object_points(observation: Observation, segment: Segment) -> np.ndarray:
    """Return a segment's points above the support in world axes, of shape (N, 3), without depth errors at its edge.

    The frame keeps them, because every stage asks for them again.
    """
    views = [(view.world_from_camera, view.mask(segment.id)) for view in observation.views]
    key = digest("object points", observation.support.world_from_camera, segment.mask_digest, *views)
    return keep_with_frame(observation.frame, key, lambda: _object_points(observation, segment))


def _object_points(observation: Observation, segment: Segment) -> np.ndarray:
    views = [(observation.frame, observation.support.world_from_camera, segment.mask)]
    views += [(view.frame, view.world_from_camera, view.mask(segment.id)) for view in observation.views]
    points = np.concatenate([_view_points(*view, observation.support.height) for view in views])
    points = points[_in_main_cluster(points)]
    points.flags.writeable = False
    return points


def _view_points(frame: Frame, world_from_camera: np.ndarray, mask: np.ndarray, ground: float) -> np.ndarray:
    """Return what one view measured of an object above a surface at height `ground` in metres, of shape (N, 3)."""
    inner = cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
    mask = inner if inner.sum() > 100 else mask
    points = transform(world_from_camera, frame.points[mask & (frame.depth > 0)].astype(float))
    # Points less far above the table, or a shelf, count as its own
    return points[points[:, 2] > ground + 0.003]


def _in_main_cluster(points: np.ndarray) -> np.ndarray:
    """Return which points belong to the main cluster or lie near it, of shape (N,), bool."""
    import open3d  # takes a second to import

    if len(points) < 30:
        return np.ones(len(points), bool)
    step = max(1, len(points) // 1500)
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points[::step]))
    labels = np.asarray(cloud.cluster_dbscan(eps=0.02, min_points=4))
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    if not sizes.any():
        return np.ones(len(points), bool)
    main = points[::step][labels == sizes.argmax()]
    low, high = main.min(0) - CLUSTER_GAP_M, main.max(0) + CLUSTER_GAP_M
    selected = np.zeros(len(points), bool)
    for label in np.flatnonzero(sizes >= 0.05 * sizes.max()):
        cluster = points[::step][labels == label]
        if ((cluster > low) & (cluster < high)).all(1).mean() > 0.5:
            selected |= ((points >= cluster.min(0) - 0.005) & (points <= cluster.max(0) + 0.005)).all(1)
    return selected
