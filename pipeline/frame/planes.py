"""Planes in a depth picture: found by peeling them off one by one, refined where depth cameras are linear."""

import cv2
import numpy as np

from pipeline.frame.frame import Frame, Intrinsics
from pipeline.geometry import Plane

FARTHEST = 4.0
"""Metres; depth beyond is too rough to find a table in."""
SAMPLES = 20_000
"""Points that planes are looked for in; more change nothing but the time."""
TRIES, JUDGES = 400, 3000
"""Planes tried, and points each is tried on."""


def noise(depth: np.ndarray) -> np.ndarray:
    """How far a plane's points may lie off it in metres, at depths in metres: stereo noise grows with the square."""
    return 0.003 + 0.003 * depth**2


def find_planes(frame: Frame, most: int = 6) -> list[Plane]:
    """The largest planes, in camera axes, normals towards the camera; the same for the same frame, every time.

    Not open3d's segment_plane: it runs in threads, and the same seed gave tables 5 mm apart from run to run.
    """
    seen = (frame.depth > 0) & (frame.depth < FARTHEST)
    points = frame.points[seen].astype(float)
    points = points[:: max(1, len(points) // SAMPLES)]
    least, planes, random = max(100, len(points) // 50), [], np.random.default_rng(0)
    while len(points) > least and len(planes) < most:
        plane = _largest_plane(points, random)
        on = np.abs(plane.height(points)) < 2 * noise(points[:, 2])
        if on.sum() < least:
            break
        planes.append(plane)
        points = points[~on]
    return planes


def _largest_plane(points: np.ndarray, random: np.random.Generator) -> Plane:
    """RANSAC (Fischler and Bolles, 1981): of many planes through three of the points, the one nearest to most."""
    a, b, c = points[random.integers(0, len(points), (3, TRIES))]
    normals = np.cross(b - a, c - a)
    area = np.linalg.norm(normals, axis=1)
    a, normals = a[area > 1e-9], normals[area > 1e-9] / area[area > 1e-9, None]  # three points on a line span none
    if not len(normals):
        return Plane(np.array([0.0, 0, -1]), 1e6)
    offsets = -np.einsum("ij,ij->i", normals, a)
    judges = points[:: max(1, len(points) // JUDGES)]
    near = np.abs(judges @ normals.T + offsets) < noise(judges[:, 2:])
    best = int(np.count_nonzero(near, axis=0).argmax())
    towards = 1.0 if offsets[best] > 0 else -1.0
    return Plane(towards * normals[best], towards * float(offsets[best]))


def thinned(frame: Frame, width: int) -> Frame:
    """Every n-th pixel of the frame, about `width` of them in a row: planes are found as well and sooner."""
    step, k = max(1, round(frame.depth.shape[1] / width)), frame.intrinsics
    rgb, depth = frame.rgb[::step, ::step], frame.depth[::step, ::step]
    small = Intrinsics(depth.shape[1], depth.shape[0], k.fx / step, k.fy / step, k.cx / step, k.cy / step)
    return frame if step == 1 else Frame(rgb, depth, small, frame.world_from_camera)


def refine(frame: Frame, plane: Plane) -> tuple[Plane, np.ndarray]:
    """The plane by least squares on all its pixels, and those pixels, of shape (H, W), bool.

    In inverse depth a plane is linear in the pixel, and stereo's noise uniform: 1 / z = ray . w, w = -normal / offset.
    """
    rays = pixel_rays(frame)
    for shrink in (3.0, 2.0, 1.2, 1.0, 0.8, 0.8, 0.8):
        on = largest_region(_near(frame, plane, shrink))
        if on.sum() < 50:
            break
        a, b = rays[on].astype(float), 1 / frame.depth[on].astype(float)
        error = np.abs(a @ _least_squares(a, b) - b)
        keep = error <= 3 * np.median(error) + 1e-9
        w = _least_squares(a[keep], b[keep])
        plane = Plane(-w / np.linalg.norm(w), float(1 / np.linalg.norm(w)))
    return plane, inliers(frame, plane)


def _least_squares(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.lstsq(a.T @ a, a.T @ b, rcond=None)[0]


def inliers(frame: Frame, plane: Plane) -> np.ndarray:
    """The pixels that show a plane, one region, of shape (H, W), bool."""
    return largest_region(_near(frame, plane, 1.0))


def pixel_rays(frame: Frame) -> np.ndarray:
    """Direction of each pixel in camera axes with z = 1, of shape (H, W, 3), float32."""
    k = frame.intrinsics
    u, v = np.meshgrid(np.arange(k.width, dtype=np.float32), np.arange(k.height, dtype=np.float32))
    return np.stack([(u - k.cx) / k.fx, (v - k.cy) / k.fy, np.ones_like(u)], -1)


def largest_region(mask: np.ndarray) -> np.ndarray:
    """The largest connected part of a mask (H, W), and other large parts that only something thin cuts off from it."""
    reach = max(3, mask.shape[1] // 40) | 1
    whole = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    closed = cv2.morphologyEx(whole, cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))
    count, labels = cv2.connectedComponents(closed)
    if count < 2:
        return np.zeros_like(mask)
    area = np.bincount(labels[mask & (labels > 0)], minlength=count)
    return mask & (labels == area.argmax())


def _near(frame: Frame, plane: Plane, tolerance: float) -> np.ndarray:
    height = frame.points @ plane.normal.astype(np.float32) + np.float32(plane.offset)  # NaN compares as false
    return (np.abs(height) < tolerance * noise(frame.depth)) & (frame.depth < FARTHEST)
