"""Read cameras of other software: files of Open3D, RealSense, BOP, ROS, plain matrices; EXIF; poses of recordings."""

import math
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import yaml
from PIL import ExifTags, Image
from scipy.spatial.transform import Rotation

from pipeline.frame.camera import CameraFile, camera_from_json, default_camera
from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.frame import FrameError, Intrinsics
from pipeline.frame.image_files import IMAGE_FORMATS
from pipeline.store import parse_json

CAMERA_FILE_NAMES = (
    "camera.json", "camera_primesense.json", "camera_intrinsic.json", "camera_intrinsics.json", "intrinsic.json",
    "intrinsics.json", "camera-intrinsics.json", "camera-intrinsics.txt", "camera_intrinsics.txt", "intrinsic.txt",
    "intrinsics.txt", "camera.txt", "K.txt", "camera_info.yaml", "camera_info.yml", "camera_info.json", "camera.yaml",
    "intrinsics.yaml", "calibration.yaml",
)  # fmt: skip
MATRIX_KEYS = ("intrinsic_matrix", "intrinsics_matrix", "camera_matrix", "cam_K", "K", "intrinsics", "intrinsic")
ANGLE_KEYS = {"fov": 0, "fovx": 0, "fov_x": 0, "hfov": 0, "fovy": 1, "fov_y": 1, "yfov": 1, "vfov": 1}
"""Keys of a field of view, and its axis: 0 across, 1 up."""
MILLIMETRE = 0.001
MAX_TEXTS, MAX_TEXT_BYTES = 20, 10_000
"""Texts of a folder that are looked at, and their largest size."""
EXPECTED = '{"fx", "fy", "cx", "cy"} or a 3x3 "K"'

FILM_DIAGONAL_MM = math.hypot(36, 24)
"""EXIF's 35 mm equivalent has the same diagonal field of view (CIPA DCG-001)."""

REJECTED_POSE_NOTE = (
    "The recording's camera pose was left aside: its world is not one with z up and the camera above the table."
)


def camera_from_exif(raw: bytes, width: int, height: int) -> CameraFile:
    """Return a camera for an encoded image of this size, with a note on what was assumed."""
    film = _film_focal_length(raw)
    if not 8 <= film <= 400:
        return default_camera(width, height)
    focal = film / FILM_DIAGONAL_MM * math.hypot(width, height)
    note = f"No camera given: EXIF's {film:g} mm (35 mm film) gave a focal length of {focal:.0f} pixels."
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    return replace(default_camera(width, height), intrinsics=k, notes=(note,))


def _film_focal_length(raw: bytes) -> float:
    """Return FocalLengthIn35mmFilm in millimetres, 0 if EXIF does not give it."""
    try:
        tags = Image.open(BytesIO(raw), formats=IMAGE_FORMATS).getexif().get_ifd(ExifTags.IFD.Exif)
        return float(tags.get(ExifTags.Base.FocalLengthIn35mmFilm, 0))
    except Exception:  # EXIF of phones and editors may be malformed in any way
        return 0.0


def find_camera_file(bundle: FileBundle) -> str | None:
    """Return the name of the folder's camera file: under a usual name, else the only text that holds intrinsics."""
    if usual := next((name for name in CAMERA_FILE_NAMES if name in bundle.top_level_files), None):
        return usual
    texts = [name for name in bundle.top_level_files if name.lower().endswith((".json", ".txt", ".yaml", ".yml"))]
    found = [name for name in texts[:MAX_TEXTS] if _holds_intrinsics(bundle.read(name), name)]
    return found[0] if len(found) == 1 else None


def camera_for_image(bundle: FileBundle, image: bytes, width: int, height: int) -> CameraFile:
    """Return the camera of the folder's camera file, else one guessed from the encoded image. Raises FrameError."""
    name = find_camera_file(bundle)
    return parse_camera_file(bundle.read(name), name, width, height) if name else camera_from_exif(image, width, height)


def parse_camera_file(raw: bytes, name: str, width: int, height: int) -> CameraFile:
    """Parse a camera file of any supported form, for images of this size. Raises FrameError."""
    try:
        data = _parse(raw, name)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())[:120]
        raise FrameError(f"{name} cannot be read ({reason}); it should hold {EXPECTED}.") from None
    if not isinstance(data, dict):
        raise FrameError(f"{name} holds a {type(data).__name__}; it should hold {EXPECTED}.")
    return camera_from_json({"width": width, "height": height} | _to_plain_form(data, name, width, height), name)


def _parse(raw: bytes, name: str) -> Any:
    """Return the data of JSON, YAML or plain numbers. Raises ValueError, RecursionError or YAMLError."""
    text = raw.decode("utf-8-sig")
    if name.lower().endswith((".yaml", ".yml")):
        return yaml.safe_load(text)
    return _parse_numbers(text.split()) if name.lower().endswith(".txt") else parse_json(text)


def _holds_intrinsics(raw: bytes, name: str) -> bool:
    """Whether a text of any name holds intrinsics in pixels; a pose's numbers are too small for a focal length."""
    if len(raw) > MAX_TEXT_BYTES:
        return False
    try:
        data = _to_plain_form(_parse(raw, name), name, 1, 1)
        focal = float(data["fx"]), float(data["fy"])
    except Exception:  # any text may lie beside pictures
        return False
    # Smallest focal pixels, from which a number of a text may be a focal length
    return min(focal) > 20


def _parse_numbers(words: list[str]) -> dict[str, Any]:
    """Return fx fy cx cy, or a matrix given row by row, as JSON data. Raises ValueError."""
    numbers = [float(word.strip(",[];")) for word in words[:16]]
    if len(numbers) in (4, 5):
        return dict(zip(("fx", "fy", "cx", "cy"), numbers, strict=False))
    return {"K": numbers}


def intrinsics_from_matrix(value: Any, name: str) -> dict[str, float]:
    """Return fx, fy, cx, cy in pixels of a camera matrix. Raises FrameError.

    The matrix is 3x3 or 4x4, nested or flat, by rows or (as Open3D writes it) by columns.
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
    """Return metres per unit of a depth_scale that is that, or units per metre (10 and above). Raises FrameError."""
    if value is None:
        return None
    try:
        scale = float(value)
    except (ValueError, TypeError, OverflowError):
        raise FrameError(f"{name}: depth_scale is {str(value)[:40]!r}, not a number.") from None
    return 1 / scale if scale >= 10 else scale


def _to_plain_form(data: dict[str, Any], name: str, width: int, height: int) -> dict[str, Any]:
    """Return the data with the keys of camera.json, for images of this size."""
    bop = MILLIMETRE if "cam_K" in data else 1.0  # its depth_scale leads to millimetres
    sizes = {key: data[other] for key, other in (("width", "image_width"), ("height", "image_height")) if other in data}
    key = next((key for key in MATRIX_KEYS if data.get(key) is not None), None)
    inner = data[key] if key else data
    if isinstance(inner, dict) and "data" in inner:  # as ROS writes a matrix
        data = data | intrinsics_from_matrix(inner["data"], name)
        key = None
    elif isinstance(inner, dict):
        data = data | inner
        key = None
    if key:
        data = data | intrinsics_from_matrix(data[key], name)
    centre = {key: data[other] for key, other in (("cx", "ppx"), ("cy", "ppy")) if other in data}
    if "fx" not in data and (angle := next((one for one in ANGLE_KEYS if one in data), None)):
        size = data.get("width", width), data.get("height", height)
        data = _intrinsics_from_angle(data[angle], size, ANGLE_KEYS[angle], f"{name}: {angle}") | data
    scale = metres_per_unit(data.get("depth_scale"), name)
    return sizes | centre | data | {"depth_scale": scale and bop * scale}


def _intrinsics_from_angle(value: Any, size: tuple[Any, Any], axis: int, what: str) -> dict[str, float]:
    """Return the intrinsics of a field of view along one axis, in degrees; up to pi it is in radians."""
    try:
        angle, (width, height) = float(value), map(float, size)
    except (ValueError, TypeError, OverflowError):
        raise FrameError(f"{what} is {str(value)[:40]!r}, not an angle.") from None
    angle = angle if angle <= math.pi else math.radians(angle)
    if not 0 < angle < math.pi:
        raise FrameError(f"{what} is {value}; a field of view lies between 0 and 180 degrees.")
    focal = (width, height)[axis] / 2 / math.tan(angle / 2)
    return {"fx": focal, "fy": focal, "cx": (width - 1) / 2, "cy": (height - 1) / 2}


def upright_pose(world_from_camera: np.ndarray) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Return the pose (4, 4) if z is up in its world and the camera looks down, else None and a note.

    Many datasets use the axes of the first camera as the world; with such a pose a wall would be taken for the table.
    """
    rotation = world_from_camera[:3, :3]
    rigid = (
        np.abs(rotation).max() < 2
        and np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2)
        and np.linalg.det(rotation) > 0
    )
    looks_down, top_is_up = rotation[2, 2] < 0, rotation[2, 1] < 0.1
    if not (rigid and np.isfinite(world_from_camera).all() and looks_down and top_is_up):
        return None, (REJECTED_POSE_NOTE,)
    pose = world_from_camera.astype(float)
    pose[:3, :3] = Rotation.from_matrix(rotation).as_matrix()
    return pose, ()


def invert_pose(pose: np.ndarray) -> np.ndarray:
    """Return b_from_a of a rigid a_from_b, both of shape (4, 4)."""
    inverse = np.eye(4)
    inverse[:3, :3], inverse[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
    return inverse
