"""A robot's base from files of someone else: its model is compiled in a confined process of its own."""

import threading
from dataclasses import asdict
from pathlib import Path

import numpy as np

from pipeline.alignment.camera import AlignmentError, AlignmentStopped
from pipeline.alignment.robot import RobotAlignment
from pipeline.frame import Intrinsics
from pipeline.store import parse_json
from pipeline.untrusted import worker_process
from pipeline.untrusted.worker_process import WorkerCrashedError, run_worker

MEMORY_LIMIT_MB, CPU_LIMIT_S = 4096, 120
MODULE = "pipeline.alignment.base_worker"


def read_robot_base_isolated(
    path: Path, world_from_camera: np.ndarray, intrinsics: Intrinsics, stop: threading.Event
) -> RobotAlignment:
    """Return what `read_robot_base` returns, computed in a confined process that reads the file's folder only.

    Raises AlignmentError in one line, AlignmentStopped soon after `stop` is set.
    """
    request = {
        "file": str(path.absolute()), "world_from_camera": np.asarray(world_from_camera).tolist(),
        "intrinsics": asdict(intrinsics), "memory_mb": MEMORY_LIMIT_MB, "seconds": CPU_LIMIT_S,
    }  # fmt: skip
    try:
        answer = {}
        for line in run_worker(MODULE, request, worker_process.ENVIRONMENT, stop):
            answer = dict(parse_json(line))
        if stop.is_set():
            raise AlignmentStopped("Stopped.")
        if "error" in answer:
            raise AlignmentError(" ".join(str(answer["error"]).split())[:600])
        base = _numbers(answer["world_from_base"], (4, 4))
        if "covariance" not in answer:
            return RobotAlignment(base)
        return RobotAlignment(base, _numbers(answer["covariance"], (6, 6)), _numbers(answer["residuals_px"], None))
    except WorkerCrashedError:
        raise AlignmentError("This robot's model takes too much memory or time, or crashed its reader.") from None
    except (ValueError, KeyError, TypeError):
        raise AlignmentError("The reader of these files answered with nonsense; they may be an attack.") from None


def _numbers(value: object, shape: tuple[int, ...] | None) -> np.ndarray:
    """Return finite numbers of a shape, or of any length. Raises ValueError."""
    array = np.array(value, float)
    if not np.isfinite(array).all() or (array.shape != shape if shape else array.ndim != 1):
        raise ValueError
    return array
