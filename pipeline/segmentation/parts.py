"""Touching and stacked things told apart: small patches merged while their borders look like the inside of a thing.

A border is judged by a network of 14 numbers in, 24, 24, one out (borders.npz), which learned on drawn heaps, stacks,
full bowls and touching cartons what the border of two things looks like; it has seen no real photograph. Patches then
merge by the mean of those judgements over their common border, the surest first (average linkage; Bailoni et al.,
"GASP", 2022).
"""

import heapq
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import cv2
import numpy as np

from pipeline.segmentation.borders import Borders, borders, patches, surface
from pipeline.segmentation.standing import Heights, crop, joined

SURE, FINE = 0.5, 2.5
"""Log odds, on average over a border, from which two parts are one thing; higher keeps smaller parts."""
CRUMB, SLIM = 300, 4.0
"""Pixels at working size, and pixels from edge to middle, below which a part is no thing of its own."""


@dataclass(frozen=True, eq=False)
class Parts:
    """One piece that stood apart on the table, taken to parts."""

    things: list[np.ndarray]
    """A mask each, of shape (h, w), bool."""
    fine: list[np.ndarray]
    """The same pixels in smaller parts: what a click may mean."""


def taken_apart(view: Heights, mask: np.ndarray) -> Parts:
    """What a rough mask (h, w) is made of."""
    window = crop(mask, 4)
    seen = surface(view, window)
    labels = patches(seen, mask[window])
    if labels.max() < 2:
        return Parts([mask], [mask])
    edges = borders(seen, labels)
    judged = same_thing(edges.features)
    fine = labels_merged(labels, edges, judged, FINE)
    coarse = labels_merged(labels, edges, judged, SURE)
    coarse = without_crumbs(coarse, labels, edges, judged)
    things = joined(view, _masks(coarse, mask, window))
    return Parts(things or [mask], _masks(fine, mask, window))


def _masks(labels: np.ndarray, mask: np.ndarray, window: tuple[slice, slice]) -> list[np.ndarray]:
    masks = []
    for label in np.unique(labels[labels > 0]):
        whole = np.zeros_like(mask)
        whole[window] = labels == label
        masks.append(whole)
    return masks


@cache
def _weights() -> tuple[np.ndarray, ...]:
    with np.load(Path(__file__).with_name("borders.npz")) as stored:
        return tuple(stored[name] for name in ("w0", "b0", "w1", "b1", "w2", "b2"))


def same_thing(features: np.ndarray) -> np.ndarray:
    """Log odds that both sides of a border belong to one thing, of shape (N,), for its features (N, 14)."""
    w0, b0, w1, b1, w2, b2 = _weights()
    hidden = np.tanh(np.tanh(features @ w0 + b0) @ w1 + b1)
    return np.clip((hidden @ w2 + b2)[:, 0], -8, 8)


def labels_merged(labels: np.ndarray, edges: Borders, judged: np.ndarray, stop: float) -> np.ndarray:
    """The labels (h, w) after merging, the surest border first, until none is as sure as `stop`."""
    count = int(labels.max()) + 1
    into, alive = list(range(count)), [True] * count
    touching: list[dict[int, tuple[float, int]]] = [{} for _ in range(count)]
    heap = []
    for (a, b), length, odds in zip(edges.pairs.tolist(), edges.length.tolist(), judged.tolist(), strict=True):
        touching[a][b] = touching[b][a] = (odds * length, length)
        heap.append((-odds, a, b, length))
    heapq.heapify(heap)
    while heap and -heap[0][0] >= stop:
        _, a, b, length = heapq.heappop(heap)
        if not (alive[a] and alive[b]) or touching[a][b][1] != length:  # judged anew since
            continue
        if len(touching[a]) < len(touching[b]):
            a, b = b, a
        alive[b], into[b] = False, a
        del touching[a][b]
        for other, (total, shared) in touching[b].items():
            if other != a:
                del touching[other][b]
                before, long = touching[a].get(other, (0.0, 0))
                touching[a][other] = touching[other][a] = (total + before, shared + long)
                heapq.heappush(heap, (-(total + before) / (shared + long), a, other, shared + long))
    for i in range(count):
        while into[into[i]] != into[i]:
            into[i] = into[into[i]]
        into[i] = into[into[i]]
    return np.array(into)[labels]


def without_crumbs(coarse: np.ndarray, labels: np.ndarray, edges: Borders, judged: np.ndarray) -> np.ndarray:
    """Merged labels (h, w) with the parts too small or too slim to be a thing given to the neighbour most like them."""
    home = np.zeros(int(labels.max()) + 1, int)
    home[labels] = coarse
    refused: set[int] = set()
    while True:
        crumbs = [label for label in np.unique(home[1:]) if label not in refused and _is_crumb(home[labels] == label)]
        if not crumbs:
            return home[labels]
        crumb = min(crumbs, key=lambda label: np.count_nonzero(home[labels] == label))
        ends = home[edges.pairs]
        odds: dict[int, list[float]] = {}
        for i in np.flatnonzero((ends == crumb).any(1) & (ends[:, 0] != ends[:, 1])):
            other = int(ends[i].sum() - crumb)
            total = odds.setdefault(other, [0.0, 0.0])
            total[0] += float(judged[i] * edges.length[i])
            total[1] += float(edges.length[i])
        if odds:
            home[home == crumb] = max(odds, key=lambda other: odds[other][0] / odds[other][1])
        else:
            refused.add(int(crumb))


def _is_crumb(mask: np.ndarray) -> bool:
    if np.count_nonzero(mask) < CRUMB:
        return True
    window = crop(mask, 1)
    depth = cv2.distanceTransform(np.pad(mask[window], 1).astype(np.uint8), cv2.DIST_L2, 5)
    return bool(depth.max() < SLIM)
