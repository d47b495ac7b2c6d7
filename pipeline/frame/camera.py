"""camera.json: a pinhole's numbers, the unit of depth and, if known, where the camera stands."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.frame.frame import FrameError, Intrinsics

FORM = '{"width", "height", "fx", "fy", "cx", "cy", "depth_scale", optional "world_from_camera" 4x4}'
UNITS = (0.001, 0.0001, 0.00025, 0.0002, 0.01)
"""Metres per unit of known depth cameras, commonest first: millimetres, 0.1 mm, RealSense L515, TUM, centimetres."""
GUESSED_FIELD_OF_VIEW = 60.0
"""Degrees, horizontal; within a quarter of what most depth cameras have."""


@dataclass(frozen=True, eq=False)
class Camera:
    """What camera.json says."""

    intrinsics: Intrinsics
    depth_scale: float | None
    """Metres per unit of the depth image; None where the file does not say."""
    world_from_camera: np.ndarray | None = None
    """Of shape (4, 4)."""
    source: str = ""
    notes: tuple[str, ...] = ()
    guessed: bool = False
    """Whether the intrinsics were not measured: what is large or far is then only roughly known."""
    depth: Intrinsics | None = None
    """The depth camera's own, where depth was not yet registered to colour."""
    color_from_depth: np.ndarray | None = None
    """The depth camera's pose in the colour camera's axes, of shape (4, 4); given with `depth`."""


def parse_camera(raw: bytes, name: str = "camera.json") -> Camera:
    """The camera that a file's bytes describe. Raises FrameError in one line."""
    try:
        data = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FrameError(f"{name} is not JSON ({error}); it should read {FORM}.") from None
    return camera_of(data, name)


def camera_of(data: Any, name: str) -> Camera:
    """The camera that JSON data of the plain form describe. Raises FrameError in one line."""
    intrinsics = _intrinsics(data, name)
    scale = None if data.get("depth_scale") is None else _number(data["depth_scale"], "depth_scale", name)
    if scale is not None and scale <= 0:
        raise FrameError(f"{name}: depth_scale is {scale:g}; it is metres per unit, 0.001 for millimetres.")
    notes = data.get("notes", ())
    known = tuple(str(note) for note in notes) if isinstance(notes, list) else ()
    pose, source = _pose(data, "world_from_camera", name), str(data.get("source", ""))
    depth, moved = data.get("depth"), _pose(data, "color_from_depth", name)
    if (depth is None) != (moved is None):
        raise FrameError(f'{name} gives one of "depth" and "color_from_depth"; a depth camera of its own needs both.')
    own = None if depth is None else _intrinsics(depth, f"{name}, depth")
    return Camera(intrinsics, scale, pose, source, known, depth=own, color_from_depth=moved)


def check_intrinsics(k: Intrinsics, name: str = "camera.json") -> None:
    """Raise FrameError where no camera on a table could have these numbers."""
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


def guess_camera(width: int, height: int) -> Camera:
    """A camera of usual opening angle, for pictures that come without one."""
    focal = width / 2 / math.tan(math.radians(GUESSED_FIELD_OF_VIEW / 2))
    note = f"No camera given: a {GUESSED_FIELD_OF_VIEW:g} degree field of view was guessed, so sizes are rough."
    k = Intrinsics(width, height, focal, focal, (width - 1) / 2, (height - 1) / 2)
    return Camera(k, None, notes=(note,), guessed=True)


def guess_unit(median: float, whole: bool = True) -> float:
    """Metres per unit that put a depth image's median, in its own units, where a table would be: 0.2 to 5 m.

    Depth that is not in whole numbers is in metres first of all. Raises FrameError where no unit does.
    """
    for scale in UNITS if whole else (1.0, *UNITS):
        if 0.2 <= median * scale <= 5:
            return scale
    raise FrameError(
        f"The unit of depth cannot be guessed: its median is {median:g} units. "
        "Write depth_scale (metres per unit, 0.001 for millimetres) into camera.json."
    )


def camera_json(camera: Camera) -> str:
    """The text of camera.json."""
    k = camera.intrinsics
    data: dict[str, Any] = {"width": k.width, "height": k.height, "fx": k.fx, "fy": k.fy, "cx": k.cx, "cy": k.cy}
    data["depth_scale"] = camera.depth_scale
    if camera.world_from_camera is not None:
        data["world_from_camera"] = camera.world_from_camera.tolist()
    extras = {"source": camera.source, "notes": list(camera.notes)}
    return json.dumps(data | {key: value for key, value in extras.items() if value}, indent=1)


def _intrinsics(data: Any, name: str) -> Intrinsics:
    if not isinstance(data, dict):
        raise FrameError(f"{name} holds a {type(data).__name__}, not an object; it should read {FORM}.")
    missing = [key for key in ("width", "height", "fx", "fy", "cx", "cy") if key not in data]
    if missing:
        raise FrameError(f"{name} lacks {', '.join(missing)}; it should read {FORM}.")
    fx, fy, cx, cy = (_number(data[key], key, name) for key in ("fx", "fy", "cx", "cy"))
    width, height = (_count(data[key], key, name) for key in ("width", "height"))
    found = Intrinsics(width, height, fx, fy, cx, cy)
    check_intrinsics(found, name)
    return found


def _number(value: Any, key: str, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FrameError(f"{name}: {key} is {str(value)[:40]!r}, not a number.")
    if not abs(value) < 1e12:  # also false for NaN
        raise FrameError(f"{name}: {key} is {str(value)[:40]}; it should be a finite number.")
    return float(value)


def _count(value: Any, key: str, name: str) -> int:
    number = _number(value, key, name)
    if number != int(number) or not 1 <= number <= 65535:
        raise FrameError(f"{name}: {key} is {number:g}; it should be a whole number of pixels.")
    return int(number)


def _pose(data: dict[str, Any], key: str, name: str) -> np.ndarray | None:
    value = data.get(key)
    if value is None:
        return None
    wanted = f"{name}: {key} should be four rows of four finite numbers"
    rows = value if isinstance(value, list) and len(value) == 4 else []
    if not rows or not all(isinstance(row, list) and len(row) == 4 for row in rows):
        raise FrameError(wanted + ".")
    pose = np.array([[_number(entry, key, name) for entry in row] for row in rows])
    turn = pose[:3, :3]
    if not np.allclose(pose[3], [0, 0, 0, 1], atol=1e-6):
        raise FrameError(wanted + ", the last row 0 0 0 1 (was it written column by column?).")
    if not np.allclose(turn @ turn.T, np.eye(3), atol=1e-2) or np.linalg.det(turn) < 0:
        raise FrameError(wanted + " that turn and shift only: this one scales, shears or mirrors.")
    u, _, vt = np.linalg.svd(turn)  # mends the rounding of a printed matrix
    pose[:3, :3] = u @ vt
    return pose
