"""Images and points of a project for the browser."""

from collections.abc import Sequence
from io import BytesIO
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np
from PIL import Image

from pipeline.frame import Frame, Support
from pipeline.geometry import bounding_box, transform
from pipeline.segmentation import Segment

MAX_POINTS = 40_000
_stamps: WeakKeyDictionary[Segment, str] = WeakKeyDictionary()
"""Of masks; a page needs those of all its objects at every update."""


def jpeg(rgb: np.ndarray, width: int | None = None, quality: int = 88) -> bytes:
    """Return an image (H, W, 3), uint8, as a JPEG, scaled down to `width` if that is given and smaller."""
    image = Image.fromarray(rgb)
    if width and width < image.width:
        image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
    buffer = BytesIO()
    image.save(buffer, "JPEG", quality=quality)
    return buffer.getvalue()


def crop(frame: Frame, segment: Segment, margin: float = 0.15) -> np.ndarray:
    """Return the photograph around a segment with everything else faded, of shape (h, w, 3), uint8."""
    box = bounding_box(segment.mask)
    part = box.padded(int(margin * max(box.width, box.height)) + 4, segment.mask.shape).slices
    rgb, inside = frame.rgb[part].astype(np.float32), segment.mask[part][..., None]
    return np.where(inside, rgb, 255 - (255 - rgb) * 0.35).astype(np.uint8)


def mask_stamp(segment: Segment) -> str:
    """Return a text that changes when the mask does, to make the address of a picture new."""
    if segment not in _stamps:
        _stamps[segment] = f"{crc32(np.packbits(segment.mask).tobytes()):x}"
    return _stamps[segment]


def table_outline(frame: Frame, support: Support) -> list[list[float]]:
    """Return the outline of the table or a shelf in pixels of the photograph, without what is behind the camera."""
    camera_from_world = np.linalg.inv(support.world_from_camera)
    edge = _subdivided(support.polygon)
    points = transform(camera_from_world, np.column_stack([edge, np.full(len(edge), support.height)]))
    points, k = points[points[:, 2] > 0.05], frame.intrinsics
    pixels = points[:, :2] / points[:, 2:] * [k.fx, k.fy] + [k.cx, k.cy]
    return np.clip(pixels, -k.width, 2 * k.width).round(1).tolist()


def _subdivided(polygon: np.ndarray, steps: int = 12) -> np.ndarray:
    """Return the polygon with `steps` points on each edge."""
    share = np.linspace(0, 1, steps, endpoint=False)[:, None]
    return np.concatenate([a + (b - a) * share for a, b in zip(polygon, np.roll(polygon, -1, axis=0), strict=True)])


def plane_in_camera(support: Support) -> list[float]:
    """Return normal n and offset d of the table in camera axes; a point p is n . p + d above it."""
    return [*support.plane.normal.tolist(), float(support.plane.offset)]


def point_cloud(
    frame: Frame, support: Support | None, segments: Sequence[tuple[Segment, str]] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return the frame's points without those far from the table, at most MAX_POINTS.

    Args:
        support: the table, whose axes are the world's; without one, x right, y up and z towards the camera.
        segments: masks to tint, each with its colour "#rrggbb".

    Returns:
        Points in world axes, metres, of shape (N, 3), float64, and their colours, of shape (N, 3), uint8.
    """
    points = frame.points.reshape(-1, 3)
    rgb = frame.rgb.reshape(-1, 3).astype(np.float32)
    for segment, colour in segments:
        tint = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        inside = segment.mask.reshape(-1)
        rgb[inside] = rgb[inside] * 0.6 + tint * 0.4
    known = np.flatnonzero(np.isfinite(points[:, 2]))
    world = transform(support.world_from_camera, points[known]) if support else points[known] * [1, -1, -1]
    if support:
        middle, reach = support.polygon.mean(0), np.ptp(support.polygon, axis=0).max()
        if support.shelves:
            corners = np.concatenate([support.polygon, *(shelf.polygon for shelf in support.shelves)])
            middle, reach = (corners.min(0) + corners.max(0)) / 2, np.ptp(corners, axis=0).max()
        near = (np.abs(world[:, :2] - middle).max(1) < 0.75 * reach) & (np.abs(world[:, 2]) < 0.8)
        known, world = known[near], world[near]
    chosen = np.random.default_rng(0).permutation(len(known))[:MAX_POINTS]
    return world[chosen], rgb[known[chosen]].astype(np.uint8)
