"""Camera files of other makers' forms: Open3D's, RealSense's, a matrix in JSON or in plain text."""

import json
from typing import Any

import numpy as np

from pipeline.frame.camera import Camera, camera_of
from pipeline.frame.formats.bundle import Bundle
from pipeline.frame.formats.lens import guessed_camera
from pipeline.frame.frame import FrameError

NAMES = (
    "camera.json", "camera_primesense.json", "camera_intrinsic.json", "camera_intrinsics.json", "intrinsic.json",
    "intrinsics.json", "camera-intrinsics.json", "camera-intrinsics.txt", "camera_intrinsics.txt", "intrinsic.txt",
    "intrinsics.txt", "camera.txt", "K.txt",
)  # fmt: skip
MATRICES = ("intrinsic_matrix", "intrinsics_matrix", "camera_matrix", "cam_K", "K", "intrinsics", "intrinsic")
WANTED = '{"fx", "fy", "cx", "cy"} or a 3x3 "K"'


def camera_file(bundle: Bundle) -> str | None:
    """The file under this roof that describes the camera, by its usual names."""
    return next((name for name in NAMES if name in bundle.top), None)


def camera_for(bundle: Bundle, picture: bytes, width: int, height: int) -> Camera:
    """The camera that the bundle's own file describes, else one guessed from the picture. Raises FrameError."""
    name = camera_file(bundle)
    return parse_any(bundle.read(name), name, width, height) if name else guessed_camera(picture, width, height)


def parse_any(raw: bytes, name: str, width: int, height: int) -> Camera:
    """The camera a file describes in whichever form, for pictures of that size. Raises FrameError."""
    try:
        text = raw.decode("utf-8-sig")
        data = matrix_json(text.split()) if name.endswith(".txt") else json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{name} cannot be read ({error}); it should hold {WANTED}.") from None
    if not isinstance(data, dict):
        raise FrameError(f"{name} holds a {type(data).__name__}; it should hold {WANTED}.")
    return camera_of({"width": width, "height": height} | _plain(data, name), name)


def matrix_json(words: list[str]) -> dict[str, Any]:
    """fx fy cx cy, or a matrix row by row. Raises ValueError."""
    numbers = [float(word.strip(",[];")) for word in words[:16]]
    if len(numbers) in (4, 5):
        return dict(zip(("fx", "fy", "cx", "cy"), numbers, strict=False))
    return {"K": numbers}


def focal_and_centre(value: Any, name: str) -> dict[str, float]:
    """fx, fy, cx, cy of a camera matrix: 3x3 or 4x4, nested or flat, by rows or (as Open3D) by columns.

    In pixels. Raises FrameError.
    """
    try:
        numbers = np.asarray(value, float).ravel()
        side = {9: 3, 16: 4}[numbers.size]
    except (ValueError, TypeError, KeyError, OverflowError):
        raise FrameError(f"{name}: the camera matrix should be 3 x 3 numbers, fx 0 cx, 0 fy cy, 0 0 1.") from None
    matrix = numbers.reshape(side, side)[:3, :3]
    if matrix[2, 0] or matrix[2, 1]:
        matrix = matrix.T
    return {"fx": matrix[0, 0], "fy": matrix[1, 1], "cx": matrix[0, 2], "cy": matrix[1, 2]}


def metres_per_unit(value: Any, name: str) -> float | None:
    """depth_scale as written: metres per unit, or units per metre (1000, 5000), told apart by size.

    Raises FrameError.
    """
    if value is None:
        return None
    try:
        scale = float(value)
    except (ValueError, TypeError, OverflowError):
        raise FrameError(f"{name}: depth_scale is {str(value)[:40]!r}, not a number.") from None
    return 1 / scale if scale >= 10 else scale


def _plain(data: dict[str, Any], name: str) -> dict[str, Any]:
    """The same in the plain form's words."""
    key = next((key for key in MATRICES if data.get(key) is not None), None)
    inner = data[key] if key else data
    if isinstance(inner, dict):
        data = data | inner
        key = None
    if key:
        data = data | focal_and_centre(data[key], name)
    centre = {ours: data[theirs] for ours, theirs in (("cx", "ppx"), ("cy", "ppy")) if theirs in data}
    return centre | data | {"depth_scale": metres_per_unit(data.get("depth_scale"), name)}
