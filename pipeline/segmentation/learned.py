"""A small network's guess at what clicks mean: colour's features, height, surface and clicks in, log odds out.

The encoder is EfficientNet-Lite0 up to its stride of 16 (Tan and Le, 2019; weights from ImageNet, Apache-2.0), run once
a frame. The decoder is a U-Net (Ronneberger et al., 2015) on an 80 x 80 square around the clicks, trained on drawn
clutter alone by sample_scenes/learn_clicks.py. Both run in OpenCV; nothing else is needed.
"""

from functools import cache, cached_property
from pathlib import Path
from threading import Lock

import cv2
import numpy as np

from pipeline.segmentation import kinship
from pipeline.segmentation.crops import CELLS, STRIDE, Click, Square, around, click_maps, geometry, seen_from
from pipeline.segmentation.standing import Heights

FITS, SURE = 0.5, 0.75
"""Agreement with the network's guess from which what depth found is what the network means, and agreement of the
guess with its own odds from which it may overrule what depth found."""
FIRST = 0.44
"""Metres that are seen around a first click."""
MARGIN = 1.4
"""How much wider than the mask a square around it is."""
OUTSIDE = -9.0
"""Log odds where the network did not look."""
_ALONE = Lock()
"""OpenCV's networks hold their input: one caller at a time."""


@cache
def _network(name: str) -> cv2.dnn.Net:
    return cv2.dnn.readNetFromONNX(str(Path(__file__).with_name(f"clicks_{name}.onnx")))


def _answer(name: str, values: np.ndarray) -> np.ndarray:
    with _ALONE:
        network = _network(name)
        network.setInput(np.ascontiguousarray(values, np.float32))
        return network.forward()[0].copy()


def encoded(rgb: np.ndarray) -> np.ndarray:
    """Features (h / 4, w / 4, 24), float32, of colour (h, w, 3); h and w rounded up to sixteens."""
    h, w = rgb.shape[:2]
    padded = np.pad(rgb, ((0, -h % 16), (0, -w % 16), (0, 0)), mode="edge").astype(np.float32)
    return np.ascontiguousarray(_answer("encoder", ((padded - 127) / 128).transpose(2, 0, 1)[None]).transpose(1, 2, 0))


class Learned:
    """One frame, as the network sees it."""

    def __init__(self, view: Heights):
        self._view = view

    @cached_property
    def _features(self) -> np.ndarray:
        return encoded(self._view.rgb)

    @cached_property
    def _geometry(self) -> np.ndarray:
        return geometry(self._view, self._view.right)

    @cached_property
    def kin(self) -> np.ndarray:
        """Which places belong to one thing: log odds as kinship.odds gives them."""
        return kinship.odds(kinship.seen(self._geometry), self._features)

    def guess(self, clicks: list[Click], before: np.ndarray | None = None) -> np.ndarray:
        """Log odds (h, w) that a pixel belongs to what the clicks (pixels at working size) mean.

        `before` is the mask (h, w) that the clicks correct, None to start from nothing.
        """
        if before is not None and before.any():
            square = self._around_mask(before, clicks)
            return self._pasted(self._odds(square, clicks, before), square)
        x, y, _ = clicks[-1]
        square = Square.around(x, y, FIRST * self._view.focal / self._distance(x, y))
        odds = self._odds(square, clicks, None)
        better = _better(square, odds > 0)
        return self._pasted(odds if better is None else self._odds(better, clicks, None), better or square)

    def _odds(self, square: Square, clicks: list[Click], before: np.ndarray | None) -> np.ndarray:
        """Log odds (CELLS, CELLS) in a square."""
        placed = [(*square.cells(x, y), label) for x, y, label in clicks]
        mask = None if before is None else square.cut(before[..., None], 1)[..., 0]
        anchor = _anchor(placed, mask)
        features = square.cut(self._features, STRIDE)
        like = features * around(features, anchor).mean((0, 1))
        seen = np.concatenate([features.transpose(2, 0, 1), like.transpose(2, 0, 1)])
        whole = [seen, seen_from(self._geometry, square, anchor), click_maps(placed, mask)]
        return _answer("decoder", np.concatenate(whole)[None])

    def _pasted(self, odds: np.ndarray, square: Square) -> np.ndarray:
        return square.paste(odds, self._view.depth.shape, OUTSIDE)

    def _distance(self, x: float, y: float) -> float:
        h, w = self._view.depth.shape
        near = self._view.depth[max(0, int(y) - 20) : min(h, int(y) + 21), max(0, int(x) - 20) : min(w, int(x) + 21)]
        known = near[near > 0]
        return float(np.clip(np.median(known), 0.2, 4)) if known.size else 1.0

    def _around_mask(self, mask: np.ndarray, clicks: list[Click]) -> Square:
        rows, cols = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        x, y, _ = clicks[-1]
        x0, x1, y0, y1 = min(cols[0], x), max(cols[-1], x), min(rows[0], y), max(rows[-1], y)
        return Square.around((x0 + x1) / 2, (y0 + y1) / 2, MARGIN * max(x1 - x0, y1 - y0) + 16)


def fit(odds: np.ndarray, mask: np.ndarray) -> float:
    """How well a mask (h, w) agrees with log odds (h, w): the expected overlap, intersection over union."""
    sure = 1 / (1 + np.exp(-odds))
    both = float(sure[mask].sum())
    return both / max(1.0, float(sure.sum()) + float(mask.sum()) - both)


def confirms(odds: np.ndarray, found: np.ndarray, guess: np.ndarray) -> bool:
    """Whether what depth found (h, w) stands: the odds agree with it, or are not sure of their own guess (h, w)."""
    return fit(odds, found) > FITS or fit(odds, guess) < SURE


def part_at(mask: np.ndarray, x: int, y: int) -> np.ndarray:
    """The connected part of a mask that holds the pixel; empty where the mask does not."""
    _, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    return labels == labels[y, x] if mask[y, x] else np.zeros_like(mask)


def _better(square: Square, mask: np.ndarray) -> Square | None:
    """A square that shows the mask (CELLS, CELLS) whole, or larger; None where this one does."""
    if not mask.any():
        return None
    rows, cols = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    cut_off = min(rows[0], cols[0]) < 1 or max(rows[-1], cols[-1]) > CELLS - 2
    span = max(np.ptp(rows), np.ptp(cols)) * square.cell
    width = float(square.side * STRIDE)
    wanted = 1.5 * width if cut_off else MARGIN * span + 16
    if not cut_off and wanted > 0.75 * width:
        return None
    x, y = (cols[0] + cols[-1]) / 2 * square.cell, (rows[0] + rows[-1]) / 2 * square.cell
    return Square.around(x + square.left * STRIDE, y + square.top * STRIDE, wanted)


def _anchor(clicks: list[Click], mask: np.ndarray | None) -> tuple[float, float]:
    """The cell that is surely on the thing: the newest plus, else the middle of the mask so far."""
    inside = [(x, y) for x, y, label in clicks if label and 0 <= x < CELLS and 0 <= y < CELLS]
    if inside:
        return inside[-1]
    if mask is None or mask.max() <= 0.5:
        return clicks[-1][0], clicks[-1][1]
    depth = cv2.distanceTransform((mask > 0.5).astype(np.uint8), cv2.DIST_L2, 3)
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return float(x), float(y)
