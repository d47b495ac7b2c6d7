"""Agreement of depth edges with colour edges: whether depth and photograph show the same scene from the same camera."""

import cv2
import numpy as np

from pipeline.frame import Frame
from pipeline.frame.frame import subsampling_step
from pipeline.geometry import transform

WORKING_WIDTH = 320
MAX_FILL = 6.0
"""Pixels at working width over which unknown depth takes the nearest known one: the shadows of depth cameras."""
REACH = 3
"""Pixels at working width on both sides of an edge."""
MIN_STEP = 0.02
"""Step of depth, relative to the distance, from which it is an edge: several times the noise of depth cameras."""
MIN_EDGE_POINTS, MAX_EDGE_POINTS = 100, 2000
"""Edge points from which the agreement is measured, and the most that are used."""
SHIFTS = np.arange(-30, 31, 2)
"""Shifts along each axis, in pixels at working width."""
NEAR, FAR = 3, 10
"""Pixels up to which a shift is none, and from which it is a wrong one."""


def edge_agreement(frame: Frame, world_from_camera: np.ndarray, outline: np.ndarray) -> float | None:
    """Return how many times stronger the colour edges are at the depth edges than at the same edges shifted.

    1 is chance. Only edges over the ground count, whose `outline` (N, 2) is in world x and y. None if too few.
    """
    step = subsampling_step(frame, WORKING_WIDTH)
    depth = _filled(np.ascontiguousarray(frame.depth[::step, ::step]))
    inverse = np.divide(1, depth, out=np.zeros_like(depth), where=depth > 0)
    h, w = depth.shape
    v, u = np.nonzero(_near_side(inverse) > MIN_STEP)
    rays = frame.intrinsics.ray_directions(u * step, v * step)
    points = transform(world_from_camera, rays * depth[v, u, None])
    used = np.flatnonzero(over_outline(points[:, :2], outline) & (points[:, 2] > 0))
    if len(used) < MIN_EDGE_POINTS:
        return None
    used = used[:: -(-len(used) // MAX_EDGE_POINTS)]
    v, u = v[used], u[used]
    normals = _unit(_gradient(cv2.GaussianBlur(inverse, (0, 0), 1.5))[v, u])
    pad = SHIFTS.max()
    edges = np.pad(_colour_edges(cv2.resize(frame.rgb, (w, h), interpolation=cv2.INTER_AREA)), ((pad,), (pad,), (0,)))
    inside = np.pad(np.ones((h, w), np.float32), pad)
    strength = np.empty((len(SHIFTS), len(SHIFTS)))
    for i, j in np.ndindex(strength.shape):
        at = v + pad + SHIFTS[i], u + pad + SHIFTS[j]
        strength[i, j] = np.abs((edges[at] * normals).sum(1)).sum() / max(1, inside[at].sum())
    length = np.hypot(*np.meshgrid(SHIFTS, SHIFTS))
    return float(strength[length <= NEAR].max() / max(strength[length >= FAR].mean(), 1e-6))


def over_outline(points: np.ndarray, outline: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """Return which points (..., 2 or more) lie in a convex, anticlockwise outline (N, 2), of shape (...).

    They are at least `margin` away from it.
    """
    sides = np.roll(outline, -1, axis=0) - outline
    across = sides[:, 0] * (points[..., 1, None] - outline[:, 1]) - sides[:, 1] * (points[..., 0, None] - outline[:, 0])
    return np.all(across >= margin * np.linalg.norm(sides, axis=1), axis=-1)


def _filled(depth: np.ndarray) -> np.ndarray:
    """Return depth (H, W) with small unknown regions filled and without single wrong pixels."""
    known = depth > 0
    if not known.any():
        return depth
    distance, labels = cv2.distanceTransformWithLabels(
        (~known).astype(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    label = labels.astype(int)
    nearest = np.zeros(label.max() + 1, np.float32)
    nearest[label[known]] = depth[known]
    return cv2.medianBlur(np.where(distance <= MAX_FILL, nearest[label], 0).astype(np.float32), 5)


def _near_side(inverse: np.ndarray) -> np.ndarray:
    """Return the steps of depth at their near sides, relative to the distance, of shape (H, W).

    Inverse depth is linear in the image of a plane, so that its second difference is zero on planes of any slope.
    """
    step = np.zeros_like(inverse)
    for rows, cols in ((REACH, 0), (0, REACH)):
        size = inverse.shape[0] - 2 * rows, inverse.shape[1] - 2 * cols
        before, middle, after = (
            inverse[k * rows : k * rows + size[0], k * cols : k * cols + size[1]] for k in range(3)
        )
        known = (before > 0) & (middle > 0) & (after > 0)
        second = np.where(known, (2 * middle - before - after) / np.maximum(middle, 1e-6), 0)
        part = step[rows : rows + size[0], cols : cols + size[1]]
        np.maximum(part, second, out=part)
    return step


def _colour_edges(rgb: np.ndarray) -> np.ndarray:
    """Return the gradient of the channel of CIELAB that changes most, of shape (H, W, 2), its length at most 1."""
    smooth = cv2.GaussianBlur(cv2.cvtColor(rgb, cv2.COLOR_RGB2LAB).astype(np.float32), (0, 0), 1.0)
    gradient = _gradient(smooth)
    channel = (gradient**2).sum(-1).argmax(-1)
    gradient = np.take_along_axis(gradient, channel[..., None, None], 2)[:, :, 0]
    length = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return gradient / np.maximum(length, np.percentile(length, 90) + 1e-6)


def _gradient(image: np.ndarray) -> np.ndarray:
    """Return the derivatives along x and y of an image (H, W, ...), of shape (H, W, ..., 2)."""
    return np.stack([cv2.Sobel(image, cv2.CV_32F, 1, 0), cv2.Sobel(image, cv2.CV_32F, 0, 1)], -1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / (np.linalg.norm(vectors, axis=-1, keepdims=True) + 1e-9)
