"""What the clicks' network sees: a square around a thing, always of as many cells, whatever its size in the picture."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.segmentation.borders import surface
from pipeline.segmentation.standing import Heights

CELLS = 80
"""Cells along a side of what the network sees."""
STRIDE = 4
"""Pixels at working size to one of the units in which squares are placed: the encoder's own grid."""
SMALLEST, LARGEST = 12, 160
Click = tuple[float, float, int]
"""x, y and label (1 adds, 0 removes)."""


@dataclass(frozen=True)
class Square:
    """A part of the picture, in units of STRIDE pixels at working size; it may reach over the picture's edge."""

    left: int
    top: int
    side: int

    @classmethod
    def around(cls, x: float, y: float, pixels: float) -> "Square":
        """About so many pixels at working size wide, its middle at pixel x, y."""
        side = int(np.clip(round(pixels / STRIDE), SMALLEST, LARGEST))
        return cls(round(x / STRIDE - side / 2), round(y / STRIDE - side / 2), side)

    @property
    def cell(self) -> float:
        """Side of a cell in pixels at working size."""
        return self.side * STRIDE / CELLS

    def cells(self, x: float, y: float) -> tuple[float, float]:
        """Where a pixel at working size lies among the cells."""
        return (x - self.left * STRIDE) / self.cell, (y - self.top * STRIDE) / self.cell

    def cut(self, values: np.ndarray, stride: int) -> np.ndarray:
        """Values (h, w, C) on a grid of `stride` pixels at working size, as float32 (CELLS, CELLS, C); 0 outside."""
        x, y, side = (one * STRIDE // stride for one in (self.left, self.top, self.side))
        h, w = values.shape[:2]
        part = values[max(0, y) : max(0, min(h, y + side)), max(0, x) : max(0, min(w, x + side))].astype(np.float32)
        beyond = ((max(0, -y), max(0, y + side - h)), (max(0, -x), max(0, x + side - w)), (0, 0))
        if np.any(beyond):
            part = np.pad(part, beyond)[:side, :side]
        how = cv2.INTER_AREA if side > CELLS else cv2.INTER_LINEAR
        thin = [np.ascontiguousarray(part[..., i : i + 4]) for i in range(0, part.shape[-1], 4)]
        return np.dstack([cv2.resize(one, (CELLS, CELLS), interpolation=how) for one in thin])

    def paste(self, values: np.ndarray, shape: tuple[int, int], outside: float) -> np.ndarray:
        """Values (CELLS, CELLS) at working size (h, w), `outside` where the square does not reach."""
        side, (h, w) = self.side * STRIDE, shape
        x, y = self.left * STRIDE, self.top * STRIDE
        large = cv2.resize(values, (side, side), interpolation=cv2.INTER_LINEAR)
        pasted = np.full(shape, outside, np.float32)
        rows, cols = slice(max(0, y), min(h, y + side)), slice(max(0, x), min(w, x + side))
        pasted[rows, cols] = large[rows.start - y : rows.stop - y, cols.start - x : cols.stop - x]
        return pasted


def geometry(view: Heights, right: np.ndarray) -> np.ndarray:
    """Points (to the right, away, up; metres), normals, whether depth is known, CIELAB / 100, for every other pixel.

    Of shape (h // 2, w // 2, 10), float32. `right` is the camera's right along the table, in world axes, of shape (3,).
    """
    seen = surface(view, (slice(None), slice(None)))
    up = np.array([0.0, 0, 1])
    axes = np.stack([right, np.cross(up, right), up], 1).astype(np.float32)
    lab = cv2.cvtColor(view.rgb, cv2.COLOR_RGB2LAB).astype(np.float32) / 100
    maps = np.dstack([seen.points @ axes, seen.normals @ axes, seen.known.astype(np.float32), lab])
    half = (maps.shape[1] // 2, maps.shape[0] // 2)
    thin = [np.ascontiguousarray(maps[..., i : i + 4]) for i in range(0, maps.shape[-1], 4)]
    return np.dstack([cv2.resize(one, half, interpolation=cv2.INTER_AREA) for one in thin])


def seen_from(maps: np.ndarray, square: Square, anchor: tuple[float, float]) -> np.ndarray:
    """What `geometry` gave, in a square, as it differs from the anchor (cells x, y): (13, CELLS, CELLS), float32."""
    here = square.cut(maps, 2)
    middle = np.median(around(here, anchor).reshape(-1, here.shape[-1]), 0)
    points, normals, known, lab = np.split(here, (3, 6, 7), axis=-1)
    inside = (np.abs(normals).sum(-1, keepdims=True) > 0.05).astype(np.float32)
    apart = np.clip((points - middle[:3]) / 0.08, -3, 3) * inside
    colour = np.linalg.norm(lab - middle[7:], axis=-1, keepdims=True) * 2.5
    height = np.clip(points[..., 2:] / 0.1, -0.5, 3)
    parts = [apart, height, normals, known, (lab - [0.6, 1.28, 1.28]) * 2, colour, inside]
    return np.dstack(parts).transpose(2, 0, 1).astype(np.float32)


def around(values: np.ndarray, cell: tuple[float, float]) -> np.ndarray:
    """The 3 x 3 cells about one (x, y) of values (CELLS, CELLS, C)."""
    x, y = (min(max(int(one), 0), CELLS - 1) for one in cell)
    return values[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]


def click_maps(clicks: list[Click], before: np.ndarray | None) -> np.ndarray:
    """Clicks, in cells, as maps: plus and minus near and far, the newest, the mask before: (6, CELLS, CELLS)."""
    y, x = np.mgrid[0:CELLS, 0:CELLS].astype(np.float32)
    maps = np.zeros((6, CELLS, CELLS), np.float32)
    for cx, cy, label in clicks:
        squared, sign = (x - cx) ** 2 + (y - cy) ** 2, 0 if label else 1
        maps[sign] = np.maximum(maps[sign], np.exp(-squared / 8))
        maps[sign + 2] = np.maximum(maps[sign + 2], np.exp(-np.sqrt(squared) / 10))
    cx, cy, label = clicks[-1]
    maps[4] = np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / 8) * (1 if label else -1)
    if before is not None:
        maps[5] = before
    return maps
