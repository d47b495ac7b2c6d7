"""Read clicks on a photograph, and the pose of a robot's base, from JSON files, in a confined child if asked."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from pipeline.alignment.camera import PIXEL_STD, AlignmentError, AlignmentStopped, CameraClicks
from pipeline.alignment.robot import RobotAlignment, ToolClick, align_robot
from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.divergence import ArmJoints, load_robot
from pipeline.errors import reason_of
from pipeline.frame import Intrinsics
from pipeline.geometry import transform
from pipeline.scene import Scene
from pipeline.store import parse_json
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

MAX_BYTES = 1_000_000
MAX_CLICKS = 1000
POINTS_FORM = (
    '{"points": [{"pixel": [u, v], "world": [x, y, z]} or {"pixel", "object": name, "point": [x, y, z]}, ...]}'
)
BASE_FORM = (
    '{"world_from_base" or "camera_from_base" or "base_from_camera": 4x4 or {"pos", "quat_wxyz"}}, or '
    '{"model": file, "clicks": [{"pixel": [u, v], "q": {joint: angle}}, ...]}'
)

LIMITS = Limits(seconds=120, is_wall_clock=False, memory_mb=4096)


def read_clicks(path: Path, scene: Scene) -> CameraClicks:
    """Read a file of `POINTS_FORM`; a point of an object is in the object's axes, from its box's centre.

    Raises AlignmentError in one line.
    """
    data = _read_json(path)
    rows = data.get("points") if isinstance(data, dict) else data
    if not isinstance(rows, list) or len(rows) > MAX_CLICKS or not all(isinstance(row, dict) for row in rows):
        raise AlignmentError(f"{path.name} lists no clicks; it should read {POINTS_FORM}")
    poses = {p.name: p.world_from_object.matrix for p in scene.placements}
    points, pixels = [], []
    for number, row in enumerate(rows, 1):
        where = f"{path.name}, click {number}"
        pixels.append(_numbers(row.get("pixel"), 2, f"{where}: pixel"))
        if "object" not in row:
            points.append(_numbers(row.get("world"), 3, f"{where}: world"))
            continue
        name = str(row["object"])
        if name not in poses:
            raise AlignmentError(f"{where}: the twin has no object {name[:40]!r}; it has {', '.join(poses)}")
        points.append(transform(poses[name], _numbers(row.get("point"), 3, f"{where}: point")))
    std = data.get("pixel_std", PIXEL_STD) if isinstance(data, dict) else PIXEL_STD
    std = _numbers([std], 1, f"{path.name}: pixel_std")[0]
    if not 0.05 <= std <= 50:
        raise AlignmentError(f"{path.name}: pixel_std is {std:g}; a click is 0.05 to 50 pixels off.")
    return CameraClicks(np.array(points).reshape(-1, 3), np.array(pixels).reshape(-1, 2), std)


def read_robot_base(path: Path, world_from_camera: np.ndarray, intrinsics: Intrinsics) -> RobotAlignment:
    """Read a base's pose, a hand-eye calibration or clicks on the tool, of `BASE_FORM`.

    Args:
        world_from_camera: pose of the camera that the file's poses and clicks refer to.

    Raises AlignmentError in one line, and RobotModelError for the model of the clicks.
    """
    data = _read_json(path)
    if isinstance(data, dict) and "clicks" in data:
        clicks = _tool_clicks(data, path, world_from_camera, intrinsics)
        return align_robot(clicks, upright=data.get("upright", True) is not False)
    if isinstance(data, dict) and "camera_from_base" in data:
        return RobotAlignment(world_from_camera @ _pose(data["camera_from_base"], f"{path.name}: camera_from_base"))
    if isinstance(data, dict) and "base_from_camera" in data:
        pose = _pose(data["base_from_camera"], f"{path.name}: base_from_camera")
        return RobotAlignment(world_from_camera @ np.linalg.inv(pose))
    value = data.get("world_from_base", data) if isinstance(data, dict) else data
    return RobotAlignment(_pose(value, path.name))


def _tool_clicks(
    data: Mapping[str, Any], path: Path, world_from_camera: np.ndarray, intrinsics: Intrinsics
) -> list[ToolClick]:
    """Return the clicks with the tool's place in the base's axes by the robot's kinematics."""
    rows, tool = data["clicks"], data.get("tool")
    if not isinstance(rows, list) or len(rows) > MAX_CLICKS or not isinstance(data.get("model"), str):
        raise AlignmentError(f"{path.name} names no robot model or no clicks; it should read {BASE_FORM}")
    robot, clicks = load_robot(path.parent / data["model"]), []
    for number, row in enumerate(rows, 1):
        where = f"{path.name}, click {number}"
        if not isinstance(row, dict) or not isinstance(row.get("q"), dict) or not row["q"]:
            raise AlignmentError(f'{where}: give the joint angles as "q": {{joint: angle}}')
        q = _numbers(list(row["q"].values()), len(row["q"]), f"{where}: q")
        arm = ArmJoints(tuple(row["q"]), tool=tool if isinstance(tool, str) else None)
        position, rotation = robot.pose(str(data.get("arm", "arm")), arm, q[None])
        point = _numbers(row.get("point", [0, 0, 0]), 3, f"{where}: point")
        camera = _pose(row["world_from_camera"], f"{where}: world_from_camera") if "world_from_camera" in row else None
        depth = None if row.get("depth") is None else float(_numbers([row["depth"]], 1, f"{where}: depth")[0])
        pixel = _numbers(row.get("pixel"), 2, f"{where}: pixel")
        clicks.append(
            ToolClick(
                pixel,
                position[0] + rotation[0] @ point,
                world_from_camera if camera is None else camera,
                intrinsics,
                depth,
            )
        )
    return clicks


def _read_json(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise AlignmentError(f"{path.name} has more than {MAX_BYTES // 1_000_000} MB; clicks and poses take less.")
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise AlignmentError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise AlignmentError(f"{path.name} is not JSON: {reason_of(error)}") from None


def _numbers(value: Any, count: int, name: str) -> np.ndarray:
    """Return `count` finite numbers as an array. Raises AlignmentError that begins with `name`."""
    plain = isinstance(value, list) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
    if not plain or len(value) != count or not np.all(np.abs(np.array(value, float)) < 1e9):
        raise AlignmentError(f"{name} should be {count} finite number{'s' * (count > 1)}, not {value!r:.60}")
    return np.array(value, float)


def _pose(value: Any, name: str) -> np.ndarray:
    """Return the matrix (4, 4) of a pose. Raises AlignmentError that begins with `name`."""
    if isinstance(value, dict) and {"pos", "quat_wxyz"} <= set(value):
        pos, quat = _numbers(value["pos"], 3, f"{name}, pos"), _numbers(value["quat_wxyz"], 4, f"{name}, quat_wxyz")
        if abs(np.linalg.norm(quat) - 1) > 0.01:
            raise AlignmentError(f"{name}, quat_wxyz has length {np.linalg.norm(quat):.3g}; a rotation has 1.")
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = Rotation.from_quat(quat, scalar_first=True).as_matrix(), pos
        return pose
    if not isinstance(value, list) or len(value) != 4:
        raise AlignmentError(f"{name} is no pose; it should read {BASE_FORM}")
    pose = np.array([_numbers(row, 4, f"{name}, row {number}") for number, row in enumerate(value, 1)])
    u, _, vt = np.linalg.svd(pose[:3, :3])
    if (
        np.abs(u @ vt - pose[:3, :3]).max() > 0.01
        or np.linalg.det(u @ vt) < 0
        or np.abs(pose[3] - [0, 0, 0, 1]).max() > 1e-6
    ):
        raise AlignmentError(f"{name} is no rigid motion: rows of a rotation and a translation, last row 0 0 0 1.")
    pose[:3, :3] = u @ vt  # removes the rounding of a printed matrix
    return pose


def read_robot_base_confined(
    path: Path, world_from_camera: np.ndarray, intrinsics: Intrinsics, stop: threading.Event
) -> RobotAlignment:
    """Return what `read_robot_base` returns, computed in a confined child that reads the file's folder only.

    Raises AlignmentError in one line, AlignmentStopped soon after `stop` is set.
    """
    arguments = {"path": str(path.absolute()), "world_from_camera": np.asarray(world_from_camera).tolist()}
    arguments["intrinsics"] = asdict(intrinsics)
    readable = [path.parent, *SYSTEM_LIBRARIES]
    with confined.errors_as(AlignmentError, path.name):
        for event in confined.call(f"{__name__}:send_robot_base", arguments, readable, stop, limits=LIMITS):
            return _alignment(event.arrays)
    raise AlignmentStopped("Stopped.")


def _alignment(arrays: Sequence[np.ndarray]) -> RobotAlignment:
    """Return the alignment of a child's arrays. Raises ValueError."""
    expected = [(4, 4), (6, 6), arrays[-1].shape[:1]][: len(arrays)]
    if len(arrays) == 2 or [array.shape for array in arrays] != expected:
        raise ValueError
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError
    return RobotAlignment(*arrays)


def send_robot_base(path: str, world_from_camera: list[list[float]], intrinsics: dict[str, Any]) -> Result:
    """Return the base's pose, then its covariance and the clicks' residuals if they are known. Raises StudioError."""
    found = read_robot_base(Path(path), np.array(world_from_camera), Intrinsics(**intrinsics))
    uncertainty = [array for array in (found.covariance, found.residuals_px) if array is not None]
    return Result(None, (found.world_from_base, *uncertainty))
