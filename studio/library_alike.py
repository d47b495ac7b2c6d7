"""What an encoder sees in a picture that a person dropped, or in the crop of an object: to find assets that look so."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from gradio.utils import get_upload_folder
from PIL import Image, ImageOps

from pipeline.assets.encoder import Encoder
from pipeline.matching.sight import sight
from studio.session import Session, SessionError

MOST_PIXELS = 40_000_000
WORKING = 320
"""Longest side in pixels of the picture that the thing is cut out of."""


def of_object(session: Session, id: object, encoder: Encoder) -> np.ndarray:
    """The vector (D,) of an object's crop. Raises SessionError."""
    project, support = session.project, session.support
    segment = next((one for one in project.segments() or () if one.id == id), None)
    described = next((one for one in project.descriptions() or () if one.segment_id == id), None)
    if segment is None or described is None or support is None:
        raise SessionError("That object has not been looked at yet; wait until it is described.")
    seen = sight(project.frame, support, segment, described, encoder.pixels)
    return encoder.encode(seen.picture[None], seen.mask[None])[0]


def of_picture(path: object, encoder: Encoder) -> np.ndarray:
    """The vector (D,) of an uploaded picture of one thing before a plain ground. Raises SessionError."""
    file = Path(str(path)).resolve()
    if not file.is_relative_to(Path(get_upload_folder()).resolve()) or not file.is_file():
        raise SessionError("The picture did not arrive; drop it again.")
    picture, mask = cut_out(file)
    return encoder.encode(*(one[None] for one in squared(picture, mask, encoder.pixels)))[0]


def cut_out(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """A picture (H, W, 3), uint8, and where the thing on it is, (H, W), bool: by its transparency, else by GrabCut.

    Raises SessionError for what is no picture.
    """
    try:
        with Image.open(file) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise SessionError("The picture has more than 40 million pixels; make it smaller.")
            image: Any = ImageOps.exif_transpose(opened).convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise SessionError("That is no picture that can be read; drop a PNG or a JPEG.") from None
    image.thumbnail((WORKING, WORKING))
    pixels = np.asarray(image)
    rgb, alpha = np.ascontiguousarray(pixels[..., :3]), pixels[..., 3] > 127
    if alpha.any() and not alpha.all():
        return rgb, alpha
    height, width = rgb.shape[:2]
    edge = max(2, round(0.04 * min(height, width)))
    if min(height, width) < 24:
        return rgb, np.ones((height, width), bool)
    marks, models = np.zeros((height, width), np.uint8), (np.zeros((1, 65)), np.zeros((1, 65)))
    inside = (edge, edge, width - 2 * edge, height - 2 * edge)
    cv2.grabCut(rgb, marks, inside, *models, 4, cv2.GC_INIT_WITH_RECT)
    mask = (marks == cv2.GC_FGD) | (marks == cv2.GC_PR_FGD)
    return rgb, mask if mask.mean() > 0.02 else np.ones((height, width), bool)


def squared(rgb: np.ndarray, mask: np.ndarray, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """The thing in the middle of a square (pixels, pixels, 3) that it fills, with its mask."""
    rows, columns = np.nonzero(mask)
    (top, bottom), (left, right) = (rows.min(), rows.max() + 1), (columns.min(), columns.max() + 1)
    side = 1.04 * max(bottom - top, right - left)
    factor = pixels / side
    corner = np.array([(left + right - side) / 2, (top + bottom - side) / 2])
    warp = np.c_[np.eye(2) * factor, -corner * factor]
    blur = rgb if factor > 0.7 else cv2.blur(rgb, (int(np.ceil(1 / factor)),) * 2)
    inside = cv2.warpAffine(mask.astype(np.float32), warp, (pixels, pixels)) > 0.5
    return cv2.warpAffine(blur, warp, (pixels, pixels)), inside
