"""The camera's intrinsics as a person checks and corrects them, by the size of the table."""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from pipeline.frame import Frame, FrameError, Intrinsics, Support
from pipeline.frame.camera import check_intrinsics
from pipeline.frame.depth_unit import LIMITS_M
from studio.sessions.session import Session

PARAMETERS = ("fx", "fy", "cx", "cy")
"""Focal lengths and principal point, in pixels."""
FACTORS = (0.1, 0.125, 0.2, 0.25, 1.0, 4.0, 5.0, 8.0, 10.0)
"""Of distances whose unit was taken for another: whole millimetres, and those of common cameras (depth_unit.py)."""


def correct_camera(session: Session, message: Mapping[str, Any]) -> None:
    """Record a person's {fx, fy, cx, cy}, and depth_factor if it is there; all is measured again. Raises FrameError."""
    session.decisions.record("camera", **parse_camera(message, session.project.frame))
    if session.project.segments() is None:
        session.prepare()


def camera_record(frame: Frame, original: Frame, support: Support | None) -> dict[str, Any]:
    """Return {fx, fy, cx, cy, depth_factor, factors, original, changed, median_depth, table}.

    `factors` are those of the distances that were read which are likely for a table. `original` is the frame before any
    correction. The last two are in metres, None if unknown; `table` is [long side, short side].
    """
    known, read = frame.depth[frame.depth > 0], original.depth[original.depth > 0]
    factor = float(known.max() / read.max()) if read.size else 1.0
    near, far = (limit / float(np.median(read)) if read.size else 1.0 for limit in LIMITS_M)
    parameters = {key: float(getattr(frame.intrinsics, key)) for key in PARAMETERS}
    return parameters | {
        "depth_factor": round(factor, 6),
        "factors": [one for one in FACTORS if near <= one <= far or one == 1],
        "original": {key: float(getattr(original.intrinsics, key)) for key in PARAMETERS} | {"depth_factor": 1.0},
        "changed": frame.intrinsics != original.intrinsics or abs(factor - 1) > 1e-6,
        "median_depth": float(np.median(known)) if known.size else None,
        "table": table_size(support) if support else None,
    }


def table_size(support: Support) -> list[float]:
    """Return the sides in metres of the smallest rectangle around the visible part of the table, longest first."""
    _, sides, _ = cv2.minAreaRect(support.polygon.astype(np.float32))
    return sorted((float(side) for side in sides), reverse=True)


def parse_camera(message: Mapping[str, Any], frame: Frame) -> dict[str, float]:
    """Read a person's intrinsics for this frame, in pixels, and the factor of its distances if one is given.

    Raises FrameError if no camera can have them.
    """
    try:
        parameters = {key: float(message[key]) for key in PARAMETERS}
        factor = {"depth_factor": float(message["depth_factor"])} if "depth_factor" in message else {}
    except (KeyError, TypeError, ValueError):
        raise FrameError("A camera needs four numbers in pixels: fx, fy, cx and cy.") from None
    if not all(np.isfinite(list(parameters.values()))):
        raise FrameError("A camera's numbers must be finite; correct the one that is not.")
    check_intrinsics(Intrinsics(frame.intrinsics.width, frame.intrinsics.height, **parameters), "The camera you gave")
    if factor and factor["depth_factor"] not in FACTORS:
        possible = ", ".join(f"{one:g}" for one in FACTORS)
        raise FrameError(f"depth_factor is {factor['depth_factor']:g}; it can be {possible}.")
    return parameters | factor
