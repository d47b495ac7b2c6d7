"""The frame with the camera that a person decided on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipeline.decisions import Decision, ground_pixels
from pipeline.frame import Frame, Intrinsics


def depth_factor(decision: Decision) -> float:
    """Return by what a decision about the camera multiplies the distances that were read."""
    return float(decision.data.get("depth_factor", 1))


def with_camera(read: Frame, decided: Sequence[Decision]) -> Frame:
    """Return the frame that was read with the camera of these decisions."""
    frame = read
    for one in decided:
        if one.kind == "camera":
            size = frame.intrinsics.width, frame.intrinsics.height
            numbers = (float(one.data[key]) for key in ("fx", "fy", "cx", "cy"))
            settled = {"intrinsics", "unit"} if "depth_factor" in one.data else {"intrinsics"}
            doubts = tuple(doubt for doubt in read.doubts if doubt.what not in settled)
            depth = read.depth if depth_factor(one) == 1 else read.depth * np.float32(depth_factor(one))
            frame = replace(frame, depth=depth, intrinsics=Intrinsics(*size, *numbers), doubts=doubts)
        elif one.kind == "ground":
            first, *others = ((int(x), int(y)) for x, y in ground_pixels(one))
            frame = replace(frame, ground_pixel=first, also_ground_pixels=tuple(others))
        else:
            frame = replace(frame, world_from_camera=np.array(one.data["world_from_camera"], float))
    return frame
