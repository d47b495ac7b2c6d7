"""Process started by `read_robot_base_isolated`: computes a robot's base from foreign files, prints one line of JSON.

It is confined before it opens a file: it reads one folder and writes nothing.
"""

from pathlib import Path

import numpy as np

from pipeline.alignment.input_files import read_robot_base
from pipeline.confinement import SYSTEM_LIBRARIES, confine
from pipeline.errors import StudioError
from pipeline.frame import Intrinsics
from pipeline.untrusted.worker_input import read_request, watch_parent

PACKAGE = Path(__file__).resolve().parents[1]
"""Our own code, some of which is imported late."""


def main() -> None:
    """Read the request, confine this process, and print the base or the error."""
    request, send = read_request()
    file = Path(request["file"])
    try:
        confine([file.parent, PACKAGE, *SYSTEM_LIBRARIES], seconds=request["seconds"], memory_mb=request["memory_mb"])
    except OSError as error:  # never open a file with less confinement than the platform has
        return send({"error": f"this process cannot be confined ({error.strerror}); nothing was computed"})
    watch_parent()
    try:
        found = read_robot_base(file, np.array(request["world_from_camera"]), Intrinsics(**request["intrinsics"]))
    except StudioError as error:
        return send({"error": str(error)})
    except MemoryError:
        return send({"error": "this robot's model takes too much memory"})
    answer = {"world_from_base": found.world_from_base.tolist()}
    if found.covariance is not None and found.residuals_px is not None:
        answer |= {"covariance": found.covariance.tolist(), "residuals_px": found.residuals_px.tolist()}
    send(answer)
