"""Patches merged into things: the surest pair first, judged by the mean over all that speaks for or against it.

Average linkage (Bailoni et al., "GASP", 2022). Only what something is known of can merge.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.segmentation.standing import crop

CRUMB, SLIM = 300, 4.0
"""Pixels at working size, and pixels from edge to middle, below which a part is no thing of its own."""
Known = list[dict[int, tuple[float, float]]]
"""Of each label: others, and the sum and weight of what is known of the two."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for pairs of labels being one thing."""

    pairs: np.ndarray
    """Of shape (N, 2), int, the lower label first, each pair once."""
    total: np.ndarray
    """Log odds summed over places, of shape (N,)."""
    weight: np.ndarray
    """How many places, of shape (N,)."""

    def scaled(self, by: float) -> "Evidence":
        """The same, counting so many times."""
        return Evidence(self.pairs, self.total * by, self.weight * by)


def _known(count: int, evidence: Sequence[Evidence]) -> Known:
    known: Known = [{} for _ in range(count)]
    for one in evidence:
        for (a, b), total, weight in zip(one.pairs.tolist(), one.total.tolist(), one.weight.tolist(), strict=True):
            before, places = known[a].get(b, (0.0, 0.0))
            known[a][b] = known[b][a] = (before + total, places + weight)
    return known


def merged(count: int, evidence: Sequence[Evidence], stop: float) -> np.ndarray:
    """What label each of `count` labels becomes, of shape (count,), once no two are as surely one thing as `stop`."""
    into, known = np.arange(count), _known(count, evidence)
    heap = [_judged(known, a, b) for a in range(count) for b in known[a] if a < b]
    heapq.heapify(heap)
    while heap and -heap[0][0] >= stop:
        _, a, b, places = heapq.heappop(heap)
        if into[a] != a or into[b] != b or known[a][b][1] != places:  # judged anew since
            continue
        if len(known[a]) < len(known[b]):
            a, b = b, a
        into[b] = a
        for other in _absorbed(known, a, b):
            heapq.heappush(heap, _judged(known, a, other))
    while (into != into[into]).any():
        into = into[into]
    return into


def _judged(known: Known, a: int, b: int) -> tuple[float, int, int, float]:
    total, places = known[a][b]
    return -total / places, a, b, places


def _absorbed(known: Known, a: int, b: int) -> list[int]:
    """Lets `a` have all that was `b`'s; returns the labels of which something new is now known."""
    del known[a][b], known[b][a]
    for other, (total, places) in known[b].items():
        del known[other][b]
        before, had = known[a].get(other, (0.0, 0.0))
        known[a][other] = known[other][a] = (before + total, had + places)
    return list(known[b])


def without_crumbs(home: np.ndarray, labels: np.ndarray, evidence: Sequence[Evidence]) -> np.ndarray:
    """What labels become, of shape (count,), the parts of the map (h, w) that are too small or too slim to be a thing
    given to the one most like them."""
    home, refused = home.copy(), set()
    home[0] = 0
    while True:
        sizes = np.bincount(home[labels].ravel(), minlength=len(home))
        present = [label for label in np.flatnonzero(sizes) if label and label not in refused]
        crumbs = [label for label in present if _is_crumb(home[labels] == label)]
        if not crumbs:
            return home
        crumb = min(crumbs, key=lambda label: sizes[label])
        odds = _of(crumb, home, evidence)
        if odds:
            home[home == crumb] = max(odds, key=lambda other: odds[other][0] / odds[other][1])
        else:
            refused.add(crumb)


def _of(label: int, home: np.ndarray, evidence: Sequence[Evidence]) -> dict[int, tuple[float, float]]:
    """Sum and weight of what is known of a merged label and each other one."""
    odds: dict[int, tuple[float, float]] = {}
    for one in evidence:
        ends = home[one.pairs]
        for i in np.flatnonzero((ends == label).any(1) & (ends[:, 0] != ends[:, 1])):
            total, places = odds.get(int(ends[i].sum() - label), (0.0, 0.0))
            odds[int(ends[i].sum() - label)] = total + float(one.total[i]), places + float(one.weight[i])
    return odds


def _is_crumb(mask: np.ndarray) -> bool:
    if np.count_nonzero(mask) < CRUMB:
        return True
    window = crop(mask, 1)
    depth = cv2.distanceTransform(np.pad(mask[window], 1).astype(np.uint8), cv2.DIST_L2, 5)
    return bool(depth.max() < SLIM)
