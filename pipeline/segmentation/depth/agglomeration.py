"""Agglomerate superpixels into objects: merge the pair of labels with the highest mean affinity first.

Average linkage (Bailoni et al., "GASP", 2022). Only neighbours merge, but affinities over longer distances count too.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from scipy import ndimage

MIN_PIXELS, MIN_RADIUS = 300, 4.0
"""At working size: area, and largest distance from the edge, below which a region is not an object."""
Affinity = tuple[float, float, float]
"""Of two labels: sum of log odds, number of pairs of cells, and number of those that make the labels neighbours."""
AffinityGraph = list[dict[int, Affinity]]
"""For each label, the other labels and the affinity to them."""
NO_AFFINITY: Affinity = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class PairAffinities:
    """Log odds that pairs of labels belong to the same object."""

    pairs: np.ndarray
    """Of shape (N, 2), int."""
    total: np.ndarray
    """Log odds summed over pairs of cells, of shape (N,)."""
    weight: np.ndarray
    """Number of pairs of cells, of shape (N,)."""
    near: np.ndarray
    """Number of these so close to each other that the labels are neighbours, of shape (N,)."""

    def scale(self, factor: float) -> "PairAffinities":
        """Return the affinities with all weights multiplied by a factor."""
        return PairAffinities(self.pairs, self.total * factor, self.weight * factor, self.near * factor)

    def relabel(self, mapping: np.ndarray) -> "PairAffinities":
        """Return the affinities between new labels; `mapping` (count,) maps old labels to new ones."""
        pairs = mapping[self.pairs]
        differ = pairs[:, 0] != pairs[:, 1]
        return PairAffinities(pairs[differ], self.total[differ], self.weight[differ], self.near[differ])

    def __iter__(self) -> Iterator[tuple[int, int, Affinity]]:
        values = np.stack([self.total, self.weight, self.near], 1).tolist()
        for (a, b), value in zip(self.pairs.tolist(), values, strict=True):
            yield a, b, tuple(value)


def _build_graph(count: int, affinities: Sequence[PairAffinities]) -> AffinityGraph:
    graph: AffinityGraph = [{} for _ in range(count)]
    for pairs in affinities:
        for a, b, affinity in pairs:
            graph[a][b] = graph[b][a] = _add(graph[a].get(b, NO_AFFINITY), affinity)
    return graph


def _add(a: Affinity, b: Affinity) -> Affinity:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def agglomerate(count: int, affinities: Sequence[PairAffinities], threshold: float) -> np.ndarray:
    """Merge neighbours with mean log odds of at least `threshold`; return the mapping to new labels, (count,)."""
    return agglomerate_in_stages(count, affinities, (threshold,))[0]


def agglomerate_in_stages(
    count: int, affinities: Sequence[PairAffinities], thresholds: Sequence[float]
) -> list[np.ndarray]:
    """Return the mapping to new labels, (count,), after merging down to each of the falling `thresholds`."""
    mapping, graph = np.arange(count), _build_graph(count, affinities)
    heap = [_heap_entry(graph, a, b) for a in range(count) for b in graph[a] if a < b]
    heapq.heapify(heap)
    stages = []
    for threshold in thresholds:
        while heap and -heap[0][0] >= threshold:
            _, a, b, weight = heapq.heappop(heap)
            if mapping[a] != a or mapping[b] != b or graph[a][b][1] != weight:  # an outdated entry
                continue
            if len(graph[a]) < len(graph[b]):
                a, b = b, a
            mapping[b] = a
            for other in _absorb(graph, a, b):
                heapq.heappush(heap, _heap_entry(graph, a, other))
        while (mapping != mapping[mapping]).any():
            mapping = mapping[mapping]
        stages.append(mapping.copy())
    return stages


def _heap_entry(graph: AffinityGraph, a: int, b: int) -> tuple[float, int, int, float]:
    total, weight, near = graph[a][b]
    return -total / weight if near else np.inf, a, b, weight


def _absorb(graph: AffinityGraph, a: int, b: int) -> list[int]:
    """Move all affinities of `b` to `a`; return the labels whose affinity to `a` changed."""
    del graph[a][b], graph[b][a]
    for other, affinity in graph[b].items():
        del graph[other][b]
        graph[a][other] = graph[other][a] = _add(graph[a].get(other, NO_AFFINITY), affinity)
    return list(graph[b])


def absorb_small_regions(mapping: np.ndarray, labels: np.ndarray, affinities: Sequence[PairAffinities]) -> np.ndarray:
    """Give regions that are too small or too thin for an object to the region with the highest affinity.

    `mapping` (count,) maps the labels (h, w) to regions; returns the new mapping.
    """
    mapping = mapping.copy()
    mapping[0] = 0
    regions = mapping[labels]
    graph = _build_graph(len(mapping), [pairs.relabel(mapping) for pairs in affinities])
    windows = ndimage.find_objects(regions, len(mapping))
    sizes = {region: size for region, size in enumerate(np.bincount(regions.ravel())) if region and size}
    small = {region for region in sizes if _is_small(regions[windows[region - 1]] == region)}
    while small:
        smallest = min(small, key=lambda region: (sizes[region], region))
        small.remove(smallest)
        if not graph[smallest]:
            continue
        nearest = min(graph[smallest], key=lambda other: -graph[smallest][other][0] / graph[smallest][other][1])
        mapping[mapping == smallest] = nearest
        a, b = windows[smallest - 1], windows[nearest - 1]
        regions[a][regions[a] == smallest] = nearest
        joint = tuple(slice(min(i.start, j.start), max(i.stop, j.stop)) for i, j in zip(a, b, strict=True))
        windows[nearest - 1] = joint
        sizes[nearest] += sizes.pop(smallest)
        small.discard(nearest)
        if _is_small(regions[joint] == nearest):
            small.add(nearest)
        _absorb(graph, nearest, smallest)
    return mapping


def _is_small(mask: np.ndarray) -> bool:
    if np.count_nonzero(mask) < MIN_PIXELS:
        return True
    distance = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)
    return bool(distance.max() < MIN_RADIUS)
