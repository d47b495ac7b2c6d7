"""Predict affinities: log odds that pairs of cells of the image, near and far apart, belong to the same object.

A U-Net (Ronneberger et al., 2015) on a grid of 4 pixels takes height, surface normals, depth edges, and colour through
an encoder of its own, EfficientNet-Lite0's first stages (Tan and Le, 2019; Apache-2.0). For each cell it predicts
whether the cells at fixed OFFSETS belong to the same object, like the affinities of mutex watersheds (Wolf et al.,
2018), and whether the cell shows an object, a wall or furniture, or a robot or person.
scripts/training/affinity/train.py trains it on rendered tables only. It runs in OpenCV.
"""

from functools import cache
from pathlib import Path
from threading import Lock

import cv2
import numpy as np

from pipeline.segmentation.depth.agglomeration import PairAffinities

CELL = 4
"""Pixels at working size along a cell of the grid."""
OFFSETS = ((0, 1), (1, 0), (0, 3), (3, 0), (3, 3), (3, -3), (0, 8), (8, 0), (7, 7), (7, -7), (0, 16), (16, 0))
"""Rows and columns from a cell to the cell it is compared with."""
INPUT_CHANNELS = 12
"""Number of channels besides the colours."""
STRIDE = 64
"""Pixels of which the height and width of the network's input are multiples."""
MAX_LOG_ODDS = 6.0
"""Predictions are clipped to this magnitude."""
_NETWORK_LOCK = Lock()
"""OpenCV's networks keep their input, so one caller at a time may use them."""


def input_channels(geometry: np.ndarray) -> np.ndarray:
    """Return the network's input (INPUT_CHANNELS, h, w), float32, from `geometry_channels` (h, w, 10)."""
    points, normals, known, lab = np.split(np.asarray(geometry, np.float32), (3, 6, 7), axis=-1)
    local_mean = np.dstack([cv2.blur(np.ascontiguousarray(points[..., i]), (65, 65)) for i in range(2)])
    offset = np.clip((points[..., :2] - local_mean) / 0.05, -3, 3)
    height = np.clip(points[..., 2:] / 0.1, -0.5, 3)
    steps = [np.log1p(np.linalg.norm(_central_difference(points, axis), axis=-1) / 0.003) for axis in (0, 1)]
    maps = [height, normals, known, (lab - [0.6, 1.28, 1.28]) * 2, *(np.minimum(step, 5) for step in steps), offset]
    return np.ascontiguousarray(np.dstack(maps).transpose(2, 0, 1), np.float32)


def _central_difference(points: np.ndarray, axis: int) -> np.ndarray:
    """Return the difference of the next and the previous point along an axis, in the shape of `points`."""
    padded = np.pad(points, [(1, 1) if i == axis else (0, 0) for i in range(3)], mode="edge")
    return padded[2:] - padded[:-2] if axis == 0 else padded[:, 2:] - padded[:, :-2]


@cache
def _network() -> cv2.dnn.Net:
    return cv2.dnn.readNetFromONNX(str(Path(__file__).with_name("affinity.onnx")))


def predict_affinities(maps: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """Return log odds (3 + len(OFFSETS), h / CELL, w / CELL) of cells.

    The first are of showing an object, then of sharing it at each offset, and the last two of showing a wall or
    furniture, and a robot or person. `maps` is the result of `input_channels`, of shape (INPUT_CHANNELS, h / 2, w / 2),
    of colour `rgb` (h, w, 3), uint8.
    """
    height, width = rgb.shape[:2]
    h, w = (-(-size // STRIDE) * STRIDE for size in (height, width))
    colours = np.pad(rgb, ((0, h - height), (0, w - width), (0, 0)), "edge").astype(np.float32)
    maps = maps[:, : h // 2, : w // 2]
    maps = np.pad(maps, ((0, 0), (0, h // 2 - maps.shape[1]), (0, w // 2 - maps.shape[2])), "edge")
    with _NETWORK_LOCK:
        network = _network()
        network.setInput(np.ascontiguousarray(maps[None], np.float32), "maps")
        network.setInput(np.ascontiguousarray(((colours - 127) / 128).transpose(2, 0, 1)[None]), "rgb")
        return network.forward()[0][:, : -(-height // CELL), : -(-width // CELL)].copy()


def label_affinities(labels: np.ndarray, affinities: np.ndarray) -> PairAffinities:
    """Sum the affinities of cells over pairs of labels (h, w) at working size, 0 being outside."""
    cells = labels[CELL // 2 :: CELL, CELL // 2 :: CELL]
    h, w = (min(a, b) for a, b in zip(cells.shape, affinities.shape[1:], strict=True))
    cells, count = cells[:h, :w].astype(np.int64), int(labels.max()) + 1
    keys, values, near = [], [], []
    for (dy, dx), log_odds in zip(OFFSETS, affinities[1:-2], strict=True):
        if h <= dy or w <= abs(dx):
            continue
        first = slice(0, h - dy), slice(max(0, -dx), w - max(0, dx))
        a, b = cells[first], cells[dy:, max(0, dx) : w + min(0, dx)]
        valid = (a > 0) & (b > 0) & (a != b)
        keys.append(np.minimum(a, b)[valid] * count + np.maximum(a, b)[valid])
        values.append(np.clip(log_odds[first][valid], -MAX_LOG_ODDS, MAX_LOG_ODDS))
        # Neighbour distance cells; labels with a pair of cells this close are neighbours
        near.append(np.full(len(values[-1]), max(dy, abs(dx)) <= 3))
    pairs, index = np.unique(np.concatenate(keys), return_inverse=True)
    total, close = (np.bincount(index, np.concatenate(parts), len(pairs)) for parts in (values, near))
    weight = np.bincount(index, minlength=len(pairs))
    return PairAffinities(np.stack([pairs // count, pairs % count], 1), total, weight, close)


def mean_affinity(affinities: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Return the mean log odds that two masks (h, w) at working size show one object; 0 without pairs of cells."""
    pairs = label_affinities(np.where(a, 1, np.where(b, 2, 0)), affinities)
    return float(pairs.total.sum() / pairs.weight.sum()) if len(pairs.weight) else 0.0


def other_share(affinities: np.ndarray, mask: np.ndarray) -> tuple[float, float]:
    """Return how likely a mask (h, w) at working size shows a wall or furniture, and a robot or person, in [0, 1].

    Each is against an object. The mean over its cells counts, because an outline that is off shows both.
    """
    cells = mask[CELL // 2 :: CELL, CELL // 2 :: CELL][: affinities.shape[1], : affinities.shape[2]]
    if not cells.any():
        return 0.0, 0.0
    shown, wall, robot = 1 / (1 + np.exp(-affinities[[0, -2, -1], : cells.shape[0], : cells.shape[1]][:, cells]))
    return float(wall.mean() / (shown + wall).mean()), float(robot.mean() / (shown + robot).mean())


def objectness(affinities: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """Return the probability that each pixel at working size (h, w) shows an object."""
    h, w = shape
    large = cv2.resize(affinities[0], None, fx=CELL, fy=CELL, interpolation=cv2.INTER_LINEAR)
    large = np.pad(large, ((0, max(0, h - large.shape[0])), (0, max(0, w - large.shape[1]))), "edge")
    return 1 / (1 + np.exp(-large[:h, :w]))
