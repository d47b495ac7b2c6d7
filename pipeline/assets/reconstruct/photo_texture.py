"""Projects the photograph on a solid as its texture; faces that the camera did not see get a muted colour."""

from collections.abc import Callable

import cv2
import numpy as np
import trimesh
from PIL import Image

from pipeline.assets import solids
from pipeline.assets.reconstruct.view_observation import SurfaceObservation
from pipeline.assets.solids import Solid
from pipeline.frame import Frame, Support
from pipeline.geometry import bounding_box, transform
from pipeline.segmentation import Segment

MAX_TEXTURE_PIXELS = 256
"""Longest side of the texture."""
UNSEEN_SATURATION = 0.55
"""Saturation of an unseen face over that of the object's colour."""


def texture_from_photo(
    solid: Solid,
    frame: Frame,
    support: Support,
    segment: Segment,
    rgb: tuple[int, int, int],
    observation: SurfaceObservation,
) -> tuple[Solid, float]:
    """Return a solid in world axes with the photograph on it, and the visible fraction of its surface."""
    grey = int(np.mean(rgb))
    picture, texture_coordinates = _crop(
        frame, segment, [UNSEEN_SATURATION * c + (1 - UNSEEN_SATURATION) * grey for c in rgb]
    )
    visible = observation.visible_faces(solid.mesh)
    triangles = solid.mesh.triangles.reshape(-1, 3)
    uv = texture_coordinates(transform(np.linalg.inv(support.world_from_camera), triangles))
    height = picture.height
    photo_uv = np.clip(uv, 0, 1) * [1, (height - 6) / height] + [0, 5 / height]
    uv = np.where(np.repeat(visible, 3)[:, None], photo_uv, [0.5, 1 / height])
    unshared = trimesh.Trimesh(triangles, np.arange(len(triangles)).reshape(-1, 3), process=False)
    areas = solid.mesh.area_faces
    textured = Solid(solids.textured_mesh(unshared, uv, picture), solid.part_vertices)
    return textured, float(areas[visible].sum() / max(areas.sum(), 1e-12))


def _crop(frame: Frame, segment: Segment, rgb: list[float]) -> tuple[Image.Image, Callable[[np.ndarray], np.ndarray]]:
    """Return the object's crop of the photograph, its background filled from inside, above four rows of a plain colour.

    Also return the function from points in camera axes (N, 3) to texture coordinates (N, 2) in the crop.
    """
    mask = segment.mask.astype(np.uint8)
    x0, y0, x1, y1 = bounding_box(mask)
    inner = cv2.erode(mask, np.ones((5, 5)), borderValue=0)[y0:y1, x0:x1]
    inner = inner if inner.sum() > 20 else mask[y0:y1, x0:x1]
    _, labels = cv2.distanceTransformWithLabels(1 - inner, cv2.DIST_L2, 5, labelType=cv2.DIST_LABEL_PIXEL)
    nearest = np.asarray(labels, int)
    colours = np.zeros((nearest.max() + 1, 3), np.uint8)
    crop = frame.rgb[y0:y1, x0:x1]
    colours[nearest[inner > 0]] = crop[inner > 0]
    filled = Image.fromarray(np.where(inner[..., None] > 0, crop, colours[nearest]))
    factor = min(1.0, MAX_TEXTURE_PIXELS / max(filled.size))
    filled = filled.resize((max(4, round(filled.width * factor)), max(4, round(filled.height * factor))))
    texture = Image.new("RGB", (filled.width, filled.height + 4), tuple(int(c) for c in rgb))
    texture.paste(filled, (0, 0))
    k = frame.intrinsics

    def texture_coordinates(points: np.ndarray) -> np.ndarray:
        z = np.maximum(points[:, 2], 1e-6)
        u, v = k.fx * points[:, 0] / z + k.cx, k.fy * points[:, 1] / z + k.cy
        return np.stack([(u - x0 + 0.5) / (x1 - x0), 1 - (v - y0 + 0.5) / (y1 - y0)], 1)

    return texture, texture_coordinates
