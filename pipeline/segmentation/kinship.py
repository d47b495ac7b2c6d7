"""Which places of a picture belong to one thing: a small network's log odds for pairs of places, near and far apart.

A U-Net (Ronneberger et al., 2015) on a grid of 4 pixels sees height, surface, steps in depth, colour, and the features
that the clicks' encoder makes of colour. For each cell it says how sure it is that the cells at fixed OFFSETS belong to
the same thing, as affinities are learned for mutex watersheds (Wolf et al., 2018). sample_scenes/learn_kinship.py
taught it on drawn tables; it has seen no real photograph. It runs in OpenCV; nothing else is needed.
"""

from functools import cache
from pathlib import Path
from threading import Lock

import cv2
import numpy as np

from pipeline.segmentation.merging import Evidence

CELL = 4
"""Pixels at working size along a cell of the grid on which is judged."""
OFFSETS = ((0, 1), (1, 0), (0, 3), (3, 0), (3, 3), (3, -3), (0, 8), (8, 0), (7, 7), (7, -7), (0, 16), (16, 0))
"""Rows and columns in cells from a place to the one it is compared with."""
MAPS = 12
"""Channels of what is seen beside the encoder's features."""
NEAR = 3
"""Cells up to which places are near enough for what they belong to to be neighbours."""
SUREST = 6.0
"""Log odds beyond which a judgement is not taken to be surer."""
_ALONE = Lock()
"""OpenCV's networks hold their input: one caller at a time."""


def seen(geometry: np.ndarray) -> np.ndarray:
    """What the network sees, (MAPS, h, w), float32, of what crops.geometry gave, (h, w, 10)."""
    points, normals, known, lab = np.split(np.asarray(geometry, np.float32), (3, 6, 7), axis=-1)
    middle = np.dstack([cv2.blur(np.ascontiguousarray(points[..., i]), (65, 65)) for i in range(2)])
    beside = np.clip((points[..., :2] - middle) / 0.05, -3, 3)
    height = np.clip(points[..., 2:] / 0.1, -0.5, 3)
    steps = [np.log1p(np.linalg.norm(_across(points, axis), axis=-1) / 0.003) for axis in (0, 1)]
    maps = [height, normals, known, (lab - [0.6, 1.28, 1.28]) * 2, *(np.minimum(one, 5) for one in steps), beside]
    return np.ascontiguousarray(np.dstack(maps).transpose(2, 0, 1), np.float32)


def _across(points: np.ndarray, axis: int) -> np.ndarray:
    """From the neighbour before to the one after, along rows or columns, of the points' own shape."""
    padded = np.pad(points, [(1, 1) if i == axis else (0, 0) for i in range(3)], mode="edge")
    return padded[2:] - padded[:-2] if axis == 0 else padded[:, 2:] - padded[:, :-2]


@cache
def _network() -> cv2.dnn.Net:
    return cv2.dnn.readNetFromONNX(str(Path(__file__).with_name("kinship.onnx")))


def odds(maps: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Log odds (1 + len(OFFSETS), h, w): of being part of a thing, then of belonging to the thing at each offset.

    `maps` is what `seen` gave, of shape (MAPS, 2 h, 2 w); `features` are the encoder's, of shape (h, w, 24).
    """
    h, w = features.shape[:2]
    beyond = ((0, 0), (0, -h % 8), (0, -w % 8))
    maps = np.pad(maps[:, : 2 * h, : 2 * w], [(0, 0), (0, 2 * h - maps.shape[1]), (0, 2 * w - maps.shape[2])], "edge")
    maps = np.pad(maps, [(a, 2 * b) for a, b in beyond], "edge")
    colour = np.pad(features.transpose(2, 0, 1), beyond, "edge")
    with _ALONE:
        network = _network()
        network.setInput(np.ascontiguousarray(maps[None], np.float32), "maps")
        network.setInput(np.ascontiguousarray(colour[None], np.float32), "features")
        return network.forward()[0][:, :h, :w].copy()


def between(labels: np.ndarray, odds: np.ndarray) -> Evidence:
    """What log odds of pairs of places (from `odds`) say of pairs of labels (h, w) at working size, 0 being outside."""
    cells = labels[CELL // 2 :: CELL, CELL // 2 :: CELL]
    h, w = (min(a, b) for a, b in zip(cells.shape, odds.shape[1:], strict=True))
    cells, count = cells[:h, :w].astype(np.int64), int(labels.max()) + 1
    keys, values, near = [], [], []
    for (dy, dx), certain in zip(OFFSETS, odds[1:], strict=True):
        if h <= dy or w <= abs(dx):
            continue
        here = slice(0, h - dy), slice(max(0, -dx), w - max(0, dx))
        a, b = cells[here], cells[dy:, max(0, dx) : w + min(0, dx)]
        both = (a > 0) & (b > 0) & (a != b)
        keys.append(np.minimum(a, b)[both] * count + np.maximum(a, b)[both])
        values.append(np.clip(certain[here][both], -SUREST, SUREST))
        near.append(np.full(len(values[-1]), max(dy, abs(dx)) <= NEAR))
    pairs, which = np.unique(np.concatenate(keys), return_inverse=True)
    total, close = (np.bincount(which, np.concatenate(one), len(pairs)) for one in (values, near))
    weight = np.bincount(which, minlength=len(pairs))
    return Evidence(np.stack([pairs // count, pairs % count], 1), total, weight, close)


def akin(odds: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
    """Mean log odds that two masks (h, w) at working size are one thing; 0 where nothing is known of them."""
    told = between(np.where(one, 1, np.where(other, 2, 0)), odds)
    return float(told.total.sum() / told.weight.sum()) if len(told.weight) else 0.0


def presence(odds: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """How likely each pixel at working size (h, w) shows a thing at all, in [0, 1]."""
    h, w = shape
    large = cv2.resize(odds[0], None, fx=CELL, fy=CELL, interpolation=cv2.INTER_LINEAR)
    large = np.pad(large, ((0, max(0, h - large.shape[0])), (0, max(0, w - large.shape[1]))), "edge")
    return 1 / (1 + np.exp(-large[:h, :w]))
