"""The camera's numbers as a person sees and corrects them, and the table's size to check them by."""

import cv2
import numpy as np

from pipeline.frame import Frame, FrameError, Intrinsics, Support
from pipeline.frame.camera import check_intrinsics

NUMBERS = ("fx", "fy", "cx", "cy")


def camera(frame: Frame, came: Frame, support: Support | None) -> dict:
    """{fx, fy, cx, cy, changed, middle: metres or null, table: [long, short] metres or null}."""
    known = frame.depth[frame.depth > 0]
    numbers = {key: float(getattr(frame.intrinsics, key)) for key in NUMBERS}
    return numbers | {
        "came": {key: float(getattr(came.intrinsics, key)) for key in NUMBERS},
        "changed": frame.intrinsics != came.intrinsics,
        "middle": float(np.median(known)) if known.size else None,
        "table": table_size(support) if support else None,
    }


def table_size(support: Support) -> list[float]:
    """Metres along and across of the smallest rectangle around what is seen of the table."""
    _, sides, _ = cv2.minAreaRect(support.polygon.astype(np.float32))
    return sorted((float(side) for side in sides), reverse=True)


def given(told: dict, frame: Frame) -> dict[str, float]:
    """The numbers that a person gave for this frame, in pixels. Raises FrameError where no camera has them."""
    try:
        numbers = {key: float(told[key]) for key in NUMBERS}
    except (KeyError, TypeError, ValueError):
        raise FrameError("A camera needs four numbers in pixels: fx, fy, cx and cy.") from None
    if not all(np.isfinite(list(numbers.values()))):
        raise FrameError("A camera's numbers must be finite; correct the one that is not.")
    check_intrinsics(Intrinsics(frame.intrinsics.width, frame.intrinsics.height, **numbers), "The camera you gave")
    return numbers
