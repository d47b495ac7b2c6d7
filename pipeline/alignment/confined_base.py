"""A robot's base from files of someone else: its model is compiled in a confined child."""

import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.alignment.camera import AlignmentError, AlignmentStopped
from pipeline.alignment.input_files import read_robot_base
from pipeline.alignment.robot import RobotAlignment
from pipeline.confinement import SYSTEM_LIBRARIES
from pipeline.frame import Intrinsics
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Limits, Result

LIMITS = Limits(seconds=120, is_wall_clock=False, memory_mb=4096)


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
