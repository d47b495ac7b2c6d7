"""The photograph laid on a solid: what the camera saw of it, and a muted colour on what it did not see."""

import cv2
import numpy as np
import trimesh
from PIL import Image

from pipeline.assets import shapes
from pipeline.assets.reconstruct.evidence import Evidence
from pipeline.assets.shapes import Solid
from pipeline.frame import Frame, Support
from pipeline.geometry import transform
from pipeline.segmentation import Segment

TEXTURE = 256
"""Longest side of the texture, in pixels."""
MUTED = 0.55
"""How much of its colour a guessed face keeps, against grey."""


def photographed(
    solid: Solid, frame: Frame, support: Support, segment: Segment, rgb: tuple[int, int, int], evidence: Evidence
) -> tuple[Solid, float]:
    """A solid in world axes with the photograph on it, and the share of its surface that was seen, in [0, 1]."""
    grey = int(np.mean(rgb))
    picture, pixel = _crop(frame, segment, [MUTED * c + (1 - MUTED) * grey for c in rgb])
    seen = evidence.seen(solid.mesh)
    triangles = solid.mesh.triangles.reshape(-1, 3)
    uv = pixel(transform(np.linalg.inv(support.world_from_camera), triangles))
    height = picture.height
    onto = np.clip(uv, 0, 1) * [1, (height - 6) / height] + [0, 5 / height]
    uv = np.where(np.repeat(seen, 3)[:, None], onto, [0.5, 1 / height])
    split = trimesh.Trimesh(triangles, np.arange(len(triangles)).reshape(-1, 3), process=False)
    areas = solid.mesh.area_faces
    return Solid(shapes.textured(split, uv, picture), solid.corners), float(areas[seen].sum() / max(areas.sum(), 1e-12))


def _crop(frame: Frame, segment: Segment, rgb: list[float]):
    """The thing's part of the photograph, its surroundings filled from within, on four rows of a plain colour.

    And the function that takes points in camera axes (N, 3) to texture coordinates (N, 2) in the part above those rows.
    """
    mask = segment.mask.astype(np.uint8)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    y0, y1, x0, x1 = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    inner = cv2.erode(mask, np.ones((5, 5)), borderValue=0)[y0:y1, x0:x1]
    inner = inner if inner.sum() > 20 else mask[y0:y1, x0:x1]
    _, labels = cv2.distanceTransformWithLabels(1 - inner, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    nearest = np.asarray(labels, int)
    colours = np.zeros((nearest.max() + 1, 3), np.uint8)
    crop = frame.rgb[y0:y1, x0:x1]
    colours[nearest[inner > 0]] = crop[inner > 0]
    filled = Image.fromarray(np.where(inner[..., None] > 0, crop, colours[nearest]))
    factor = min(1.0, TEXTURE / max(filled.size))
    filled = filled.resize((max(4, round(filled.width * factor)), max(4, round(filled.height * factor))))
    sheet = Image.new("RGB", (filled.width, filled.height + 4), tuple(int(c) for c in rgb))
    sheet.paste(filled, (0, 0))
    k = frame.intrinsics

    def pixel(points: np.ndarray) -> np.ndarray:
        z = np.maximum(points[:, 2], 1e-6)
        u, v = k.fx * points[:, 0] / z + k.cx, k.fy * points[:, 1] / z + k.cy
        return np.stack([(u - x0 + 0.5) / (x1 - x0), 1 - (v - y0 + 0.5) / (y1 - y0)], 1)

    return sheet, pixel
