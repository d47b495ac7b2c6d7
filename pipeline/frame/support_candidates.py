"""Judge candidate planes by what stands on them: how likely each is the surface that carries the objects of a frame.

A conditional logit (McFadden, 1974) over the planes of a frame; scripts/training/fit_support.py fits its weights on
rendered tables, floors, bins, seats and shelves only.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame.frame import Frame
from pipeline.frame.once_per_frame import once_per_frame
from pipeline.frame.plane_extraction import (
    SEARCH_WIDTH,
    depth_noise,
    find_planes,
    plane_regions,
    refine_plane,
    subsample_frame,
)
from pipeline.geometry import Plane

MAX_OBJECT_EXTENT, MAX_OBJECT_HEIGHT = 0.45, 0.4
"""Metres along and above the plane up to which a cluster of points may be an object."""
MIN_SHARE = 0.01
"""Share of the image below which a plane is no candidate."""
WEIGHTS = {
    "area": 1.62, "upright": 0.97, "sideways": -1.69, "objects": 0.19, "object area": 3.01, "structures": -0.64,
    "below": -0.39, "distance": -2.22, "border": -0.44,
}  # fmt: skip
"""Log odds per unit of each feature, fitted on 276 rendered frames."""
FEATURES = tuple(WEIGHTS)


@dataclass(frozen=True, eq=False)
class SupportCandidate:
    """A plane that may be the support."""

    plane: Plane
    """In camera axes, the normal towards the camera."""
    inliers: np.ndarray
    """Pixels that show the plane, of shape (h, w), bool."""
    features: np.ndarray
    """Values of FEATURES, without unit, of shape (len(FEATURES),)."""
    is_apart: bool = False
    """Whether it is another region of a larger candidate's plane: a second table of the same height."""

    @property
    def log_odds(self) -> float:
        """Log odds of its being the ground; only differences within one frame matter."""
        return float(self.features @ list(WEIGHTS.values()))

    @property
    def object_count(self) -> int:
        """Number of movable clusters of points on it."""
        return round(float(np.expm1(self.features[FEATURES.index("objects")])))


@once_per_frame
def find_candidates(frame: Frame) -> list[SupportCandidate]:
    """Return the planes of a frame that may be its support, searched at SEARCH_WIDTH."""
    small = subsample_frame(frame, SEARCH_WIDTH)
    distinct: list[SupportCandidate] = []
    for first in find_planes(small):
        plane, inliers = refine_plane(small, first)
        known = any((one.inliers & inliers).sum() > 0.8 * inliers.sum() for one in distinct)
        if inliers.mean() >= MIN_SHARE and not known:
            distinct.append(SupportCandidate(plane, inliers, _features(small, plane, inliers)))
    return distinct


@once_per_frame
def find_apart(frame: Frame) -> list[SupportCandidate]:
    """Return regions that carry objects, apart from the candidates in whose planes they lie."""
    small, candidates = subsample_frame(frame, SEARCH_WIDTH), find_candidates(frame)
    taken, found = np.any([one.inliers for one in candidates], axis=0), []
    for plane in (one.plane for one in candidates):
        for region in plane_regions(small, plane, MIN_SHARE):
            one = SupportCandidate(plane, region, _features(small, plane, region), is_apart=True)
            if (region & taken).sum() < 0.2 * region.sum() and one.object_count:
                found.append(one)
                taken = taken | region
    return found


def _features(frame: Frame, plane: Plane, inliers: np.ndarray) -> np.ndarray:
    """Return FEATURES of a plane.

    Area, distance: logarithms of its share of the image and of its median depth. Upright, sideways: its normal's
    components up and across the image. Objects, object area: logarithms of the number of movable clusters on it and of
    their pixels. Structures, below: shares of the pixels over it that rise too far, or lie behind it. Border: share of
    the image's border that shows it.
    """
    known = frame.depth > 0
    over = _over_outline(inliers)
    height = np.where(known, frame.points @ plane.normal.astype(np.float32) + np.float32(plane.offset), 0)
    noise = depth_noise(frame.depth)
    # 0.01: metres above the plane from which a cluster counts
    above = known & over & (height > np.maximum(0.01, 2 * noise)) & (height < 2 * MAX_OBJECT_HEIGHT)
    below = known & over & (height < -np.maximum(0.015, 3 * noise))
    objects, structures = _clusters(frame, plane, height, above)
    visible = max(1, np.count_nonzero(known & over))
    edge = np.concatenate([inliers[0], inliers[-1], inliers[:, 0], inliers[:, -1]])
    return np.array(
        [
            np.log(inliers.mean()),
            np.clip(-plane.normal[1], -1, 1),
            abs(plane.normal[0]),
            np.log1p(len(objects)),
            np.log1p(20 * sum(objects) / visible),
            structures / visible,
            np.count_nonzero(below) / visible,
            np.log(np.median(frame.depth[inliers])),
            edge.mean(),
        ]
    )


def _over_outline(inliers: np.ndarray) -> np.ndarray:
    """Return the pixels (h, w) inside the convex outline of the inliers."""
    solid = cv2.morphologyEx(inliers.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    pixels = cv2.findNonZero(solid if solid.any() else inliers.astype(np.uint8))
    filled = cv2.fillConvexPoly(np.zeros(inliers.shape, np.uint8), cv2.convexHull(pixels), 1)
    return filled > 0


def _clusters(frame: Frame, plane: Plane, height: np.ndarray, above: np.ndarray) -> tuple[list[int], int]:
    """Return the pixels of each cluster that may be an object, and the pixels of all others."""
    if np.count_nonzero(above) < 10:
        return [], 0
    points = frame.points[above].astype(np.float32)
    along = np.cross(plane.normal, [1.0, 0, 0] if abs(plane.normal[0]) < 0.9 else [0, 1.0, 0])
    axes = np.stack([along, np.cross(plane.normal, along)], 1).astype(np.float32)
    flat = points @ axes
    # 0.01: metres along a cell of the grid on the plane, on which points above it are clustered
    cells = np.clip((flat - flat.min(0)) / 0.01, 0, 1000).astype(int) + 1
    grid = np.zeros(cells.max(0) + 2, np.uint8)
    grid[tuple(cells.T)] = 1
    count, labels = cv2.connectedComponents(grid, connectivity=8)
    label, z = labels[tuple(cells.T)], height[above]
    objects, structures = [], 0
    for number in range(1, count):
        own = label == number
        pixels = int(np.count_nonzero(own))
        if pixels < 12:
            continue
        extent = np.ptp(flat[own], axis=0)
        low, top = np.percentile(z[own], (3, 97))
        if extent.max() < MAX_OBJECT_EXTENT and top < MAX_OBJECT_HEIGHT and low < 0.06 and extent.max() > 0.012:
            objects.append(pixels)
        else:
            structures += pixels
    return objects, structures
