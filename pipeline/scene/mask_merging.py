"""Merge masks that are parts of one object: one of several colours, or a transparent one, falls into several masks.

Two masks are merged if an asset in its own size explains both to a few millimetres, and neither of them fits another
asset equally well by itself. Two objects side by side are not merged into a third.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from pipeline.assets import Library
from pipeline.description import Description
from pipeline.matching import Match
from pipeline.scene import registration
from pipeline.scene.observed_object import ObservedObject, match_score, observe
from pipeline.scene.pose_search import fit_own_size, search_pose
from pipeline.segmentation import Segment

MAX_GAP_M = 0.05
"""Largest distance between the points of two parts: the depth between them may be missing."""
MAX_COST_M = 0.003
"""Largest cost at which the asset fits each part."""
HOPELESS_COST_M = 2 * MAX_COST_M
"""Cost of the asset in its own size beyond which no scale within MAX_SCALE_ERROR is searched."""
MAX_SCALE_ERROR = 0.03
"""Largest deviation from the asset's own size, which another object would not have by chance."""
MIN_SCORE = 0.75
"""Lowest score of the asset for two masks to be merged: most neighbours are two objects."""
CONFIDENT_SCORE = 0.9
"""Two masks that both match an asset with this score are not considered."""

Recognise = Callable[[Segment], tuple[Description, Match]]
"""Measures a segment and matches it with an asset."""


@dataclass(frozen=True, eq=False)
class MergedMask:
    """Two masks merged into one object."""

    kept_id: int
    """Segment id of the merged object, that of the larger part."""
    removed_id: int
    segment: Segment
    description: Description
    """As measured."""
    match: Match


def merge_segments(
    observed_objects: Iterable[ObservedObject],
    library: Library,
    recognise: Recognise,
    cache: Path | None = None,
) -> Iterator[MergedMask | None]:
    """Try one pair after the other, nearest first; yield the merged mask, or None for a pair that stays two objects.

    A merged mask may be a part of a larger one.
    """
    # Fewest points from which a part can be located
    parts = {o.segment.id: o for o in observed_objects if len(o.points) >= 30}
    pairs = _near_pairs(parts, combinations(parts, 2))
    while pairs:
        larger, smaller = sorted(pairs.pop(0), key=lambda id: -np.count_nonzero(parts[id].segment.mask))
        merged = _try_merge(parts[larger], parts[smaller], library, recognise, cache)
        if merged is not None:
            observation = parts.pop(smaller).observation
            parts[larger] = observe(observation, merged.segment, merged.description, merged.match)
            pairs = [pair for pair in pairs if not {larger, smaller} & {*pair}]
            pairs += _near_pairs(parts, ((larger, id) for id in parts if id != larger))
        yield merged


def _near_pairs(parts: dict[int, ObservedObject], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs of ids that may be one object, nearest first."""
    trees = {id: KDTree(part.points) for id, part in parts.items()}
    gaps = {
        pair: float(trees[pair[0]].query(parts[pair[1]].points[::3], distance_upper_bound=MAX_GAP_M)[0].min())
        for pair in pairs
        if not all(match_score(parts[id].match) >= CONFIDENT_SCORE for id in pair)
    }
    return sorted((pair for pair, gap in gaps.items() if gap < MAX_GAP_M), key=gaps.__getitem__)


def _try_merge(
    larger: ObservedObject,
    smaller: ObservedObject,
    library: Library,
    recognise: Recognise,
    cache: Path | None,
) -> MergedMask | None:
    """Return the merged mask if both parts are one object."""
    observation = larger.observation
    segment = replace(larger.segment, mask=larger.segment.mask | smaller.segment.mask)
    description, match = recognise(segment)
    if match.asset_id is None or match_score(match) < MIN_SCORE:
        return None
    asset, merged = library[match.asset_id], observe(observation, segment, description, match)
    if fit_own_size(merged, asset, cache).cost > HOPELESS_COST_M:
        return None
    fit = search_pose(merged, asset, match.scale, (), cache)
    surface = registration.load_surface(asset.mesh, asset.size * fit.scale)
    costs = [registration.registration_cost(surface, part.target, fit.pose) for part in (larger, smaller)]
    if abs(fit.scale - 1) > MAX_SCALE_ERROR or max(costs) > MAX_COST_M:
        return None
    if any(
        _fits_alone(part, match.asset_id, library, cost, cache)
        for part, cost in zip((larger, smaller), costs, strict=True)
    ):
        return None
    match = replace(match, reason=f"{match.reason}, two masks put together")
    return MergedMask(larger.segment.id, smaller.segment.id, segment, description, match)


def _fits_alone(part: ObservedObject, merged_asset: str, library: Library, cost: float, cache: Path | None) -> bool:
    """Whether a part matches another asset, which in its own size explains it as well as the merged object's does."""
    if part.match is None or part.match.asset_id in (None, merged_asset) or match_score(part.match) < MIN_SCORE:
        return False
    fit = search_pose(part, library[part.match.asset_id], part.match.scale, (), cache)
    return abs(fit.scale - 1) <= MAX_SCALE_ERROR and fit.cost < max(cost, MAX_COST_M / 2)
