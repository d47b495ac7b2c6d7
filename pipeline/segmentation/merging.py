"""Patches merged into things: the surest pair first, judged by the mean over all that speaks for or against it.

Average linkage (Bailoni et al., "GASP", 2022). Only neighbours merge, yet what is known of places further apart counts.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from pipeline.segmentation.standing import crop

CRUMB, SLIM = 300, 4.0
"""Pixels at working size, and pixels from edge to middle, below which a part is no thing of its own."""
Told = tuple[float, float, float]
"""Sum and weight of what is known of two labels, and the weight of that which makes them neighbours."""
Known = list[dict[int, Told]]
"""Of each label: others, and what is known of the two."""
NOTHING: Told = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What speaks for pairs of labels being one thing."""

    pairs: np.ndarray
    """Of shape (N, 2), int."""
    total: np.ndarray
    """Log odds summed over places, of shape (N,)."""
    weight: np.ndarray
    """How many places, of shape (N,)."""
    near: np.ndarray
    """How many of these are so near each other that the two are neighbours, of shape (N,)."""

    def scaled(self, by: float) -> "Evidence":
        """The same, counting so many times."""
        return Evidence(self.pairs, self.total * by, self.weight * by, self.near * by)

    def renamed(self, home: np.ndarray) -> "Evidence":
        """The same of what the labels became (count,), without what is now within one of them."""
        pairs = home[self.pairs]
        apart = pairs[:, 0] != pairs[:, 1]
        return Evidence(pairs[apart], self.total[apart], self.weight[apart], self.near[apart])

    def __iter__(self) -> Iterator[tuple[int, int, Told]]:
        told = np.stack([self.total, self.weight, self.near], 1).tolist()
        for (a, b), one in zip(self.pairs.tolist(), told, strict=True):
            yield a, b, tuple(one)


def _known(count: int, evidence: Sequence[Evidence]) -> Known:
    known: Known = [{} for _ in range(count)]
    for one in evidence:
        for a, b, told in one:
            known[a][b] = known[b][a] = _both(known[a].get(b, NOTHING), told)
    return known


def _both(one: Told, other: Told) -> Told:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


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
    total, places, near = known[a][b]
    return -total / places if near else np.inf, a, b, places


def _absorbed(known: Known, a: int, b: int) -> list[int]:
    """Lets `a` have all that was `b`'s; returns the labels of which something new is now known."""
    del known[a][b], known[b][a]
    for other, told in known[b].items():
        del known[other][b]
        known[a][other] = known[other][a] = _both(known[a].get(other, NOTHING), told)
    return list(known[b])


def without_crumbs(home: np.ndarray, labels: np.ndarray, evidence: Sequence[Evidence]) -> np.ndarray:
    """What labels become, of shape (count,), the parts of the map (h, w) that are too small or too slim to be a thing
    given to the one most like them."""
    home, refused = home.copy(), set()
    home[0] = 0
    known = _known(len(home), [one.renamed(home) for one in evidence])
    while True:
        sizes = np.bincount(home[labels].ravel(), minlength=len(home))
        present = [label for label in np.flatnonzero(sizes) if label and label not in refused]
        crumbs = [label for label in present if _is_crumb(home[labels] == label)]
        if not crumbs:
            return home
        crumb = int(min(crumbs, key=lambda label: sizes[label]))
        if known[crumb]:
            likest = min(known[crumb], key=lambda other: -known[crumb][other][0] / known[crumb][other][1])
            home[home == crumb] = likest
            _absorbed(known, likest, crumb)
        else:
            refused.add(crumb)


def _is_crumb(mask: np.ndarray) -> bool:
    if np.count_nonzero(mask) < CRUMB:
        return True
    window = crop(mask, 1)
    depth = cv2.distanceTransform(np.pad(mask[window], 1).astype(np.uint8), cv2.DIST_L2, 5)
    return bool(depth.max() < SLIM)
