"""Render the depth of one camera in the pixels of another: project the points, keep the nearest."""

import math

import cv2
import numpy as np

from pipeline.frame.frame import Intrinsics
from pipeline.geometry import transform


def reproject(depth: np.ndarray, source: Intrinsics, target: Intrinsics, target_from_source: np.ndarray) -> np.ndarray:
    """Return depth (H, W) in metres of the camera `source` as the camera `target` measures it, in its shape, float32.

    Depth is upsampled first, so that surfaces show no gaps if `target` has more pixels than `source`.
    """
    factor = min(8, math.ceil(1.3 * max(target.fx / source.fx, target.fy / source.fy)))
    dense = upsample_depth(depth, depth.shape[1] * factor, depth.shape[0] * factor)
    rows, cols = np.nonzero(dense)
    z = dense[rows, cols].astype(float)
    u, v = ((centre + 0.5) / factor - 0.5 for centre in (cols, rows))
    rays = source.ray_directions(u, v)
    points = transform(target_from_source, rays * z[:, None])
    pixels, inside = project(points, target)
    index, z = pixels[inside, 1] * target.width + pixels[inside, 0], points[inside, 2]
    nearest = np.full(target.height * target.width, np.inf)
    np.minimum.at(nearest, index, z)
    # The mean over the surface: on slopes the nearest point alone is biased towards the camera.
    # Depth of a point over that of the nearest point in its pixel, up to which both belong to the same surface
    surface = z < 1.02 * nearest[index]
    count, total = (np.bincount(index[surface], weights, nearest.size) for weights in (None, z[surface]))
    return (total / np.maximum(count, 1)).reshape(target.height, target.width).astype(np.float32)


def project(points: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Return pixels x and y (N, 2), int, of points (N, 3) in camera axes, and which lie in the image, (N,), bool."""
    z = np.where(points[:, 2] > 1e-6, points[:, 2], np.nan)
    u, v = points[:, 0] / z * k.fx + k.cx, points[:, 1] / z * k.fy + k.cy
    inside = (u > -0.5) & (u < k.width - 0.5) & (v > -0.5) & (v < k.height - 0.5)  # false for NaN
    return np.rint(np.where(inside, np.stack([u, v]), 0)).astype(int).T, inside


def upsample_depth(depth: np.ndarray, width: int, height: int) -> np.ndarray:
    """Return depth (h, w) in metres at a higher resolution (height, width): linear on surfaces, nearest at edges."""
    size = (width, height)
    nearest = cv2.resize(depth, size, interpolation=cv2.INTER_NEAREST)
    linear = cv2.resize(depth, size, interpolation=cv2.INTER_LINEAR)
    low, high = (
        cv2.resize(extreme(depth, np.ones((3, 3), np.uint8)), size, interpolation=cv2.INTER_NEAREST)
        for extreme in (cv2.erode, cv2.dilate)
    )
    return np.where((low > 0) & (high < 1.05 * low), linear, nearest).astype(np.float32)
