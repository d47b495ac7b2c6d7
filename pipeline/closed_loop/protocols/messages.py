"""Messages in msgpack with arrays as openpi, GR00T and vla-eval write them, bounded in bytes, depth and kind.

openpi: {b"__ndarray__": True, b"data", b"dtype", b"shape"}; vla-eval: the same with texts for keys, and pictures as
{"__image__": True, "format", "data"}; GR00T: {"__ndarray_class__": True, "as_npy": bytes}.
"""

import io
from typing import Any, Literal

import msgpack
import numpy as np
from PIL import Image

from pipeline.closed_loop.policy import MAX_BYTES

Style = Literal["openpi", "groot", "vla-eval"]
MAX_DEPTH, MAX_ITEMS, MAX_AXES = 12, 100_000, 8
MAX_IMAGE_PIXELS = 16_000_000
KINDS = "biuf"
"""Of numpy: booleans, integers and floats."""


class MessageError(ValueError):
    """Bytes that are no message."""


def pack(value: Any, style: Style) -> bytes:
    """Return a message of nested dictionaries, lists, texts, numbers and arrays."""
    return bytes(msgpack.packb(value, default=lambda one: _encode(one, style)) or b"")


def unpack(data: Any, style: Style) -> Any:
    """Inverse of `pack`. Raises MessageError."""
    if not isinstance(data, bytes) or len(data) > MAX_BYTES:
        raise MessageError(f"it is no binary message of at most {MAX_BYTES // 1_000_000} MB")
    try:
        value = msgpack.unpackb(data, raw=False, max_array_len=MAX_ITEMS, max_map_len=MAX_ITEMS)
    except (ValueError, msgpack.UnpackException, RecursionError, TypeError) as error:
        raise MessageError(f"it is not msgpack ({type(error).__name__})") from None
    return _decode(value, style, MAX_DEPTH)


def _encode(value: Any, style: Style) -> Any:
    if isinstance(value, np.generic):
        if style == "openpi":
            return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
        return value.item()
    if not isinstance(value, np.ndarray) or value.dtype.kind not in KINDS:
        raise MessageError(f"a {type(value).__name__} cannot be sent")
    if style == "groot":
        file = io.BytesIO()
        np.save(file, value, allow_pickle=False)
        return {"__ndarray_class__": True, "as_npy": file.getvalue()}
    row = {"__ndarray__": True, "data": value.tobytes(), "dtype": value.dtype.str, "shape": list(value.shape)}
    return {key.encode(): one for key, one in row.items()} if style == "openpi" else row


def _decode(value: Any, style: Style, depth: int) -> Any:
    if depth == 0:
        raise MessageError(f"it is nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return [_decode(one, style, depth - 1) for one in value]
    if not isinstance(value, dict):
        return value
    if style == "openpi" and b"__ndarray__" in value:
        return _array(value.get(b"data"), value.get(b"dtype"), value.get(b"shape"))
    if style == "openpi" and b"__npgeneric__" in value:
        number = value.get(b"data")
        if not isinstance(number, int | float):
            raise MessageError("a number is none")
        return number
    if style == "vla-eval" and "__ndarray__" in value:
        return _array(value.get("data"), value.get("dtype"), value.get("shape"))
    if style == "vla-eval" and "__image__" in value:
        return _image(value)
    if style == "groot" and "__ndarray_class__" in value:
        return _npy(value.get("as_npy"))
    return {key: _decode(one, style, depth - 1) for key, one in value.items()}


def _array(data: Any, dtype: Any, shape: Any) -> np.ndarray:
    """Return an array of bytes, whose shape has to fit them."""
    try:
        kind = np.dtype(dtype) if isinstance(dtype, str) else None
    except TypeError:
        kind = None
    if kind is None or kind.kind not in KINDS or not isinstance(data, bytes):
        raise MessageError(f"an array has the type {dtype!r:.40}; numbers are expected")
    sizes = list(shape) if isinstance(shape, list | tuple) else None
    if sizes is None or len(sizes) > MAX_AXES or not all(type(one) is int and one >= 0 for one in sizes):
        raise MessageError(f"an array has the shape {shape!r:.60}")
    if _product(sizes) * kind.itemsize != len(data):
        raise MessageError(f"an array of shape {tuple(sizes)} has {len(data)} bytes")
    return np.frombuffer(data, kind).reshape(sizes)


def _product(sizes: list[int]) -> int:
    total = 1
    for one in sizes:
        total *= one
    return total


def _npy(data: Any) -> np.ndarray:
    """Return the array of an .npy file, without a pickle."""
    if not isinstance(data, bytes):
        raise MessageError("an array is no .npy file")
    file = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran, kind = read(file)
    except Exception as error:  # whatever numpy's parser of the header raises
        raise MessageError(f"an array is no .npy file ({type(error).__name__})") from None
    found = _array(data[file.tell() :], kind.str, list(shape[::-1] if fortran else shape))
    return found.T if fortran else found


def _image(value: dict) -> np.ndarray:
    """Return a picture (height, width, channels), uint8."""
    if value.get("format") == "raw":
        return _array(value.get("data"), value.get("dtype"), value.get("shape"))
    try:
        with Image.open(io.BytesIO(value["data"]), formats=("PNG", "JPEG")) as picture:
            if picture.width * picture.height > MAX_IMAGE_PIXELS:
                raise MessageError(f"a picture has {picture.width}x{picture.height} pixels")
            return np.asarray(picture)
    except (OSError, KeyError, TypeError, SyntaxError, Image.DecompressionBombError) as error:
        raise MessageError(f"a picture is neither PNG nor JPEG ({type(error).__name__})") from None
