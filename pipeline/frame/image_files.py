"""Decode colour and depth images from the bytes of their files."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
from PIL import ExifTags, Image

from pipeline.frame.depth_values import remove_unknown
from pipeline.frame.frame import FrameError
from pipeline.frame.registration import CLEAR_RATIO, measure_agreement

IMAGE_FORMATS = ("PNG", "JPEG", "TIFF", "BMP", "WEBP", "PPM")
"""Pillow's decoders for the suffixes that are read; PPM is for PFM. It has dozens of others, which are not needed."""
MAX_PIXELS = 25_000_000
"""Of one image: more than depth cameras have; the largest frame that the stages are made for."""
GREY16 = ("I;16", "I;16B", "I;16L", "I")
UPRIGHT: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    2: np.fliplr,
    3: lambda image: np.rot90(image, 2),
    4: np.flipud,
    5: lambda image: np.swapaxes(image, 0, 1),
    6: lambda image: np.rot90(image, 3),
    7: lambda image: np.rot90(np.fliplr(image)),
    8: np.rot90,
}
"""What turns stored pixels upright, by EXIF's orientation (CIPA DC-008, 4.6.4)."""


def read_rgb(raw: bytes, name: str) -> np.ndarray:
    """Decode a colour image, of shape (H, W, 3), uint8. Raises FrameError."""
    return _rgb_and_orientation(raw, name)[0]


def read_upright_rgb(raw: bytes, name: str, raw_depth: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Decode colour (H, W, 3) and turn it as its EXIF tag says if depth (H, W) then fits; return it with notes.

    Programs differ in whether they heed the tag, so depth may belong to either. Raises FrameError.
    """
    rgb, orientation = _rgb_and_orientation(raw, name)
    turn = UPRIGHT.get(orientation)
    turned = rgb if turn is None else np.ascontiguousarray(turn(rgb))
    if turn is None or turned.shape[:2] != raw_depth.shape:
        return rgb, ()
    if rgb.shape == turned.shape:
        depth, _ = remove_unknown(raw_depth)
        stored, upright = measure_agreement(rgb, depth), measure_agreement(turned, depth)
        if stored is None or upright is None or upright < CLEAR_RATIO * stored:
            return rgb, ()
    return turned, (f"Colour was turned as the EXIF tag of {name} says, to fit the depth.",)


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


def has_depth_mode(raw: bytes) -> bool:
    """Whether an encoded image has one channel of 16 bits or of floats. Only its header is read. Raises FrameError."""
    try:
        return Image.open(BytesIO(raw), formats=IMAGE_FORMATS).mode in (*GREY16, "F")
    except Exception:  # as in _open
        raise FrameError("This is not a picture that can be read.") from None


def check_pixel_count(width: int, height: int, name: str) -> None:
    """Raise FrameError for an image with more than MAX_PIXELS, before it is decoded."""
    if width * height > MAX_PIXELS:
        raise FrameError(
            f"{name} has {width} x {height} pixels; a frame has at most {MAX_PIXELS // 1_000_000} million: "
            "scale colour, depth and camera down together."
        )


def _rgb_and_orientation(raw: bytes, name: str) -> tuple[np.ndarray, int]:
    """Return colour (H, W, 3), uint8, and EXIF's orientation, 1 (upright) if there is none. Raises FrameError."""
    image = _open(raw, name)
    if image.mode in GREY16:
        raise FrameError(f"{name} is a 16-bit grey picture, so it looks like depth: are rgb and depth swapped?")
    try:
        orientation = int(image.getexif().get(ExifTags.Base.Orientation, 1))
    except Exception:  # EXIF of phones and editors may be malformed in any way
        orientation = 1
    return _pixels(image.convert("RGB"), name).astype(np.uint8), orientation


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
