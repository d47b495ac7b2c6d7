"""Embeddings of an uploaded picture, or of an object's crop, to search the library for similar assets."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from PIL import Image, ImageOps

from pipeline.assets.appearance.encoder import Encoder
from pipeline.frame import Observation
from pipeline.geometry import bounding_box
from pipeline.matching.query import Query, query_view
from studio.sessions.session import Session
from studio.web.errors import RequestError
from studio.web.upload_folder import uploaded_file

MAX_PIXELS = 40_000_000
WORKING_SIDE = 320
"""Longest side in pixels of the picture that an object is cut out of."""


def embed_object(session: Session, id: object, encoder: Encoder) -> np.ndarray:
    """Return the embedding (D,) of an object's crop. Raises RequestError if the object is not described yet."""
    project, support = session.project, session.support
    segment = next((one for one in project.segments() or () if one.id == id), None)
    described = next((one for one in project.descriptions() or () if one.segment_id == id), None)
    if segment is None or described is None or support is None:
        raise RequestError("That object is not described yet; wait until it is.")
    view = query_view(Query(Observation(project.frame, support), segment, described), encoder.pixels)
    return encoder.encode(view.crop[None], view.mask[None])[0]


def embed_upload(path: object, encoder: Encoder) -> np.ndarray:
    """Return the embedding (D,) of an uploaded picture of one object on a plain background. Raises RequestError."""
    file = uploaded_file(path)
    if file is None:
        raise RequestError("The picture did not arrive; drop it again.")
    rgb, mask = square_crop(*cut_out_object(file), encoder.pixels)
    return encoder.encode(rgb[None], mask[None])[0]


def cut_out_object(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return a picture (H, W, 3), uint8, and its object's mask (H, W), bool, from its transparency or by GrabCut.

    Raises RequestError if the file is not a picture.
    """
    try:
        with Image.open(file, formats=("PNG", "JPEG")) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise RequestError("The picture has more than 40 million pixels; make it smaller.")
            image: Any = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise RequestError("The picture cannot be read; drop a PNG or a JPEG.") from None
    image.thumbnail((WORKING_SIDE, WORKING_SIDE))
    pixels = np.asarray(image)
    rgb, alpha = np.ascontiguousarray(pixels[..., :3]), pixels[..., 3] > 127
    if alpha.any() and not alpha.all():
        return rgb, alpha
    height, width = rgb.shape[:2]
    edge = max(2, round(0.04 * min(height, width)))
    # Smallest side pixels; a smaller picture is taken as a whole
    if min(height, width) < 24:
        return rgb, np.ones((height, width), bool)
    labels, models = np.zeros((height, width), np.uint8), (np.zeros((1, 65)), np.zeros((1, 65)))
    rectangle = (edge, edge, width - 2 * edge, height - 2 * edge)
    cv2.grabCut(rgb, labels, rectangle, *models, 4, cv2.GC_INIT_WITH_RECT)
    mask = (labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD)
    # A smaller mask is an error of GrabCut; the picture is then taken as a whole
    return rgb, mask if mask.mean() > 0.02 else np.ones((height, width), bool)


def square_crop(rgb: np.ndarray, mask: np.ndarray, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the object centred in a square (pixels, pixels, 3) that it fills, and its mask."""
    box = bounding_box(mask)
    side = 1.04 * max(box.width, box.height)
    factor = pixels / side
    corner = np.array([(box.left + box.right - side) / 2, (box.top + box.bottom - side) / 2])
    warp = np.c_[np.eye(2) * factor, -corner * factor]
    blur = rgb if factor > 0.7 else cv2.blur(rgb, (int(np.ceil(1 / factor)),) * 2)
    inside = cv2.warpAffine(mask.astype(np.float32), warp, (pixels, pixels)) > 0.5
    return cv2.warpAffine(blur, warp, (pixels, pixels)), inside
