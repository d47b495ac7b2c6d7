"""Operations on masks of shape (H, W), bool, that several segmenters need, and the limits that they share."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import cv2
import numpy as np

from pipeline.geometry import bounding_box

T = TypeVar("T")

WORKING_WIDTH = 640
"""Pixels in a row, at least, of images that are larger; depth cameras hardly resolve more."""
MAX_HEIGHT, MAX_WIDTH = 0.5, 0.6
"""Metres above and along the table; larger regions are furniture or a robot."""


def iou(a: np.ndarray, b: np.ndarray) -> float:
    """Return the intersection of two masks over their union; 0 if both are empty."""
    return float(np.count_nonzero(a & b) / max(1, np.count_nonzero(a | b)))


def disc(shape: tuple[int, ...], x: int, y: int, radius: int) -> np.ndarray:
    """Return a filled circle as a mask of this shape."""
    return cv2.circle(np.zeros(shape, np.uint8), (x, y), radius, 1, -1) > 0


def padded_window(mask: np.ndarray, margin: int) -> tuple[slice, slice]:
    """Return rows and columns of the mask's bounding box with a margin in pixels, inside the image."""
    return bounding_box(mask).padded(margin, mask.shape).slices


def part_at_pixel(mask: np.ndarray, x: int, y: int) -> np.ndarray:
    """Return the 4-connected part of a mask that holds the pixel; an empty mask if the mask does not hold it."""
    _, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    return labels == labels[y, x] if mask[y, x] else np.zeros_like(mask)


def fill_holes(mask: np.ndarray) -> np.ndarray:
    """Return a mask, bool or uint8, with its holes filled, bool; ten times as fast as scipy's binary_fill_holes."""
    _, labels = cv2.connectedComponents(np.pad(mask == 0, 1, constant_values=True).astype(np.uint8), connectivity=4)
    return (labels != labels[0, 0])[1:-1, 1:-1]


def convex_hull(mask: np.ndarray) -> np.ndarray:
    """Return the filled convex hull of a mask."""
    outline = cv2.convexHull(cv2.findNonZero(mask.astype(np.uint8)))
    return cv2.fillConvexPoly(np.zeros(mask.shape, np.uint8), outline, 1) > 0


def hull_area(points: np.ndarray) -> float:
    """Return the area of the convex hull of points (N, 2), in the square of their unit."""
    return cv2.contourArea(cv2.convexHull(points.astype(np.float32)))


def join_greedily(items: Iterable[T], same: Callable[[T, T], bool], join: Callable[[T, T], T]) -> list[T]:
    """Join each item to the first earlier one that is the `same`; `join` makes one item of two."""
    joined: list[T] = []
    for item in items:
        index = next((i for i, earlier in enumerate(joined) if same(earlier, item)), None)
        if index is None:
            joined.append(item)
        else:
            joined[index] = join(joined[index], item)
    return joined
