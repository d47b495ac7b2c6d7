"""Bounding boxes of masks, in whole pixels."""

from typing import NamedTuple

import numpy as np


class PixelBox(NamedTuple):
    """A rectangle of pixels: columns left to right - 1, rows top to bottom - 1."""

    left: int
    top: int
    right: int
    """One past the last column."""
    bottom: int
    """One past the last row."""

    @property
    def width(self) -> int:
        return self.right - self.left

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def slices(self) -> tuple[slice, slice]:
        """Rows and columns, to index an array of shape (H, W, ...)."""
        return np.s_[self.top : self.bottom, self.left : self.right]

    @property
    def xywh(self) -> list[int]:
        """The box as COCO writes it: left, top, width, height."""
        return [self.left, self.top, self.width, self.height]

    def padded(self, margin: int, shape: tuple[int, ...]) -> "PixelBox":
        """Return the box grown by `margin` pixels on each side, cut off at the edges of an image of `shape` (H, W)."""
        return PixelBox(
            max(0, self.left - margin),
            max(0, self.top - margin),
            min(shape[1], self.right + margin),
            min(shape[0], self.bottom + margin),
        )


def bounding_box(mask: np.ndarray) -> PixelBox:
    """Return the smallest box that holds all true pixels of a mask of shape (H, W); (0, 0, 0, 0) if there are none."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return PixelBox(0, 0, 0, 0)
    return PixelBox(int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1)
