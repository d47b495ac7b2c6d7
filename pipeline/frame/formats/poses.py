"""Camera poses of recordings: TUM's ground truth, Record3D's, and the trajectories that Open3D writes."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation, Slerp

from pipeline.frame.formats.archive import FileBundle
from pipeline.frame.formats.point_cloud import OPENGL_FROM_OPENCV
from pipeline.frame.formats.recording import Poses
from pipeline.frame.frame import FrameError
from pipeline.store import parse_json

GROUND_TRUTH = "groundtruth.txt"
TRAJECTORY_FILES = ("trajectory.log", "trajectory.json", "odometry.log", "poses.log", "poses.json", "camera.log")
"""Names under which Open3D's reconstruction system and its users write a trajectory."""
MAX_GAP_S = 0.1
"""Longest time between two poses of a tracked camera across which a pose is interpolated: TUM's come at 100 Hz."""


def poses_by_time(bundle: FileBundle, times: Sequence[float]) -> Poses:
    """Return TUM's ground truth at these times in seconds; None where it has a gap, empty without the file.

    Lines are "time tx ty tz qx qy qz qw". Raises FrameError.
    """
    if GROUND_TRUTH not in bundle.top_level_files:
        return ()
    lines = bundle.read(GROUND_TRUTH).decode("utf-8", "replace").splitlines()[:1_000_000]
    try:
        rows = [[float(word) for word in line.replace(",", " ").split()[:8]] for line in lines if line[:1] != "#"]
        values = np.array([row for row in rows if row], float).reshape(-1, 8)
    except ValueError:
        raise FrameError(f"{GROUND_TRUTH} in {bundle.name} should hold a time and 7 numbers on each line.") from None
    values = values[np.isfinite(values).all(1) & (np.linalg.norm(values[:, 4:], axis=1) > 0.5)]
    values = values[np.unique(values[:, 0], return_index=True)[1]]
    return tuple(_interpolated(values, time) for time in times) if len(values) > 1 else ()


def _interpolated(values: np.ndarray, time: float) -> np.ndarray | None:
    """Return the pose at a time between two rows (N, 8) in order of time; None outside of them or in a gap."""
    after = int(np.searchsorted(values[:, 0], time))
    if not 0 < after < len(values) or values[after, 0] - values[after - 1, 0] > MAX_GAP_S:
        return None
    two, pose = values[after - 1 : after + 1], np.eye(4)
    share = (time - two[0, 0]) / (two[1, 0] - two[0, 0])
    pose[:3, 3] = two[0, 1:4] + share * (two[1, 1:4] - two[0, 1:4])
    pose[:3, :3] = Slerp([0, 1], Rotation.from_quat(two[:, 4:]))(share).as_matrix()
    return pose


def poses_of_phone(rows: Any, count: int) -> Poses:
    """Return Record3D's poses, rows "qx qy qz qw px py pz" in ARKit's axes; empty if not one for each frame."""
    try:
        values = np.asarray(rows, float).reshape(-1, 7)
    except (ValueError, TypeError, OverflowError):
        return ()
    if len(values) < count:
        return ()
    poses = []
    for row in values[:count]:
        known, pose = bool(np.isfinite(row).all() and np.linalg.norm(row[:4]) > 0.5), np.eye(4)
        if known:
            pose[:3, :3], pose[:3, 3] = Rotation.from_quat(row[:4]).as_matrix(), row[4:]
        poses.append(pose @ OPENGL_FROM_OPENCV if known else None)
    return valid_poses(poses)


def poses_of_trajectory(bundle: FileBundle, count: int) -> Poses:
    """Return the poses of Open3D's trajectory file beside `count` pairs; empty without one, or of another length.

    Raises FrameError.
    """
    name = next((name for name in TRAJECTORY_FILES if name in bundle.top_level_files), None)
    if name is None:
        return ()
    raw = bundle.read(name)
    try:
        found = _read_log(raw) if name.endswith(".log") else _read_parameters(raw)
    except (ValueError, TypeError, KeyError, IndexError, np.linalg.LinAlgError):
        raise FrameError(f"{name} in {bundle.name} is not a trajectory as Open3D writes it.") from None
    return valid_poses(found) if len(found) == count else ()


def _read_log(raw: bytes) -> list[np.ndarray]:
    """Return the poses of a .log: for each a line of three numbers and four rows, the camera in the world."""
    lines = [line.split() for line in raw.decode("utf-8", "replace").splitlines() if line.strip()]
    return [np.array(lines[at + 1 : at + 5], float).reshape(4, 4) for at in range(0, len(lines), 5)]


def _read_parameters(raw: bytes) -> list[np.ndarray]:
    """Return the poses of a PinholeCameraTrajectory, whose extrinsics are the world in the camera, by columns."""
    parameters = parse_json(raw)["parameters"]
    return [np.linalg.inv(np.array(one["extrinsic"], float).reshape(4, 4).T) for one in parameters]


def valid_poses(poses: Iterable[np.ndarray | None]) -> Poses:
    """Return poses without those that are not rigid, which become None; empty if none is left.

    The tolerance is that of rotations printed with three digits.
    """
    checked = tuple(pose if pose is not None and _is_rigid(pose) else None for pose in poses)
    return checked if any(pose is not None for pose in checked) else ()


def _is_rigid(pose: np.ndarray) -> bool:
    rotation = pose[:3, :3]
    return bool(
        pose.shape == (4, 4)
        and np.isfinite(pose).all()
        and np.allclose(pose[3], [0, 0, 0, 1], atol=1e-6)
        and np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2)
        and np.linalg.det(rotation) > 0
    )
