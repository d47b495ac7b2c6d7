"""Colour and depth pictures, from their bytes."""

from io import BytesIO

import numpy as np
from PIL import Image

from pipeline.frame.frame import FrameError

GREY16 = ("I;16", "I;16B", "I;16L", "I")


def read_rgb(raw: bytes, name: str) -> np.ndarray:
    """Colour, of shape (H, W, 3), uint8. Raises FrameError."""
    picture = _open(raw, name)
    if picture.mode in GREY16:
        raise FrameError(f"{name} is a 16-bit grey picture, so it looks like depth: are rgb and depth swapped?")
    return _pixels(picture.convert("RGB"), name).astype(np.uint8)


def read_depth(raw: bytes, name: str) -> np.ndarray:
    """Depth in the file's own units, of shape (H, W), 0 unknown: uint16, or float32. Raises FrameError."""
    picture = _open(raw, name)
    if picture.mode == "F":
        return _pixels(picture, name)
    if picture.mode not in GREY16:
        colours = len(picture.getbands())
        hint = "are rgb and depth swapped?" if colours >= 3 else "save depth as 16-bit grey PNG, 0 where unknown."
        raise FrameError(f"{name} has {colours} channel(s) of 8 bits; depth is one channel of 16 bits: {hint}")
    depth = _pixels(picture, name)
    if depth.ndim != 2 or depth.min() < 0 or depth.max() > 65535:
        raise FrameError(f"{name} does not hold one channel of 16 bits; save depth as 16-bit grey PNG.")
    if not depth.any():
        raise FrameError(f"{name} is zero everywhere: no distance is known. Was the depth stream switched on?")
    return depth.astype(np.uint16)


def _open(raw: bytes, name: str) -> Image.Image:
    try:
        picture = Image.open(BytesIO(raw))
        picture.load()
    except Exception:  # decoders raise whatever they meet: struct.error, SyntaxError, zlib.error ...
        kind = "empty" if not raw else "not a picture that can be read, or cut short"
        raise FrameError(f"{name} is {kind}; it should be a PNG (or JPEG, for colour).") from None
    return picture


def _pixels(picture: Image.Image, name: str) -> np.ndarray:
    pixels = np.asarray(picture)
    if pixels.shape[0] < 16 or pixels.shape[1] < 16:
        raise FrameError(f"{name} is {pixels.shape[1]} x {pixels.shape[0]} pixels; a frame needs at least 16 x 16.")
    return pixels
