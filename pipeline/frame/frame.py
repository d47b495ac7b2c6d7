"""One RGB-D photograph with its camera. Camera axes are OpenCV's: x right, y down, z forward."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.errors import StudioError


class FrameError(StudioError):
    """A frame that cannot be read or makes no sense."""


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole camera without distortion; pixel (u, v) has its centre at (u, v)."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @property
    def matrix(self) -> np.ndarray:
        """The camera matrix, of shape (3, 3), in pixels."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1.0]])


@dataclass(frozen=True, eq=False)
class Frame:
    """Colour and depth, registered to one another."""

    rgb: np.ndarray
    """Colour of shape (H, W, 3), uint8, sRGB."""
    depth: np.ndarray
    """Distance along z in metres, of shape (H, W), float32. Zero where unknown."""
    intrinsics: Intrinsics
    world_from_camera: np.ndarray | None = None
    """The camera's calibrated pose, of shape (4, 4), or None where the table has to tell it."""
    source: str = ""
    """Where the frame came from, for a person to read."""
    notes: tuple[str, ...] = ()
    """What the reader had to guess or mend ("depth taken as millimetres"), one sentence each."""

    @cached_property
    def points(self) -> np.ndarray:
        """Back-projected points in camera axes, of shape (H, W, 3), float32, in metres. NaN where depth is unknown."""
        k, z = self.intrinsics, np.where(self.depth > 0, self.depth, np.nan)
        u, v = np.meshgrid(np.arange(k.width, dtype=np.float32), np.arange(k.height, dtype=np.float32))
        return np.stack([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z], -1).astype(np.float32)
