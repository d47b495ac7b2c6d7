"""Choose among the corrections that a later click may mean.

Colour proposes a corrected mask, in two sizes, and so does the click network, at three levels of confidence. A
perceptron predicts from measured terms by how much each proposal would raise the IoU.
scripts/training/train_click_choice.py trains it on rendered tables only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from pipeline.frame.plane_extraction import depth_noise
from pipeline.segmentation.depth.affinity import CELL, MAX_LOG_ODDS, OFFSETS
from pipeline.segmentation.depth.height_map import HeightMap
from pipeline.segmentation.mask_operations import padded_window

Click = tuple[int, int, int]
SOURCES = ("colour", "near", "disc", "network", "sure network", "wide network")
"""What proposes corrections; "colour" is always among them."""
TERMS = (
    "area / disc", "area / mask", "centred", "radius / gap", "log odds", "share of agreeing odds",
    "gain of expected IoU", "expected IoU", "colour from click", "share of click's colour", "colour step at new edge",
    "colour step at old edge", "colour step inside", "depth step at new edge", "depth step at old edge",
    "affinity cut", "affinity joined", "objectness", "new edge", "old edge", "other objects", "plus click",
    "number of clicks", "share added", "mean agreement", "most agreement",
)  # fmt: skip
"""Terms of a proposal, measured on the pixels it changes; then follows one term for each of SOURCES."""
SAME_COLOUR = 15.0
"""Distance in 8-bit CIELAB up to which a changed pixel counts as of the clicked colour."""


@dataclass(frozen=True, eq=False)
class ChoiceEvidence:
    """What the terms are measured on, at working size (h, w)."""

    view: HeightMap
    lab: np.ndarray
    """Smoothed colour in 8-bit CIELAB, of shape (h, w, 3), uint8."""
    affinities: np.ndarray
    """As `predict_affinities` returns them."""
    objectness: np.ndarray
    """Probability that a pixel shows an object, of shape (h, w)."""
    objects: Sequence[np.ndarray]
    """Automatic masks, of shape (h, w), bool."""


def choose(terms: Mapping[str, np.ndarray]) -> str:
    """Return the source whose proposal promises the highest IoU."""
    names = list(terms)
    gains = predicted_gains(np.stack([terms[name] for name in names]))
    return names[int(gains.argmax())]


def predicted_gains(terms: np.ndarray) -> np.ndarray:
    """Return by how much proposals with these terms (N, C) would raise the IoU, of shape (N,), times five."""
    mean, deviation, *layers = _weights()
    hidden = (terms - mean) / deviation
    for weight, bias in zip(layers[:-2:2], layers[1:-2:2], strict=True):
        hidden = np.tanh(hidden @ weight + bias)
    return (hidden @ layers[-2] + layers[-1])[:, 0]


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(Path(__file__).with_name("click_choice.npz")) as stored:
        return tuple(stored[name] for name in ("mean", "deviation", "w0", "b0", "w1", "b1", "w2", "b2"))


def measure_proposals(
    evidence: ChoiceEvidence, before: np.ndarray, click: Click, count: int, log_odds: np.ndarray,
    proposals: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return the terms of each proposal, of shape (len(TERMS) + len(SOURCES),), float32.

    `before` and the proposals are masks (h, w), `click` is the newest of `count` clicks in pixels at working size, and
    `log_odds` (h, w) is the click network's answer to all of them.
    """
    changes = {name: mask != before for name, mask in proposals.items()}
    x, y, label = click
    every = np.logical_or.reduce([before, *changes.values()])
    every[y, x] = True
    window = padded_window(every, 4)
    row, col = y - window[0].start, x - window[1].start
    old, near = before[window], [mask[window] for mask in evidence.objects]
    wrong = old != bool(label)
    gap = max(1.0, float(_inner_distance(wrong)[row, col]))
    odds = np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS)
    probability = 1 / (1 + np.exp(-odds))
    total, odds, probability = float(probability.sum()), odds[window], probability[window]
    area = max(1, np.count_nonzero(old))
    expected = _expected_iou(probability, old, total)
    lab = evidence.lab[window]
    patch = lab[max(0, row - 1) : row + 2, max(0, col - 1) : col + 2].reshape(-1, 3)
    distance = np.linalg.norm(lab.astype(np.float32) - np.median(patch, 0).astype(np.float32), axis=-1)
    colour_step, depth_step = _colour_steps(lab), _depth_steps(np.asarray(evidence.view.depth[window], np.float32))
    others = np.zeros_like(old)
    for mask in near:
        if np.count_nonzero(mask & old) <= 0.2 * area:
            others |= mask
    pairs = _CellPairs(evidence.affinities, before, window)
    old_edge, shown, terms = _edge(old), evidence.objectness[window], {}
    for name, mask in proposals.items():
        new, change = mask[window], changes[name][window].copy()
        change[row, col] |= not change.any()
        size, inner = np.count_nonzero(change), _inner_distance(change)
        signed = np.where(new, odds, -odds)[change]
        new_edge = _edge(new)
        appears, vanishes = new_edge & ~old_edge, old_edge & ~new_edge
        overlaps = [
            np.count_nonzero(change & other[window]) / max(1, np.count_nonzero(change | other[window]))
            for source, other in changes.items()
            if source in ("colour", "network") and source != name
        ]
        values = [
            np.log(size / (np.pi * gap**2)), np.log(size / area), inner[row, col] / max(1e-3, inner.max()),
            np.log(max(0.5, float(inner.max())) / gap), signed.mean() / 3, (signed > 0).mean(),
            5 * (_expected_iou(probability, new, total) - expected), expected, np.log1p(distance[change].mean()) / 2,
            (distance[change] < SAME_COLOUR).mean(),
            *(_mean(colour_step, part) / 20 for part in (appears, vanishes, change & ~new_edge)),
            _mean(depth_step, appears), _mean(depth_step, vanishes),
            *(one / 3 for one in pairs.cut_and_joined(mask)), shown[change].mean(),
            appears.sum() / max(1, new_edge.sum()), vanishes.sum() / max(1, old_edge.sum()),
            np.count_nonzero(change & others) / size, float(label), count / 5, np.count_nonzero(new & ~old) / size,
            np.mean(overlaps) if overlaps else 0.0, max(overlaps, default=0.0), *(name == source for source in SOURCES),
        ]  # fmt: skip
        terms[name] = np.array(values, np.float32)
    return terms


def _expected_iou(probability: np.ndarray, mask: np.ndarray, total: float) -> float:
    """Return the expected IoU of a mask with pixels of these probabilities, whose sum over the frame is `total`."""
    both = float(probability[mask].sum())
    return both / max(1.0, total + np.count_nonzero(mask) - both)


def _inner_distance(mask: np.ndarray) -> np.ndarray:
    return cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 3)


def _edge(mask: np.ndarray) -> np.ndarray:
    return cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)) > 0


def _mean(values: np.ndarray, where: np.ndarray) -> float:
    return float(values[where].mean()) if where.any() else 0.0


def _colour_steps(lab: np.ndarray) -> np.ndarray:
    """Return how much colour (h, w, 3) changes within five pixels, of shape (h, w), 8-bit CIELAB."""
    kernel = np.ones((5, 5), np.uint8)
    span = cv2.dilate(lab, kernel).astype(np.float32) - cv2.erode(lab, kernel)
    return np.sqrt(np.einsum("ijk,ijk->ij", span, span))


def _depth_steps(depth: np.ndarray) -> np.ndarray:
    """Return how much depth (h, w) changes within five pixels, of shape (h, w), in log of its noise; 0 at holes."""
    kernel = np.ones((5, 5), np.uint8)
    nearest = cv2.erode(depth, kernel)
    step = (cv2.dilate(depth, kernel) - nearest) / depth_noise(np.maximum(depth, 0.1))
    return np.log1p(np.where(nearest > 0, step, 0))


class _CellPairs:
    """The affinities of pairs of cells near a mask."""

    def __init__(self, affinities: np.ndarray, before: np.ndarray, window: tuple[slice, slice]):
        self._cells = tuple(slice(axis.start // CELL, axis.stop // CELL + 1) for axis in window)
        self._affinities = np.clip(affinities[1:-2, self._cells[0], self._cells[1]], -MAX_LOG_ODDS, MAX_LOG_ODDS)
        self._before = self._differences(before)

    def cut_and_joined(self, mask: np.ndarray) -> tuple[float, float]:
        """Return the mean affinity of pairs that only this mask (h, w) separates, and of those that it joins."""
        sums, counts = np.zeros(2), np.zeros(2)
        for (affinity, old), (_, new) in zip(self._before, self._differences(mask), strict=True):
            for i, pairs in enumerate((new & ~old, old & ~new)):
                counts[i] += np.count_nonzero(pairs)
                sums[i] += affinity[pairs].sum()
        cut, joined = sums / np.maximum(1, counts)
        return float(cut), float(joined)

    def _differences(self, mask: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return for each offset the affinities of the pairs of cells, and whether the mask separates them."""
        cells = mask[CELL // 2 :: CELL, CELL // 2 :: CELL][self._cells]
        h, w = (min(a, b) for a, b in zip(cells.shape, self._affinities.shape[1:], strict=True))
        differences = []
        for (dy, dx), affinity in zip(OFFSETS, self._affinities, strict=True):
            if h <= dy or w <= abs(dx):
                continue
            first = slice(0, h - dy), slice(max(0, -dx), w - max(0, dx))
            second = slice(dy, h), slice(max(0, dx), w + min(0, dx))
            differences.append((affinity[first], cells[first] != cells[second]))
        return differences
