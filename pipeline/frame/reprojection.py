"""Depth seen by one camera, drawn into another: points forward, the nearest wins."""

import math

import cv2
import numpy as np

from pipeline.frame.frame import Intrinsics
from pipeline.geometry import transform

SAME_SURFACE = 1.02
"""How much farther than the nearest point in a pixel another may lie and still be of the same surface."""


def reproject(depth: np.ndarray, seen_by: Intrinsics, into: Intrinsics, into_from_seen: np.ndarray) -> np.ndarray:
    """Depth (H, W) in metres of the camera `seen_by`, as the camera `into` would see it, of its shape, float32.

    Pixels are cut finely enough that a surface shows no gaps where `into` has more pixels than `seen_by`.
    """
    fine = min(8, math.ceil(1.3 * max(into.fx / seen_by.fx, into.fy / seen_by.fy)))
    dense = enlarge(depth, depth.shape[1] * fine, depth.shape[0] * fine)
    rows, cols = np.nonzero(dense)
    z = dense[rows, cols].astype(float)
    u, v = ((at + 0.5) / fine - 0.5 for at in (cols, rows))
    rays = np.stack([(u - seen_by.cx) / seen_by.fx, (v - seen_by.cy) / seen_by.fy, np.ones_like(u)], -1)
    points = transform(into_from_seen, rays * z[:, None])
    pixels, inside = project(points, into)
    place, z = pixels[inside, 1] * into.width + pixels[inside, 0], points[inside, 2]
    nearest = np.full(into.height * into.width, np.inf)
    np.minimum.at(nearest, place, z)
    surface = z < SAME_SURFACE * nearest[place]  # the mean, for the nearest alone leans towards the camera on a slope
    count, total = (np.bincount(place[surface], weights, nearest.size) for weights in (None, z[surface]))
    return (total / np.maximum(count, 1)).reshape(into.height, into.width).astype(np.float32)


def project(points: np.ndarray, k: Intrinsics) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (N, 2) int, x and y, of points (N, 3) in camera axes, and which of them, (N,) bool, lie in the picture."""
    z = np.where(points[:, 2] > 1e-6, points[:, 2], np.nan)
    u, v = points[:, 0] / z * k.fx + k.cx, points[:, 1] / z * k.fy + k.cy
    inside = (u > -0.5) & (u < k.width - 0.5) & (v > -0.5) & (v < k.height - 0.5)  # false for NaN
    return np.rint(np.where(inside, np.stack([u, v]), 0)).astype(int).T, inside


def enlarge(depth: np.ndarray, width: int, height: int) -> np.ndarray:
    """Depth (h, w) in metres at a finer resolution of the same view, (height, width): smooth on a surface, sharp where
    it steps."""
    size = (width, height)
    near = cv2.resize(depth, size, interpolation=cv2.INTER_NEAREST)
    smooth = cv2.resize(depth, size, interpolation=cv2.INTER_LINEAR)
    least, most = (
        cv2.resize(spread(depth, np.ones((3, 3), np.uint8)), size, interpolation=cv2.INTER_NEAREST)
        for spread in (cv2.erode, cv2.dilate)
    )
    return np.where((least > 0) & (most < 1.05 * least), smooth, near).astype(np.float32)
