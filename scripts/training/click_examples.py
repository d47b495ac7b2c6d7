"""Draws training examples for the click network: objects, wrong masks of them, and the next click of a person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from bench.mask_scores import read_labelled
from pipeline.frame import Frame, SupportError, find_support, register_depth
from pipeline.segmentation.depth.click_crops import CELLS, ClickCrop, geometry_channels
from pipeline.segmentation.depth.click_network import FIRST_CROP_M
from pipeline.segmentation.depth.height_map import height_map
from scripts.training.print_augmentation import augment_prints

Click = tuple[float, float, int]
"""x, y and label (1 plus, 0 minus)."""
MIN_PIXELS = 150
"""Visible pixels at working size below which an object is no example."""


@dataclass(frozen=True, eq=False)
class ClickFrame:
    """A frame from which examples are drawn."""

    taps: tuple[np.ndarray, ...]
    """Features of the backbone at strides 4, 8 and 16, each (C, h, w), float16."""
    geometry: np.ndarray
    labels: np.ndarray
    """Object number of each pixel at working size, 0 background, shape (h, w), uint8."""
    depth: np.ndarray
    focal: float

    @classmethod
    def read(cls, path: Path) -> "ClickFrame":
        """Inverse of `write`."""
        with np.load(path) as stored:
            return cls((stored["taps"],), stored["geometry"], stored["labels"], stored["depth"], float(stored["focal"]))

    def write(self, path: Path) -> None:
        """Write a frame with the encoder's features, its only tap."""
        (taps,) = self.taps
        np.savez(path, taps=taps, geometry=self.geometry, labels=self.labels, depth=self.depth, focal=self.focal)


@dataclass(frozen=True, eq=False)
class ClickExample:
    """Clicks in a crop, and the mask they should give."""

    frame: ClickFrame
    square: ClickCrop
    clicks: tuple[Click, ...]
    """In cells of the crop."""
    before: np.ndarray | None
    """The mask to correct, shape (CELLS, CELLS), float32; None for a first click."""
    truth: np.ndarray
    """Fraction of each cell that is the object, shape (CELLS, CELLS), float32."""


def load_click_frame(
    folder: Path, features: Callable[[np.ndarray], tuple[np.ndarray, ...]], printed: bool, random: np.random.Generator
) -> ClickFrame | None:
    """Load a labelled frame; None without a support. `printed` adds random prints and depth errors.

    `features` returns the taps of colour (h, w, 3), uint8.
    """
    frame, labels = load_labelled_frame(folder, printed, random)
    try:
        view = height_map(frame, find_support(frame))
    except SupportError:
        return None
    small = labels[:: view.step, :: view.step][: view.depth.shape[0], : view.depth.shape[1]]
    geometry = geometry_channels(view, view.right).astype(np.float16)
    taps = tuple(tap.astype(np.float16) for tap in features(view.rgb))
    return ClickFrame(taps, geometry, small, np.asarray(view.depth, np.float16), view.focal)


def load_labelled_frame(folder: Path, printed: bool, random: np.random.Generator) -> tuple[Frame, np.ndarray]:
    """Return a drawn frame and the object number of each pixel, 0 background, shape (H, W), uint8.

    `printed` adds random prints and depth errors.
    """
    labelled = read_labelled(folder)
    labels = np.zeros(labelled.frame.depth.shape, np.uint8)
    for number, mask in enumerate(labelled.truth.values(), 1):
        labels[mask] = number
    frame = register_depth(labelled.frame)
    if printed:
        frame = replace(frame, rgb=augment_prints(frame.rgb, labels, random), depth=_degrade_depth(frame.depth, random))
    return frame, labels


def _degrade_depth(depth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return depth misaligned with the colours by up to three pixels, uneven, with holes."""
    shifted = np.roll(depth, tuple(random.integers(-3, 4, 2)), (0, 1))
    uneven = cv2.resize(random.normal(0, 1, (60, 80)).astype(np.float32), shifted.shape[::-1])
    shifted = np.where(shifted > 0, shifted + uneven * random.uniform(0.0005, 0.003) * shifted**2, 0)
    holes = cv2.GaussianBlur(random.normal(0, 1, shifted.shape).astype(np.float32), (0, 0), 6)
    shifted[holes > random.uniform(2.0, 3.2) * holes.std()] = 0
    return np.maximum(shifted, 0).astype(np.float32)


def example_of(frame: ClickFrame, random: np.random.Generator) -> ClickExample | None:
    """Return a first click, a box, or a correction of a wrong mask; None if the frame has no such example."""
    present = [one for one in np.unique(frame.labels) if one and (frame.labels == one).sum() > MIN_PIXELS]
    return _random_example(frame, int(random.choice(present)), random) if present else None


def _random_example(frame: ClickFrame, number: int, random: np.random.Generator) -> ClickExample | None:
    truth, kind = frame.labels == number, random.random()
    if kind < 0.6:
        x, y = _random_inner_pixel(truth, random)
        width = FIRST_CROP_M * frame.focal / (float(frame.depth[y, x]) or 0.8) * np.exp(random.uniform(-0.5, 0.5))
        square = ClickCrop.around(x + random.normal(0, 3), y + random.normal(0, 3), width)
        return _in_square(frame, square, ((x, y, 1),), None, truth)
    if kind < 0.72:
        before = _noisy_box(truth, random)
        rows, cols = np.nonzero(truth)
        clicks = ((int(cols.min() + cols.max()) // 2, int(rows.min() + rows.max()) // 2, 1),)
    else:
        before = _corrupted_mask(truth, frame.labels, number, random)
        newest = next_click(before, truth, random)
        if newest is None or not before.any():
            return None
        right = truth & before
        clicks = ((*_random_inner_pixel(right, random), 1), newest) if right.any() else (newest,)
    rows, cols = np.nonzero(before) if before.any() else np.nonzero(truth)
    x, y, _ = clicks[-1]
    x0, x1, y0, y1 = min(cols.min(), x), max(cols.max(), x), min(rows.min(), y), max(rows.max(), y)
    square = ClickCrop.around((x0 + x1) / 2, (y0 + y1) / 2, max(x1 - x0, y1 - y0) * random.uniform(1.15, 1.7) + 16)
    return _in_square(frame, square, clicks, before, truth)


def _in_square(
    frame: ClickFrame, square: ClickCrop, clicks, before: np.ndarray | None, truth: np.ndarray
) -> ClickExample | None:
    placed = tuple((*square.cells(x, y), label) for x, y, label in clicks)
    mask = None if before is None else square.cut(before[..., None], 1)[..., 0]
    x, y = anchor_point(placed, mask)
    if not (0 <= x < CELLS and 0 <= y < CELLS):
        return None
    return ClickExample(frame, square, placed, mask, square.cut(truth[..., None], 1)[..., 0])


def anchor_point(clicks: Sequence[Click], mask: np.ndarray | None) -> tuple[float, float]:
    """Return the newest plus, else the centre of the mask, as the app does."""
    plus = [(x, y) for x, y, label in clicks if label and 0 <= x < CELLS and 0 <= y < CELLS]
    if plus or mask is None:
        return plus[-1] if plus else clicks[-1][:2]
    depth = cv2.distanceTransform((mask > 0.5).astype(np.uint8), cv2.DIST_L2, 3)
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return float(x), float(y)


def next_click(mask: np.ndarray, truth: np.ndarray, random: np.random.Generator) -> tuple[int, int, int] | None:
    """Return a click near the centre of the largest wrong region: x, y and label; None if there is none."""
    largest, region = 0, None
    for label, wrong in ((1, truth & ~mask), (0, mask & ~truth)):
        count, parts, stats, _ = cv2.connectedComponentsWithStats(wrong.astype(np.uint8))
        if count > 1 and stats[1:, 4].max() > largest:
            largest = stats[1:, 4].max()
            region = label, parts == 1 + stats[1:, 4].argmax()
    return None if region is None else (*_random_inner_pixel(region[1], random), region[0])


def _random_inner_pixel(mask: np.ndarray, random: np.random.Generator) -> tuple[int, int]:
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    rows, cols = np.nonzero(depth >= depth.max() * random.uniform(0.1, 1))
    pick = random.integers(len(rows))
    return int(cols[pick]), int(rows[pick])


def _noisy_box(truth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    rows, cols = np.nonzero(truth)
    ends = np.array([rows.min(), rows.max() + 1, cols.min(), cols.max() + 1])
    size = np.array([np.ptp(rows)] * 2 + [np.ptp(cols)] * 2) + 1
    top, bottom, left, right = np.maximum(ends + np.rint(random.normal(0, 0.03, 4) * size).astype(int), 0)
    box = np.zeros_like(truth)
    box[top:bottom, left:right] = True
    return box


def _corrupted_mask(truth: np.ndarray, labels: np.ndarray, number: int, random: np.random.Generator) -> np.ndarray:
    """Return a mask as a first click may give it: with a neighbour, without a part, or with a blob more or less."""
    mask, (rows, cols), kind = truth.copy(), np.nonzero(truth), random.integers(4)
    pick = random.integers(len(rows))
    if kind in (0, 2):
        around = np.unique(labels[cv2.dilate(truth.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0])
        near = [one for one in around if one not in (0, number)]
        mask |= np.isin(labels, random.permutation(near)[: random.integers(1, 3)]) if near else False
    if kind in (1, 2):
        turn = random.uniform(0, 2 * np.pi)
        y, x = np.indices(truth.shape)
        mask &= (x - cols[pick]) * np.cos(turn) + (y - rows[pick]) * np.sin(turn) < 0
    if kind == 3:
        size = max(4, int(np.sqrt(len(rows)) * random.uniform(0.2, 0.8)))
        blob = cv2.circle(np.zeros(truth.shape, np.uint8), (int(cols[pick]), int(rows[pick])), size, 1, -1) > 0
        mask = mask | blob if random.random() < 0.6 else mask & ~blob
    return mask
