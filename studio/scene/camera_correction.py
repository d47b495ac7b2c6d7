"""The camera's intrinsics as a person checks and corrects them, by the size of the table."""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np

from pipeline.frame import Frame, FrameError, Intrinsics, Support
from pipeline.frame.camera import check_intrinsics
from studio.sessions.session import Session

PARAMETERS = ("fx", "fy", "cx", "cy")
"""Focal lengths and principal point, in pixels."""


def correct_camera(session: Session, message: Mapping[str, Any]) -> None:
    """Record a person's intrinsics {fx, fy, cx, cy}; everything measured is measured again. Raises FrameError."""
    session.decisions.record("camera", **parse_camera(message, session.project.frame))
    if session.project.segments() is None:
        session.prepare()


def camera_record(frame: Frame, original: Frame, support: Support | None) -> dict[str, Any]:
    """Return {fx, fy, cx, cy, original, changed, median_depth, table}; the last two in metres, None if unknown.

    `table` is [long side, short side]. `original` is the frame before any correction.
    """
    known = frame.depth[frame.depth > 0]
    parameters = {key: float(getattr(frame.intrinsics, key)) for key in PARAMETERS}
    return parameters | {
        "original": {key: float(getattr(original.intrinsics, key)) for key in PARAMETERS},
        "changed": frame.intrinsics != original.intrinsics,
        "median_depth": float(np.median(known)) if known.size else None,
        "table": table_size(support) if support else None,
    }


def table_size(support: Support) -> list[float]:
    """Return the sides in metres of the smallest rectangle around the visible part of the table, longest first."""
    _, sides, _ = cv2.minAreaRect(support.polygon.astype(np.float32))
    return sorted((float(side) for side in sides), reverse=True)


def parse_camera(message: Mapping[str, Any], frame: Frame) -> dict[str, float]:
    """Read a person's intrinsics for this frame, in pixels. Raises FrameError if no camera can have them."""
    try:
        parameters = {key: float(message[key]) for key in PARAMETERS}
    except (KeyError, TypeError, ValueError):
        raise FrameError("A camera needs four numbers in pixels: fx, fy, cx and cy.") from None
    if not all(np.isfinite(list(parameters.values()))):
        raise FrameError("A camera's numbers must be finite; correct the one that is not.")
    check_intrinsics(Intrinsics(frame.intrinsics.width, frame.intrinsics.height, **parameters), "The camera you gave")
    return parameters
