"""Decode colour and depth images from the bytes of their files."""

from io import BytesIO

import numpy as np
from PIL import Image

from pipeline.frame.frame import FrameError

IMAGE_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM")
"""Pillow's decoders for the suffixes that are read; PPM is for PFM. It has dozens of others, which are not needed."""
MAX_PIXELS = 25_000_000
"""Of one image: more than depth cameras have; the largest frame that the stages are made for."""
GREY16 = ("I;16", "I;16B", "I;16L", "I")


def read_rgb(raw: bytes, name: str) -> np.ndarray:
    """Decode a colour image, of shape (H, W, 3), uint8. Raises FrameError."""
    image = _open(raw, name)
    if image.mode in GREY16:
        raise FrameError(f"{name} is a 16-bit grey picture, so it looks like depth: are rgb and depth swapped?")
    return _pixels(image.convert("RGB"), name).astype(np.uint8)


def read_depth(raw: bytes, name: str) -> np.ndarray:
    """Decode depth in the file's own units, of shape (H, W), uint16 or float32, 0 where unknown. Raises FrameError."""
    image = _open(raw, name)
    if image.mode == "F":
        return _pixels(image, name)
    if image.mode not in GREY16:
        colours = len(image.getbands())
        hint = "are rgb and depth swapped?" if colours >= 3 else "save depth as 16-bit grey PNG, 0 where unknown."
        raise FrameError(f"{name} has {colours} channel(s) of 8 bits; depth is one channel of 16 bits: {hint}")
    depth = _pixels(image, name)
    if depth.ndim != 2 or depth.min() < 0 or depth.max() > 65535:
        raise FrameError(f"{name} does not hold one channel of 16 bits; save depth as 16-bit grey PNG.")
    if not depth.any():
        raise FrameError(f"{name} is zero everywhere: no distance is known. Was the depth stream switched on?")
    return depth.astype(np.uint16)


def check_pixel_count(width: int, height: int, name: str) -> None:
    """Raise FrameError for an image with more than MAX_PIXELS, before it is decoded."""
    if width * height > MAX_PIXELS:
        raise FrameError(
            f"{name} has {width} x {height} pixels; a frame has at most {MAX_PIXELS // 1_000_000} million: "
            "scale colour, depth and camera down together."
        )


def _open(raw: bytes, name: str) -> Image.Image:
    try:
        image = Image.open(BytesIO(raw), formats=IMAGE_FORMATS)
        check_pixel_count(*image.size, name)
        image.load()
    except (FrameError, MemoryError):
        raise
    except Exception:  # decoders raise errors of many kinds: struct.error, SyntaxError, zlib.error ...
        kind = "empty" if not raw else "not a picture that can be read, or cut short"
        raise FrameError(f"{name} is {kind}; it should be a PNG (or JPEG, for colour).") from None
    return image


def _pixels(image: Image.Image, name: str) -> np.ndarray:
    pixels = np.asarray(image)
    if pixels.shape[0] < 16 or pixels.shape[1] < 16:
        raise FrameError(f"{name} is {pixels.shape[1]} x {pixels.shape[0]} pixels; a frame needs at least 16 x 16.")
    return pixels
