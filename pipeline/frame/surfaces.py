"""Which of the chosen surfaces, the table or a shelf, is under a pixel or an object, and heights above that surface."""

from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np

from pipeline.frame.frame import Frame
from pipeline.frame.plane_extraction import depth_noise
from pipeline.frame.support import Support
from pipeline.geometry import inside_polygon, transform

EDGE_M = 0.015
"""Metres beside a shelf's outline up to which points are over it: its edge is blurred by depth noise."""
FACE_M = 0.02
"""Metres from a shelf's outline up to which pixels below its top, connected with it, show the shelf's own front."""


class LocalPoints(NamedTuple):
    """Points of an image with heights above what is under them."""

    points: np.ndarray
    """World x and y, and height above the surface under the point, in metres, of shape (h, w, 3). NaN as given."""
    surface: np.ndarray
    """Number of that surface in `surfaces`, of shape (h, w), uint8: 0 for the table."""
    front: np.ndarray
    """Pixels that show a shelf's own front, below its top, of shape (h, w), bool."""


def surfaces(support: Support) -> tuple[Support, ...]:
    """Return the table and its shelves, the lowest first."""
    return (support, *support.shelves)


def local_points(support: Support, points: np.ndarray, inliers_step: int) -> LocalPoints:
    """Return points (h, w, 3) in camera axes with heights above the surface under each of them.

    A shelf's own front belongs to the shelf and lies below it. `points` are of every `inliers_step`-th pixel.
    """
    local = transform(support.world_from_camera.astype(points.dtype), points)
    surface, fronts = np.zeros(points.shape[:2], np.uint8), np.zeros(points.shape[:2], bool)
    for number, shelf in enumerate(support.shelves, 1):
        world = transform(lowered(shelf).world_from_camera.astype(points.dtype), points)
        noise = depth_noise(points[..., 2])
        over = inside_polygon(world, shelf.polygon, -EDGE_M) & (world[..., 2] > -2 * noise)
        edge = inside_polygon(world, shelf.polygon, -FACE_M) & ~inside_polygon(world, shelf.polygon, FACE_M)
        edge &= (world[..., 2] <= 0) & (local[..., 2] > noise)
        top = shelf.inliers[::inliers_step, ::inliers_step]
        front = edge & ~over & _connected(edge | over, top)
        local[over | front] = world[over | front]
        surface[over | front] = number
        fronts |= front
    return LocalPoints(local, surface, fronts & (local[..., 2] < 0))


def _connected(mask: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """Return the pixels of a mask (h, w) in regions that contain a seed."""
    _, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    return mask & np.isin(labels, np.unique(labels[mask & seeds]))


def surface_under(frame: Frame, support: Support, mask: np.ndarray) -> Support:
    """Return the surface that most of a mask's (H, W) points are over: the table or one of its shelves."""
    if not support.shelves:
        return support
    points = frame.points[mask & (frame.depth > 0)].astype(float)
    for shelf in reversed(support.shelves):
        world = transform(shelf.world_from_camera, points)
        over = inside_polygon(world, shelf.polygon, -EDGE_M) & (
            world[:, 2] > shelf.height - 2 * depth_noise(points[:, 2])
        )
        if over.sum() > len(points) / 2:
            return shelf
    return support


def lowered(surface: Support) -> Support:
    """Return a surface with its top at z = 0, as if it were the table."""
    if not surface.height:
        return surface
    pose = surface.world_from_camera.copy()
    pose[2, 3] -= surface.height
    return replace(surface, world_from_camera=pose, height=0.0)
