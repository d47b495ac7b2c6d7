"""Read and write camera.json: pinhole intrinsics, the unit of depth and, if known, the camera's pose."""

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pipeline.frame.frame import Doubt, FrameError, Intrinsics
from pipeline.store import parse_json

CAMERA_JSON_FORM = '{"width", "height", "fx", "fy", "cx", "cy", "depth_scale", optional "world_from_camera" 4x4}'
DEFAULT_FIELD_OF_VIEW_DEG = 60.0
"""Horizontal, in degrees; within a quarter of that of most depth cameras."""


@dataclass(frozen=True, eq=False)
class CameraFile:
    """The content of camera.json."""

    intrinsics: Intrinsics
    depth_scale: float | None
    """Metres per unit of the depth image; None if the file does not give it."""
    world_from_camera: np.ndarray | None = None
    """Of shape (4, 4)."""
    source: str = ""
    notes: tuple[str, ...] = ()
    intrinsics_guessed: bool = False
    """Whether the intrinsics are a guess, so that sizes and distances are rough."""
    depth_intrinsics: Intrinsics | None = None
    """The depth camera's intrinsics, if depth is not registered to colour."""
    color_from_depth: np.ndarray | None = None
    """The depth camera's pose in the colour camera's axes, of shape (4, 4); set together with `depth_intrinsics`."""
    doubts: tuple[Doubt, ...] | None = None
    """What was doubted when the frame was read first; None if it was not examined yet."""


def parse_camera(raw: bytes, name: str = "camera.json") -> CameraFile:
    """Parse the bytes of a camera.json. Raises FrameError in one line."""
    try:
        data = parse_json(raw)
    except ValueError as error:
        raise FrameError(f"{name} is not JSON ({error}); it should read {CAMERA_JSON_FORM}.") from None
    return camera_from_json(data, name)


def camera_from_json(data: Any, name: str) -> CameraFile:
    """Return the camera of decoded camera.json data. Raises FrameError in one line."""
    intrinsics = _intrinsics(data, name)
    scale = None if data.get("depth_scale") is None else _number(data["depth_scale"], "depth_scale", name)
    if scale is not None and scale <= 0:
        raise FrameError(f"{name}: depth_scale is {scale:g}; it is metres per unit, 0.001 for millimetres.")
    notes = data.get("notes", ())
    notes = tuple(str(note) for note in notes) if isinstance(notes, list) else ()
    pose, source = _pose(data, "world_from_camera", name), str(data.get("source", ""))
    depth, color_from_depth = data.get("depth"), _pose(data, "color_from_depth", name)
    if (depth is None) != (color_from_depth is None):
        raise FrameError(
            f'{name} gives only one of "depth" and "color_from_depth"; a separate depth camera needs both.'
        )
    depth_intrinsics = None if depth is None else _intrinsics(depth, f"{name}, depth")
    return CameraFile(
        intrinsics, scale, pose, source, notes, False, depth_intrinsics, color_from_depth, _doubts(data, name)
    )


def check_intrinsics(k: Intrinsics, name: str = "camera.json") -> None:
    """Raise FrameError if no camera above a table could have these intrinsics."""
    for axis, focal, side in (("fx", k.fx, k.width), ("fy", k.fy, k.height)):
        longest = max(k.width, k.height)
        if not 0.2 * longest <= focal <= 20 * longest:
            view = f"{2 * math.degrees(math.atan(side / 2 / focal)):.3g} degrees" if focal > 0 else "nothing"
            raise FrameError(
                f"{name}: {axis} is {focal:g} pixels, so {side} pixels see {view}; focal lengths lie between "
                f"{0.2 * longest:g} and {20 * longest:g}. Were they given in millimetres, or for another image size?"
            )
    if not 0.5 <= k.fx / k.fy <= 2:
        raise FrameError(f"{name}: fx is {k.fx:g} but fy {k.fy:g}; the two should be nearly the same.")
    for axis, centre, side in (("cx", k.cx, k.width), ("cy", k.cy, k.height)):
        if not 0 <= centre <= side:
            raise FrameError(
                f"{name}: the principal point's {axis} is {centre:g}, outside the image; near {side / 2:g} is usual."
            )


def doubt_intrinsics(k: Intrinsics) -> Doubt | None:
    """Return a doubt if the principal point lies far off the centre, as that of pictures of another size does."""
    across, up = k.cx / k.width, k.cy / k.height
    # 0.15: share of the image's width or height by which a principal point may lie off the centre: 30 reference frames
    # have at most 0.02, intrinsics of pictures of half the size 0.25
    if max(abs(across - 0.5), abs(up - 0.5)) <= 0.15:
        return None
    why = f"The principal point {k.cx:.0f}, {k.cy:.0f} lies far off the centre of {k.width} x {k.height} pixels."
    cure = "Give the principal point of these pictures."
    if min(across, up) > 0:  # by the height: cameras crop their width
        width, height, focal = 2 * k.cx, 2 * k.cy, k.fx * 0.5 / up
        cure = f"If it is that of {width:.0f} x {height:.0f} pixels, a focal length of {focal:.0f} would fit."
    return Doubt("intrinsics", why, cure)


def default_camera(width: int, height: int) -> CameraFile:
    """Return a camera with the default field of view, for images without one."""
    focal = width / 2 / math.tan(math.radians(DEFAULT_FIELD_OF_VIEW_DEG / 2))
    note = f"No camera given: a {DEFAULT_FIELD_OF_VIEW_DEG:g} degree field of view was guessed, so sizes are rough."
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    return CameraFile(k, None, notes=(note,), intrinsics_guessed=True)


def camera_to_json(camera: CameraFile) -> str:
    """Return the text of camera.json."""
    k = camera.intrinsics
    data: dict[str, Any] = {"width": k.width, "height": k.height, "fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy}
    data["depth_scale"] = camera.depth_scale
    if camera.world_from_camera is not None:
        data["world_from_camera"] = camera.world_from_camera.tolist()
    extras = {"source": camera.source, "notes": list(camera.notes)}
    data |= {key: value for key, value in extras.items() if value}
    if camera.doubts is not None:
        data["doubts"] = [asdict(doubt) for doubt in camera.doubts]
    return json.dumps(data, indent=1)


def _intrinsics(data: Any, name: str) -> Intrinsics:
    if not isinstance(data, dict):
        raise FrameError(f"{name} holds a {type(data).__name__}, not an object; it should read {CAMERA_JSON_FORM}.")
    missing = [key for key in ("width", "height", "fx", "fy", "cx", "cy") if key not in data]
    if missing:
        raise FrameError(f"{name} lacks {', '.join(missing)}; it should read {CAMERA_JSON_FORM}.")
    fx, fy, cx, cy = (_number(data[key], key, name) for key in ("fx", "fy", "cx", "cy"))
    width, height = (_count(data[key], key, name) for key in ("width", "height"))
    intrinsics = Intrinsics(width, height, fx, fy, cx, cy)
    check_intrinsics(intrinsics, name)
    return intrinsics


def _doubts(data: dict[str, Any], name: str) -> tuple[Doubt, ...] | None:
    """Return the doubts that a saved frame holds; None for a frame that was not examined."""
    value = data.get("doubts")
    if value is None:
        return None
    try:
        return tuple(Doubt(*(str(one[key]) for key in ("what", "why", "cure"))) for one in value)
    except (TypeError, KeyError):
        raise FrameError(f'{name}: doubts should be a list of {{"what", "why", "cure"}}.') from None


def _number(value: Any, key: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FrameError(f"{name}: {key} is {str(value)[:40]!r}, not a number.")
    if not abs(value) < 1e12:  # also false for NaN
        raise FrameError(f"{name}: {key} is {str(value)[:40]}; it should be a finite number.")
    return float(value)


def _count(value: Any, key: str, name: str) -> int:
    number = _number(value, key, name)
    if number != int(number) or not 1 <= number <= 65535:
        raise FrameError(f"{name}: {key} is {number:g}; it should be an integer number of pixels.")
    return int(number)


def _pose(data: dict[str, Any], key: str, name: str) -> np.ndarray | None:
    value = data.get(key)
    if value is None:
        return None
    expected = f"{name}: {key} should be four rows of four finite numbers"
    rows = value if isinstance(value, list) and len(value) == 4 else []
    if not rows or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        raise FrameError(expected + ".")
    pose = np.array([[_number(entry, key, name) for entry in row] for row in rows])
    rotation = pose[:3, :3]
    if not np.allclose(pose[3], [0, 0, 0, 1], atol=1e-6):
        raise FrameError(expected + ", the last row 0 0 0 1 (was it written column by column?).")
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2) or np.linalg.det(rotation) < 0:
        raise FrameError(expected + " of a rotation and a translation: this matrix scales, shears or mirrors.")
    u, _, vt = np.linalg.svd(rotation)  # removes the rounding of a printed matrix
    pose[:3, :3] = u @ vt
    return pose
