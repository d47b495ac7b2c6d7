"""Keeps the affinity network's input for drawn frames, so that training need not compute it."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.frame import Frame, Intrinsics, SupportError, find_support, register_depth
from pipeline.segmentation.depth.affinity import CELL, input_channels
from pipeline.segmentation.depth.click_crops import geometry_channels
from pipeline.segmentation.depth.height_map import height_map
from scripts.training.varied_tables import GROUND

SIZE = (480, 640)
"""Rows and columns of a frame at working size."""
UNKNOWN = 255
"""Label of a cell whose surface is unknown."""
MIN_CELLS = 60
"""Cells of objects below which a frame is left out."""
WRONG_GROUND_M = 0.03
"""Height of the true ground above which another surface was taken for it."""


@dataclass(frozen=True, eq=False)
class AffinityFrame:
    """A frame from which examples are cut."""

    rgb: np.ndarray
    """Shape (480, 640, 3), uint8."""
    maps: np.ndarray
    """Result of `input_channels`, shape (INPUT_CHANNELS, 240, 320), float16."""
    labels: np.ndarray
    """Object number of each cell, 0 background, shape (120, 160), uint8."""
    surfaces: np.ndarray
    """Surface of each cell, as in truth/surfaces.png, or UNKNOWN; shape (120, 160), uint8."""

    def write(self, path: Path) -> None:
        """Write all arrays; the file appears when it is complete."""
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, rgb=self.rgb, maps=self.maps, labels=self.labels, surfaces=self.surfaces)
        partial.rename(path)

    @classmethod
    def read(cls, path: Path) -> "AffinityFrame":
        """Inverse of `write`."""
        with np.load(path) as stored:
            return cls(stored["rgb"], stored["maps"], stored["labels"], stored["surfaces"])


def affinity_frame(
    rgb: np.ndarray, depth: np.ndarray, k: Intrinsics, labels: np.ndarray, surfaces: np.ndarray | None
) -> AffinityFrame | None:
    """Return the network's input for a drawn frame of SIZE; None without a support or objects."""
    frame = register_depth(Frame(np.ascontiguousarray(rgb), depth.astype(np.float32), k))
    try:
        view = height_map(frame, find_support(frame))
    except SupportError:
        return None
    cells = slice(CELL // 2, None, CELL), slice(CELL // 2, None, CELL)
    small = labels[cells].astype(np.uint8)
    if view.depth.shape != SIZE or np.count_nonzero(small) < MIN_CELLS:
        return None
    maps = input_channels(geometry_channels(view, view.right)).astype(np.float16)
    known = np.full(small.shape, UNKNOWN, np.uint8) if surfaces is None else surfaces[cells]
    return AffinityFrame(view.rgb, maps, small, known)


def is_ground_right(frame: AffinityFrame) -> bool:
    """Return whether most of the ground is at a height of about zero; True if no surface is known."""
    on_ground = (frame.surfaces == GROUND) & (frame.maps[4, ::2, ::2] > 0.5)
    heights = 0.1 * np.abs(frame.maps[0, ::2, ::2][on_ground].astype(np.float32))
    return not len(heights) or float(np.median(heights)) < WRONG_GROUND_M
