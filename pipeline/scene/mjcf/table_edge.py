"""How far the table reaches beyond its visible outline: not beyond an edge that the photograph shows."""

from typing import NamedTuple

import cv2
import numpy as np

from pipeline.frame import Frame, Support
from pipeline.frame.once_per_frame import keep_with_frame
from pipeline.geometry import transform
from pipeline.scene.appearance.alike_colours import are_common, are_within, to_lab
from pipeline.scene.placement import TABLE_MARGIN_M, TableMargins
from pipeline.store import digest

LEAST_MARGIN_M = 0.01
"""Distance beyond a seen edge: what the outline leaves out of the table's rim."""
STEP_M = 0.01
BELOW_M = 0.02
"""Depth under the table's plane from which a point shows that the ray passed beside the table."""


class Rectangle(NamedTuple):
    """The least rectangle around an outline."""

    centre: np.ndarray
    """Of shape (2,), in metres."""
    half: np.ndarray
    """Half extents along its own axes, of shape (2,), in metres."""
    axes: np.ndarray
    """Its x and y axis as rows, of shape (2, 2)."""
    yaw: float
    """Of its x axis, in radians."""


def least_rectangle(outline: np.ndarray) -> Rectangle:
    """Return the least rectangle around points of shape (N, 2)."""
    (x, y), (a, b), angle = cv2.minAreaRect(outline.astype(np.float32))
    yaw = float(np.radians(angle))
    cos, sin = np.cos(yaw), np.sin(yaw)
    return Rectangle(np.array([x, y]), np.array([a, b]) / 2, np.array([[cos, sin], [-sin, cos]]), yaw)


def seen_margins(frame: Frame, support: Support) -> TableMargins:
    """Return how far the table reaches beyond the sides of its outline's least rectangle, in metres: -x, +x, -y, +y.

    A side ends where the photograph sees past it, at points below the table's plane.
    """
    key = f"margins {digest(support.plane.normal, support.plane.offset, support.polygon)}"
    return keep_with_frame(frame, key, lambda: _seen_margins(frame, support))


def _seen_margins(frame: Frame, support: Support) -> TableMargins:
    rectangle = least_rectangle(support.polygon)
    a, b, c, d = (_margin(frame, support, rectangle, axis, sign) for axis in (0, 1) for sign in (-1, 1))
    return a, b, c, d


def _margin(frame: Frame, support: Support, rectangle: Rectangle, axis: int, sign: int) -> float:
    """Return the margin beyond one side of the outline's rectangle."""
    steps = round(TABLE_MARGIN_M / STEP_M)
    beyond = rectangle.half[axis] + (np.arange(steps) + 0.5) * STEP_M
    half = rectangle.half[1 - axis]
    along = np.linspace(-half, half, max(2, int(2 * half / STEP_M)))
    own = np.empty((steps, len(along), 2))
    own[..., axis], own[..., 1 - axis] = sign * beyond[:, None], along
    points = np.concatenate([own @ rectangle.axes + rectangle.centre, np.zeros((*own.shape[:2], 1))], -1)
    past, table, unlike, alike = (kind.sum(1) for kind in _evidence(frame, support, points))
    # Points that tell an edge: a fifth of the side
    enough = max(5, len(along) / 5)
    gone = (past > 2 * table) & (past > enough)
    gone |= (past + unlike > 2 * (table + alike)) & (past + unlike > enough)
    return max(LEAST_MARGIN_M, float(gone.argmax()) * STEP_M) if gone.any() else TABLE_MARGIN_M


def _evidence(frame: Frame, support: Support, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return what the photograph shows at points (..., 3) of the table's plane, four times of shape (...), bool.

    Something below it; the table; and where there is no depth, colours that are not the table's, and that are.
    """
    k, depth = frame.intrinsics, frame.depth
    x, y, z = np.moveaxis(transform(np.linalg.inv(support.world_from_camera), points), -1, 0)
    ahead = z > 0.02
    z = np.where(ahead, z, 1.0)
    columns, rows = (k.fx * x / z + k.cx).round().astype(int), (k.fy * y / z + k.cy).round().astype(int)
    shown = ahead & (columns >= 0) & (columns < k.width) & (rows >= 0) & (rows < k.height)
    measured = np.where(shown, depth[rows.clip(0, k.height - 1), columns.clip(0, k.width - 1)], 0)
    known = measured > 0
    # along a ray, height falls from the camera's to 0 at the plane
    height = support.world_from_camera[2, 3] * (1 - measured / z)
    alike = shown & ~known
    if alike.any():
        sample = frame.rgb[support.inliers]
        sample = sample[:: max(1, len(sample) // 20_000)]
        own = frame.rgb[rows[alike], columns[alike]]
        if len(sample) >= 100:  # fewer do not tell the table's colours
            alike[alike] = are_common(own, sample) | are_within(to_lab(own[None])[0], to_lab(sample[None])[0], 5.0)
    return known & (height < -BELOW_M), known & (np.abs(height) <= BELOW_M), shown & ~known & ~alike, alike
