"""RGB-D frames and their cameras. Camera axes are OpenCV's: x right, y down, z forward."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pipeline.errors import StudioError


class FrameError(StudioError):
    """A frame that cannot be read or is not valid."""


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

    def ray_directions(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the directions through pixels (u, v) of shape (...), in camera axes with z = 1, of shape (..., 3)."""
        return np.stack([(u - self.cx) / self.fx, (v - self.cy) / self.fy, np.ones_like(u)], -1)


@dataclass(frozen=True)
class Doubt:
    """A reason why the frame may not be what the camera saw."""

    what: str
    """What is doubted: of a frame "registration", "unit", "intrinsics", or "depth", whether its numbers are distances;
    of a twin also "ground", "explained", "objects", or "depth", whether the objects are where they were seen."""
    why: str
    """One sentence."""
    cure: str
    """What a person can do about it, one sentence."""

    @property
    def note(self) -> str:
        """The doubt as a note of its frame."""
        return f"{self.why} {self.cure}"

    @property
    def line(self) -> str:
        """The doubt as one of its twin's: "reason; cure"."""
        return "; ".join(f"{text[:1].lower()}{text[1:].rstrip('.')}" for text in (self.why, self.cure))

    @classmethod
    def of_line(cls, what: str, line: str) -> "Doubt":
        """Return the doubt of a line as `line` writes it."""
        why, _, cure = line.partition("; ")
        return cls(what, *(f"{text[:1].upper()}{text[1:]}." for text in (why, cure)))


@dataclass(frozen=True, eq=False)
class Frame:
    """Colour and depth, registered to one another."""

    rgb: np.ndarray
    """Colour of shape (H, W, 3), uint8, sRGB."""
    depth: np.ndarray
    """Distance along z in metres, of shape (H, W), float32. Zero where unknown."""
    intrinsics: Intrinsics
    world_from_camera: np.ndarray | None = None
    """The camera's calibrated pose, of shape (4, 4); None to derive it from the table."""
    source: str = ""
    """Where the frame came from, as readable text."""
    notes: tuple[str, ...] = ()
    """What the reader guessed or corrected ("depth taken as millimetres"), one sentence each."""
    ground_pixel: tuple[int, int] | None = None
    """A pixel (x, y) of the surface that carries the objects, chosen by a person; None to find that surface."""
    also_ground_pixels: tuple[tuple[int, int], ...] = ()
    """Pixels (x, y) of further surfaces that carry objects, such as shelves, chosen by a person."""
    doubts: tuple[Doubt, ...] = ()
    """Why depth, its unit or the intrinsics may be wrong. Each is a note too."""

    @cached_property
    def points(self) -> np.ndarray:
        """Back-projected points in camera axes, of shape (H, W, 3), float32, in metres. NaN where depth is unknown."""
        k, z = self.intrinsics, np.where(self.depth > 0, self.depth, np.nan)
        u, v = np.meshgrid(np.arange(k.width, dtype=np.float32), np.arange(k.height, dtype=np.float32))
        return np.stack([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z], -1).astype(np.float32)


def find_fault(frame: Frame) -> str:
    """Return what of a frame is not as `Frame` promises it; "" if all is."""
    k, pose = frame.intrinsics, frame.world_from_camera
    for name, array, dtype, shape in (
        ("colour", np.asarray(frame.rgb), np.uint8, (k.height, k.width, 3)),
        ("depth", np.asarray(frame.depth), np.float32, (k.height, k.width)),
    ):
        if array.dtype != dtype or array.shape != shape:
            wanted = f"{np.dtype(dtype).name} of shape {shape}"
            return f"its {name} is {array.dtype} of shape {array.shape}, where {wanted} is expected"
    if not np.isfinite(frame.depth).all() or frame.depth.min() < 0:
        return "its depth holds numbers below 0 or not finite, where 0 stands for unknown"
    if pose is not None and (pose.shape != (4, 4) or not np.isfinite(pose).all()):
        return "its pose is no matrix of four rows of four numbers"
    return ""


@dataclass(frozen=True, eq=False)
class FurtherView:
    """Another photograph of the same table, beside the main one."""

    frame: Frame
    world_from_camera: np.ndarray
    """Of shape (4, 4), in the world of the main frame's table."""
    labels: np.ndarray
    """Id of the segment that each pixel shows, of shape (H, W), int; 0 for none."""

    def mask(self, segment_id: int) -> np.ndarray:
        """Return the pixels that show a segment's object, of shape (H, W), bool."""
        return self.labels == segment_id


def subsampling_step(frame: Frame, width: int) -> int:
    """Return n so that every n-th pixel of the frame makes rows of about `width` pixels."""
    return max(1, round(frame.depth.shape[1] / width))
