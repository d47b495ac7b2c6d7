"""Guess the camera of an image without one: from the focal length in EXIF, else with a default field of view."""

import math
from dataclasses import replace
from io import BytesIO

from PIL import ExifTags, Image

from pipeline.frame.camera import CameraFile, default_camera
from pipeline.frame.frame import Intrinsics
from pipeline.frame.image_files import IMAGE_FORMATS

FILM_DIAGONAL_MM = math.hypot(36, 24)
"""EXIF's 35 mm equivalent has the same diagonal field of view (CIPA DCG-001)."""


def camera_from_exif(raw: bytes, width: int, height: int) -> CameraFile:
    """Return a camera for an encoded image of this size, with a note on what was assumed."""
    film = film_focal_length(raw)
    if not 8 <= film <= 400:
        return default_camera(width, height)
    focal = film / FILM_DIAGONAL_MM * math.hypot(width, height)
    note = f"No camera given: EXIF's {film:g} mm (35 mm film) gave a focal length of {focal:.0f} pixels."
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    return replace(default_camera(width, height), intrinsics=k, notes=(note,))


def film_focal_length(raw: bytes) -> float:
    """Return FocalLengthIn35mmFilm in millimetres, 0 if EXIF does not give it."""
    try:
        tags = Image.open(BytesIO(raw), formats=IMAGE_FORMATS).getexif().get_ifd(ExifTags.IFD.Exif)
        return float(tags.get(ExifTags.Base.FocalLengthIn35mmFilm, 0))
    except Exception:  # EXIF of phones and editors may be malformed in any way
        return 0.0
