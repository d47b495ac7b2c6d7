"""Compare readings of a depth image by how well planes fit: a table is flat only in what is truly inverse depth.

1 / z of a plane is linear in the pixel. So values are distances along z if planes fit 1 / value, distances along the
ray if they fit |ray| / value, and an affine function of inverse depth (disparity, a z buffer) if they fit the value.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.frame.frame import Intrinsics

SAMPLED_WIDTH = 100
"""Samples in a row."""
TOLERANCE = 0.003
"""Share of a value up to which it lies on a plane: the noise of depth cameras at a table, 1 to 3 mm."""
HYPOTHESES, SCORING_SAMPLES, PLANES = 200, 1500, 2
"""Planes that RANSAC tries, samples on which it scores each, and planes that are counted: a table and a wall."""
OBJECT_HEIGHTS = (0.02, 0.5)
"""Heights above the plane, over the median distance, between which samples may show an object."""
MIN_OBJECT_SAMPLES = 8


@dataclass(frozen=True, eq=False)
class DepthSamples:
    """Known values of a depth image on a regular grid."""

    values: np.ndarray
    """On the grid, in any unit, of shape (h, w), float64; 0 where unknown."""
    rays: np.ndarray
    """Direction of each sample with z = 1, of shape (h, w, 3)."""

    @property
    def known(self) -> np.ndarray:
        """Which samples have a value, of shape (h, w), bool."""
        return self.values > 0

    @property
    def ray_lengths(self) -> np.ndarray:
        """Length of each known sample's ray with z = 1, of shape (N,)."""
        return np.linalg.norm(self.rays[self.known], axis=1)


def sample_depth(values: np.ndarray, k: Intrinsics) -> DepthSamples | None:
    """Sample values (H, W), 0 where unknown, at SAMPLED_WIDTH; None if too few are known."""
    step = max(1, round(values.shape[1] / SAMPLED_WIDTH))
    sampled = values[::step, ::step].astype(float)
    v, u = np.mgrid[0 : values.shape[0] : step, 0 : values.shape[1] : step]
    samples = DepthSamples(sampled, k.ray_directions(u, v))
    return samples if np.count_nonzero(samples.known) >= 400 else None


def planar_share(samples: DepthSamples, inverse: np.ndarray, tolerance: np.ndarray) -> float:
    """Return the share of the known samples on the largest planes if `inverse` (N,) is proportional to inverse depth.

    `tolerance`, of shape (N,), is how far off a sample of a plane may be.
    """
    rays, left = samples.rays[samples.known], np.ones(len(inverse), bool)
    for _ in range(PLANES):
        if np.count_nonzero(left) < 0.03 * len(left):
            break
        plane = _fit_plane(rays[left], inverse[left], tolerance[left])
        left[left] = np.abs(rays[left] @ plane - inverse[left]) > tolerance[left]
    return 1 - float(left.mean())


def object_extent(samples: DepthSamples) -> float | None:
    """Return the median extent of what stands on the largest plane, in the unit of the values; None without any.

    The values are distances along z. An extent is the square root of an object's visible area.
    """
    height = _heights(samples)
    above = (height > OBJECT_HEIGHTS[0]) & (height < OBJECT_HEIGHTS[1])
    count, labels, boxes, _ = cv2.connectedComponentsWithStats(above.astype(np.uint8))
    pixel = np.linalg.norm(samples.rays[0, 1] - samples.rays[0, 0])
    extents = [
        np.sqrt(boxes[i, cv2.CC_STAT_AREA]) * pixel * np.median(samples.values[labels == i])
        for i in range(1, count)
        if boxes[i, cv2.CC_STAT_AREA] >= MIN_OBJECT_SAMPLES
    ]
    return float(np.median(extents)) if extents else None


def shares_above_and_below(samples: DepthSamples) -> tuple[float, float]:
    """Return the shares of the known samples over the largest plane that lie before it and behind it."""
    height, known = _heights(samples), max(1, np.count_nonzero(samples.known))
    return float(np.sum(height > OBJECT_HEIGHTS[0]) / known), float(np.sum(height < -OBJECT_HEIGHTS[0]) / known)


def _heights(samples: DepthSamples) -> np.ndarray:
    """Return heights (h, w) above the largest plane over the median distance; 0 outside its outline and if unknown."""
    known, values = samples.known, samples.values[samples.known]
    plane = _fit_plane(samples.rays[known], 1 / values, 2 * TOLERANCE / values)
    height = np.where(known, (1 - samples.values * (samples.rays @ plane)) / np.linalg.norm(plane), 0)
    height /= np.median(values)
    on = known & (np.abs(height) < OBJECT_HEIGHTS[0] / 2)
    if not on.any():
        return np.zeros_like(height)
    outline = cv2.convexHull(cv2.findNonZero(on.astype(np.uint8)))
    return np.where(cv2.fillConvexPoly(np.zeros(on.shape, np.uint8), outline, 1) > 0, height, 0)


def _fit_plane(rays: np.ndarray, inverse: np.ndarray, tolerance: np.ndarray) -> np.ndarray:
    """Return w (3,) for which inverse = rays . w holds for most samples."""
    random = np.random.default_rng(0)
    triples = random.integers(0, len(rays), (HYPOTHESES, 3))
    corners = rays[triples]
    spans = np.abs(np.linalg.det(corners)) > 1e-4  # three samples on a line span no plane
    if not spans.any():
        return np.array([0, 0, np.median(inverse)])
    planes = np.linalg.solve(corners[spans], inverse[triples][spans][..., None])[..., 0]
    scored = slice(None, None, max(1, len(rays) // SCORING_SAMPLES))
    near = np.abs(rays[scored] @ planes.T - inverse[scored, None]) < tolerance[scored, None]
    plane = planes[near.sum(0).argmax()]
    for _ in range(3):
        close = np.abs(rays @ plane - inverse) < tolerance
        if close.sum() < 20:
            break
        weights = 1 / tolerance[close]
        plane = np.linalg.lstsq(rays[close] * weights[:, None], inverse[close] * weights, rcond=None)[0]
    return plane
