"""A camera for pictures that came without one: what EXIF says of the lens, else a usual opening angle."""

import math
from dataclasses import replace
from io import BytesIO

from PIL import ExifTags, Image

from pipeline.frame.camera import Camera, guess_camera
from pipeline.frame.frame import Intrinsics

FILM_DIAGONAL = math.hypot(36, 24)
"""Millimetres; EXIF's 35 mm equivalent keeps the diagonal's angle (CIPA DCG-001)."""


def guessed_camera(raw: bytes, width: int, height: int) -> Camera:
    """A camera for the picture in these bytes; its notes say what was assumed."""
    film = film_focal_length(raw)
    if not 8 <= film <= 400:
        return guess_camera(width, height)
    focal = film / FILM_DIAGONAL * math.hypot(width, height)
    note = f"No camera given: EXIF's {film:g} mm (35 mm film) gave a focal length of {focal:.0f} pixels."
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    return replace(guess_camera(width, height), intrinsics=k, notes=(note,))


def film_focal_length(raw: bytes) -> float:
    """FocalLengthIn35mmFilm in millimetres, 0 where EXIF does not say."""
    try:
        details = Image.open(BytesIO(raw)).getexif().get_ifd(ExifTags.IFD.Exif)
        return float(details.get(ExifTags.Base.FocalLengthIn35mmFilm, 0))
    except Exception:  # EXIF is whatever a phone or an editor left there
        return 0.0
