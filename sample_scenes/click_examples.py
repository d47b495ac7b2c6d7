"""What the clicks' network learns from: drawn things, wrong masks of them, and where a person would click next."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import torch
from patterns import reprinted
from torch import nn

from pipeline.evaluation import read_labelled
from pipeline.frame import Frame, find_support, register
from pipeline.segmentation.crops import CELLS, Square, geometry
from pipeline.segmentation.learned import FIRST
from pipeline.segmentation.standing import heights

Click = tuple[float, float, int]


@dataclass(frozen=True, eq=False)
class Opened:
    """A frame, ready to draw examples from."""

    taps: tuple[np.ndarray, ...]
    """The encoder's features at strides 4, 8 and 16, each (C, h, w), float16."""
    geometry: np.ndarray
    labels: np.ndarray
    """Which thing each pixel at working size shows, 0 none, of shape (h, w), uint8."""
    depth: np.ndarray
    focal: float


@dataclass(frozen=True, eq=False)
class Example:
    frame: Opened
    square: Square
    clicks: tuple[Click, ...]
    """In cells."""
    before: np.ndarray | None
    """The mask to correct, of shape (CELLS, CELLS), float32."""
    truth: np.ndarray
    """Share of each cell that is the thing, of shape (CELLS, CELLS), float32."""


def opened(folder: Path, backbone: nn.Module, printed: bool, random: np.random.Generator) -> Opened:
    """A labelled frame; `printed` gives its things other print and its depth more faults."""
    frame, labels = labelled(folder, printed, random)
    view = heights(frame, find_support(frame))
    colour = torch.from_numpy((view.rgb.astype(np.float32) - 127) / 128).permute(2, 0, 1)[None]
    with torch.no_grad():
        taps = tuple(tap[0].half().numpy() for tap in backbone(colour))
    small = labels[:: view.step, :: view.step][: view.depth.shape[0], : view.depth.shape[1]]
    return Opened(taps, geometry(view, view.right), small, np.asarray(view.depth), view.focal)


def labelled(folder: Path, printed: bool, random: np.random.Generator) -> tuple[Frame, np.ndarray]:
    """A drawn frame, other print on its things and more faults in its depth if so wished, and which thing each pixel
    shows, 0 none, of shape (H, W), uint8."""
    seen = read_labelled(folder)
    labels = np.zeros(seen.frame.depth.shape, np.uint8)
    for number, mask in enumerate(seen.truth.values(), 1):
        labels[mask] = number
    frame = register(seen.frame)
    if printed:
        frame = replace(frame, rgb=reprinted(frame.rgb, labels, random), depth=_worse(frame.depth, random))
    return frame, labels


def _worse(depth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Depth beside its colour by up to three pixels, uneven, with holes."""
    moved = np.roll(depth, tuple(random.integers(-3, 4, 2)), (0, 1))
    uneven = cv2.resize(random.normal(0, 1, (60, 80)).astype(np.float32), moved.shape[::-1])
    moved = np.where(moved > 0, moved + uneven * random.uniform(0.0005, 0.003) * moved**2, 0)
    holes = cv2.GaussianBlur(random.normal(0, 1, moved.shape).astype(np.float32), (0, 0), 6)
    moved[holes > random.uniform(2.0, 3.2) * holes.std()] = 0
    return np.maximum(moved, 0).astype(np.float32)


def examples(frames: Sequence[Opened], random: np.random.Generator) -> Iterator[Example]:
    """Without end: first clicks, boxes, and corrections of wrong masks."""
    while True:
        frame = frames[int(random.integers(len(frames)))]
        present = [one for one in np.unique(frame.labels) if one and (frame.labels == one).sum() > 150]
        example = _example(frame, int(random.choice(present)), random) if present else None
        if example is not None:
            yield example


def _example(frame: Opened, thing: int, random: np.random.Generator) -> Example | None:
    truth, kind = frame.labels == thing, random.random()
    if kind < 0.6:
        x, y = _spot(truth, random)
        width = FIRST * frame.focal / (float(frame.depth[y, x]) or 0.8) * np.exp(random.uniform(-0.5, 0.5))
        square = Square.around(x + random.normal(0, 3), y + random.normal(0, 3), width)
        return _placed(frame, square, ((x, y, 1),), None, truth)
    if kind < 0.72:
        before = _boxed(truth, random)
        rows, cols = np.nonzero(truth)
        clicks = ((int(cols.min() + cols.max()) // 2, int(rows.min() + rows.max()) // 2, 1),)
    else:
        before = _corrupted(truth, frame.labels, thing, random)
        newest = next_click(before, truth, random)
        if newest is None or not before.any():
            return None
        right = truth & before
        clicks = ((*_spot(right, random), 1), newest) if right.any() else (newest,)
    rows, cols = np.nonzero(before) if before.any() else np.nonzero(truth)
    x, y, _ = clicks[-1]
    x0, x1, y0, y1 = min(cols.min(), x), max(cols.max(), x), min(rows.min(), y), max(rows.max(), y)
    square = Square.around((x0 + x1) / 2, (y0 + y1) / 2, max(x1 - x0, y1 - y0) * random.uniform(1.15, 1.7) + 16)
    return _placed(frame, square, clicks, before, truth)


def _placed(frame: Opened, square: Square, clicks, before: np.ndarray | None, truth: np.ndarray) -> Example | None:
    placed = tuple((*square.cells(x, y), label) for x, y, label in clicks)
    mask = None if before is None else square.cut(before[..., None], 1)[..., 0]
    x, y = anchor(placed, mask)
    if not (0 <= x < CELLS and 0 <= y < CELLS):
        return None
    return Example(frame, square, placed, mask, square.cut(truth[..., None], 1)[..., 0])


def anchor(clicks: Sequence[Click], mask: np.ndarray | None) -> tuple[float, float]:
    """The newest plus, else the middle of the mask, as in use."""
    plus = [(x, y) for x, y, label in clicks if label and 0 <= x < CELLS and 0 <= y < CELLS]
    if plus or mask is None:
        return plus[-1] if plus else clicks[-1][:2]
    depth = cv2.distanceTransform((mask > 0.5).astype(np.uint8), cv2.DIST_L2, 3)
    y, x = np.unravel_index(depth.argmax(), depth.shape)
    return float(x), float(y)


def next_click(mask: np.ndarray, truth: np.ndarray, random: np.random.Generator) -> tuple[int, int, int] | None:
    """Near the middle of the largest wrong region, x, y and label; None where there is none."""
    largest, found = 0, None
    for label, wrong in ((1, truth & ~mask), (0, mask & ~truth)):
        count, parts, stats, _ = cv2.connectedComponentsWithStats(wrong.astype(np.uint8))
        if count > 1 and stats[1:, 4].max() > largest:
            largest = stats[1:, 4].max()
            found = label, parts == 1 + stats[1:, 4].argmax()
    return None if found is None else (*_spot(found[1], random), found[0])


def _spot(mask: np.ndarray, random: np.random.Generator) -> tuple[int, int]:
    depth = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    rows, cols = np.nonzero(depth >= depth.max() * random.uniform(0.1, 1))
    pick = random.integers(len(rows))
    return int(cols[pick]), int(rows[pick])


def _boxed(truth: np.ndarray, random: np.random.Generator) -> np.ndarray:
    rows, cols = np.nonzero(truth)
    ends = np.array([rows.min(), rows.max() + 1, cols.min(), cols.max() + 1])
    size = np.array([np.ptp(rows)] * 2 + [np.ptp(cols)] * 2) + 1
    top, bottom, left, right = np.maximum(ends + np.rint(random.normal(0, 0.03, 4) * size).astype(int), 0)
    box = np.zeros_like(truth)
    box[top:bottom, left:right] = True
    return box


def _corrupted(truth: np.ndarray, labels: np.ndarray, thing: int, random: np.random.Generator) -> np.ndarray:
    """A mask as a first click may give: with a neighbour, without a part, with a blob more or less."""
    mask, (rows, cols), kind = truth.copy(), np.nonzero(truth), random.integers(4)
    pick = random.integers(len(rows))
    if kind in (0, 2):
        around = np.unique(labels[cv2.dilate(truth.astype(np.uint8), np.ones((9, 9), np.uint8)) > 0])
        near = [one for one in around if one not in (0, thing)]
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
