"""Inputs of the click network: square crops of the image around an object, resized to a fixed number of cells."""

from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.depth.superpixels import surface_map

CELLS = 80
"""Cells along a side of the network's input."""
STRIDE = 4
"""Pixels at working size per unit in which crops are placed: the encoder's grid."""
MIN_SIDE, MAX_SIDE = 12, 160
"""Of a crop, in units of STRIDE pixels."""
Click = tuple[float, float, int]
"""x, y and label (1 adds, 0 removes)."""


@dataclass(frozen=True)
class ClickCrop:
    """A square of the image, in units of STRIDE pixels at working size; it may extend beyond the image."""

    left: int
    top: int
    side: int

    @classmethod
    def around(cls, x: float, y: float, pixels: float) -> "ClickCrop":
        """Return a crop about `pixels` wide at working size, centred at pixel x, y."""
        side = int(np.clip(round(pixels / STRIDE), MIN_SIDE, MAX_SIDE))
        return cls(round(x / STRIDE - side / 2), round(y / STRIDE - side / 2), side)

    @property
    def cell(self) -> float:
        """Side of a cell in pixels at working size."""
        return self.side * STRIDE / CELLS

    def cells(self, x: float, y: float) -> tuple[float, float]:
        """Return the cell coordinates of a pixel at working size."""
        return (x - self.left * STRIDE) / self.cell, (y - self.top * STRIDE) / self.cell

    def cut(self, values: np.ndarray, stride: int) -> np.ndarray:
        """Crop values (h, w, C) on a grid of `stride` pixels to (CELLS, CELLS, C), float32; 0 outside."""
        x, y, side = (value * STRIDE // stride for value in (self.left, self.top, self.side))
        h, w = values.shape[:2]
        part = values[max(0, y) : max(0, min(h, y + side)), max(0, x) : max(0, min(w, x + side))].astype(np.float32)
        padding = ((max(0, -y), max(0, y + side - h)), (max(0, -x), max(0, x + side - w)), (0, 0))
        if np.any(padding):
            part = np.pad(part, padding)[:side, :side]
        interpolation = cv2.INTER_AREA if side > CELLS else cv2.INTER_LINEAR
        groups = [np.ascontiguousarray(part[..., i : i + 4]) for i in range(0, part.shape[-1], 4)]
        return np.dstack([cv2.resize(group, (CELLS, CELLS), interpolation=interpolation) for group in groups])

    def paste(self, values: np.ndarray, shape: tuple[int, int], outside: float) -> np.ndarray:
        """Return values (CELLS, CELLS) at working size (h, w), with the value `outside` beyond the crop."""
        side, (h, w) = self.side * STRIDE, shape
        x, y = self.left * STRIDE, self.top * STRIDE
        large = cv2.resize(values, (side, side), interpolation=cv2.INTER_LINEAR)
        pasted = np.full(shape, outside, np.float32)
        rows, cols = slice(max(0, y), min(h, y + side)), slice(max(0, x), min(w, x + side))
        pasted[rows, cols] = large[rows.start - y : rows.stop - y, cols.start - x : cols.stop - x]
        return pasted


def geometry_channels(view: HeightMap, right: np.ndarray) -> np.ndarray:
    """Return points, normals, whether depth is known, and CIELAB / 100, of shape (h // 2, w // 2, 10), float32.

    Points (metres) and normals have the axes right, away from the camera, up. `right` is the camera's right along the
    table in world axes, of shape (3,).
    """
    surface = surface_map(view, (slice(None), slice(None)))
    up = np.array([0.0, 0, 1])
    axes = np.stack([right, np.cross(up, right), up], 1).astype(np.float32)
    lab = cv2.cvtColor(view.rgb, cv2.COLOR_RGB2LAB).astype(np.float32) / 100
    maps = np.dstack([surface.points @ axes, surface.normals @ axes, surface.known.astype(np.float32), lab])
    half = (maps.shape[1] // 2, maps.shape[0] // 2)
    groups = [np.ascontiguousarray(maps[..., i : i + 4]) for i in range(0, maps.shape[-1], 4)]
    return np.dstack([cv2.resize(group, half, interpolation=cv2.INTER_AREA) for group in groups])


def relative_geometry(maps: np.ndarray, crop: ClickCrop, anchor: tuple[float, float]) -> np.ndarray:
    """Return `geometry_channels` in a crop relative to the anchor (cells x, y): (13, CELLS, CELLS), float32."""
    channels = crop.cut(maps, 2)
    at_anchor = np.median(neighbourhood(channels, anchor).reshape(-1, channels.shape[-1]), 0)
    points, normals, known, lab = np.split(channels, (3, 6, 7), axis=-1)
    inside = (np.abs(normals).sum(-1, keepdims=True) > 0.05).astype(np.float32)
    offset = np.clip((points - at_anchor[:3]) / 0.08, -3, 3) * inside
    colour = np.linalg.norm(lab - at_anchor[7:], axis=-1, keepdims=True) * 2.5
    height = np.clip(points[..., 2:] / 0.1, -0.5, 3)
    parts = [offset, height, normals, known, (lab - [0.6, 1.28, 1.28]) * 2, colour, inside]
    return np.dstack(parts).transpose(2, 0, 1).astype(np.float32)


def neighbourhood(values: np.ndarray, cell: tuple[float, float]) -> np.ndarray:
    """Return the 3 x 3 cells around a cell (x, y) of values (CELLS, CELLS, C)."""
    x, y = (min(max(int(coordinate), 0), CELLS - 1) for coordinate in cell)
    return values[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2]


def click_maps(clicks: list[Click], before: np.ndarray | None) -> np.ndarray:
    """Return maps (6, CELLS, CELLS) of clicks in cells: plus and minus, narrow and wide, newest click, mask before."""
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
