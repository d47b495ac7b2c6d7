"""Find planes in a depth image one after the other, and refine them in inverse depth."""

import cv2
import numpy as np

from pipeline.frame.frame import Frame, Intrinsics, subsampling_step
from pipeline.geometry import Plane

MAX_DEPTH = 4.0
"""Metres; farther points are too noisy to find a table in."""
SEARCH_WIDTH = 320
"""Pixels in a row of the image in which planes are searched."""
MAX_POINTS = 20_000
"""Points in which planes are searched; more only take longer."""
REGION_CELL = 0.01
"""Metres along a cell of the grid on which the area of a region is measured."""
HYPOTHESES, SCORING_POINTS = 400, 3000
"""Planes that RANSAC tries, and points on which it scores each."""


def depth_noise(depth: np.ndarray) -> np.ndarray:
    """Return the noise in metres to expect at depths in metres; the noise of stereo grows with the square of depth."""
    return 0.003 + 0.003 * depth**2


def find_planes(frame: Frame, max_planes: int = 9) -> list[Plane]:
    """Return the largest planes in camera axes, normals towards the camera; always the same for the same frame.

    open3d's segment_plane is not used: it runs in threads, and the same seed gave tables 5 mm apart from run to run.
    """
    valid = (frame.depth > 0) & (frame.depth < MAX_DEPTH)
    points = frame.points[valid].astype(float)
    points = points[:: max(1, len(points) // MAX_POINTS)]
    min_points, planes, random = max(100, len(points) // 80), [], np.random.default_rng(0)
    while len(points) > min_points and len(planes) < max_planes:
        plane = _largest_plane(points, random)
        near = np.abs(plane.height(points)) < 2 * depth_noise(points[:, 2])
        if near.sum() < min_points:
            break
        planes.append(plane)
        points = points[~near]
    return planes


def _largest_plane(points: np.ndarray, random: np.random.Generator) -> Plane:
    """Return the plane through three of the points that most points lie near: RANSAC (Fischler and Bolles, 1981)."""
    a, b, c = points[random.integers(0, len(points), (3, HYPOTHESES))]
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    a, normals = a[area > 1e-9], normals[area > 1e-9] / area[area > 1e-9, None]  # three points on a line span none
    if not len(normals):
        return Plane(np.array([0.0, 0, -1]), 1e6)
    offsets = -np.einsum("ij,ij->i", normals, a)
    scored = points[:: max(1, len(points) // SCORING_POINTS)]
    near = np.abs(scored @ normals.T + offsets) < depth_noise(scored[:, 2:])
    best = int(np.count_nonzero(near, axis=0).argmax())
    sign = 1.0 if offsets[best] > 0 else -1.0
    return Plane(sign * normals[best], sign * float(offsets[best]))


def subsample_frame(frame: Frame, width: int) -> Frame:
    """Return a frame of every n-th pixel, about `width` of them in a row, in which planes are faster to find."""
    step, k = subsampling_step(frame, width), frame.intrinsics
    rgb, depth = frame.rgb[::step, ::step], frame.depth[::step, ::step]
    small = Intrinsics(depth.shape[1], depth.shape[0], k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    return frame if step == 1 else Frame(rgb, depth, small, frame.world_from_camera)


def refine_plane(frame: Frame, plane: Plane) -> tuple[Plane, np.ndarray]:
    """Fit the plane to all its pixels by least squares; return it with those pixels, of shape (H, W), bool.

    In inverse depth a plane is linear in the pixel and stereo noise is uniform: 1 / z = ray . w, w = -normal / offset.
    """
    rays = pixel_rays(frame)
    for shrink in (3.0, 2.0, 1.2, 1.0, 0.8, 0.8, 0.8):
        region = largest_region(_near(frame, plane, shrink))
        if region.sum() < 50:
            break
        a, b = rays[region].astype(float), 1 / frame.depth[region].astype(float)
        error = np.abs(a @ _least_squares(a, b) - b)
        consistent = error <= 3 * np.median(error) + 1e-9
        w = _least_squares(a[consistent], b[consistent])
        plane = Plane(-w / np.linalg.norm(w), float(1 / np.linalg.norm(w)))
    return plane, plane_inliers(frame, plane)


def _least_squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(a.T @ a, a.T @ b, rcond=None)[0]


def plane_inliers(frame: Frame, plane: Plane, seeds: np.ndarray | None = None) -> np.ndarray:
    """Return the largest region of pixels that show a plane, of shape (H, W), bool, or that with most of the seeds."""
    return largest_region(_near(frame, plane, 1.0), seeds)


def plane_regions(frame: Frame, plane: Plane, min_share: float) -> list[np.ndarray]:
    """Return the regions (H, W) of pixels that show a plane, each at least this share of the image."""
    mask = _near(frame, plane, 1.0)
    count, labels = _labelled(mask)
    regions = (mask & (labels == number) for number in range(1, count))
    return [one for one in regions if one.mean() >= min_share and _lies_in(frame, plane, one)]


def with_hidden_parts(frame: Frame, plane: Plane, region: np.ndarray) -> np.ndarray:
    """Return a region (H, W) of a plane with those that only objects in front of the plane separate from it."""
    near = cv2.morphologyEx(_near(frame, plane, 1.0).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8)) > 0
    height = frame.points @ plane.normal.astype(np.float32) + np.float32(plane.offset)
    _, linked = cv2.connectedComponents((near | (height > 0)).astype(np.uint8))
    link = linked == np.bincount(linked[region & near], minlength=1).argmax()
    count, parts = cv2.connectedComponents((near & link).astype(np.uint8))
    regions = (parts == number for number in range(1, count))
    return np.any([region, *(one for one in regions if _lies_in(frame, plane, one))], axis=0)


def _lies_in(frame: Frame, plane: Plane, region: np.ndarray) -> bool:
    """Whether a region (H, W) lies in a plane, and is not the stripe in which an object's side crosses it."""
    along = np.cross(plane.normal, [1.0, 0, 0] if abs(plane.normal[0]) < 0.9 else [0, 1.0, 0])
    along /= np.linalg.norm(along)
    flat = (frame.points[region] @ np.stack([along, np.cross(plane.normal, along)], 1)).astype(np.float32)
    sides = cv2.minAreaRect(flat)[1]
    area = len(np.unique(np.floor(flat / REGION_CELL), axis=0)) * REGION_CELL**2
    # Metres, and share of its bounding rectangle, from which a region lies in a plane; sides of objects only cross it
    return min(sides) > 0.04 and area > 0.6 * sides[0] * sides[1]


def pixel_rays(frame: Frame) -> np.ndarray:
    """Return the direction of each pixel in camera axes, with z = 1, of shape (H, W, 3), float32."""
    k = frame.intrinsics
    u, v = np.meshgrid(np.arange(k.width, dtype=np.float32), np.arange(k.height, dtype=np.float32))
    return k.ray_directions(u, v)


def largest_region(mask: np.ndarray, seeds: np.ndarray | None = None) -> np.ndarray:
    """Return the largest connected region of a mask (H, W), with regions that only a thin gap separates from it.

    With seeds (H, W), it is the region that holds most of them.
    """
    count, labels = _labelled(mask)
    if count < 2:
        return np.zeros_like(mask)
    counted = mask & (labels > 0) if seeds is None else mask & (labels > 0) & seeds
    area = np.bincount(labels[counted], minlength=count)
    return mask & (labels == area.argmax())


def _labelled(mask: np.ndarray) -> tuple[int, np.ndarray]:
    """Label the connected regions of a mask (H, W) across thin gaps; return their number with the background's."""
    size = max(3, mask.shape[1] // 40) | 1
    opened = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    closed = cv2.morphologyEx(opened, cv2.MORPH_CLOSE, np.ones((size, size), np.uint8))
    return cv2.connectedComponents(closed)


def _near(frame: Frame, plane: Plane, tolerance: float) -> np.ndarray:
    height = frame.points @ plane.normal.astype(np.float32) + np.float32(plane.offset)  # NaN compares as false
    return (np.abs(height) < tolerance * depth_noise(frame.depth)) & (frame.depth < MAX_DEPTH)
