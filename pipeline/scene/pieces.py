"""Masks that are pieces of one thing: what has several colours, or can be seen through, falls into several masks.

They are one where an asset in its own size explains them together, to a few millimetres each, and none of them is an
asset by itself that fits as well. Two things that stand side by side make no third.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.spatial import KDTree

from pipeline.assets import Library
from pipeline.description import Description, describe
from pipeline.frame import Frame, Support
from pipeline.matching import Match
from pipeline.scene import registration
from pipeline.scene.laying import laid_over
from pipeline.scene.registration import Sight
from pipeline.scene.seen import Seen, object_points
from pipeline.segmentation import Segment

NEAR = 0.05
"""Metres between what was measured of two pieces, at most: what joins them may have lost its depth."""
FITS = 0.003
"""Metres by which the asset may miss what was seen of each piece, on average."""
OWN = 0.03
"""How far from its own size the asset may be: none is another thing's size by chance."""
LOOKS = 0.75
"""Score that the asset must reach for two masks to be one: most neighbours are two things."""
SURE = 0.9
"""Score from which two masks that are an asset each are left alone unseen."""
FEWEST = 30
"""Points that say where a piece is."""

Compare = Callable[[Segment, Description], Match]


@dataclass(frozen=True, eq=False)
class Whole:
    """Two masks that are one thing."""

    kept: int
    """The segment it goes by from now on, the larger of the two."""
    gone: int
    segment: Segment
    description: Description
    """As measured."""
    match: Match


def wholes(
    frame: Frame, support: Support, seen: Iterable[Seen], library: Library, compare: Compare, cache: Path | None = None
) -> Iterator[Whole | None]:
    """What is put together, one pair after the other, nearest first; None for a pair that is two things.

    `compare` says which asset a segment shows. A whole may be a piece of a larger one.
    """
    things = {thing.segment.id: thing for thing in seen if len(thing.points) >= FEWEST}
    pairs = _near(things, combinations(things, 2))
    while pairs:
        one, other = sorted(pairs.pop(0), key=lambda id: -np.count_nonzero(things[id].segment.mask))
        whole = _whole(frame, support, things[one], things[other], library, compare, cache)
        if whole is not None:
            del things[other]
            points = object_points(frame, support, whole.segment)
            things[one] = Seen(whole.segment, whole.description, whole.match, points)
            pairs = [pair for pair in pairs if not {one, other} & {*pair}]
            pairs += _near(things, ((one, id) for id in things if id != one))
        yield whole


def _near(things: dict[int, Seen], pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs that may be one thing, nearest first."""
    trees = {id: KDTree(thing.points) for id, thing in things.items()}
    gaps = {
        pair: float(trees[pair[0]].query(things[pair[1]].points[::3])[0].min())
        for pair in pairs
        if not all(_score(things[id].match) >= SURE for id in pair)
    }
    return sorted((pair for pair, gap in gaps.items() if gap < NEAR), key=gaps.__getitem__)


def _score(match: Match | None) -> float:
    """Of the asset that was chosen; 0 where none was."""
    return max((c.score for c in match.candidates if c.asset_id == match.asset_id), default=0.0) if match else 0.0


def _whole(
    frame: Frame, support: Support, one: Seen, other: Seen, library: Library, compare: Compare, cache: Path | None
) -> Whole | None:
    """The two as one thing, where they are."""
    segment = replace(one.segment, mask=one.segment.mask | other.segment.mask)
    description = describe(frame, support, segment)
    match = compare(segment, description)
    if match.asset_id is None or _score(match) < LOOKS:
        return None
    asset = library[match.asset_id]
    thing = Seen(segment, description, match, object_points(frame, support, segment))
    sights = [Sight(seen.points, frame, support.world_from_camera) for seen in (thing, one, other)]
    laid = laid_over(thing, asset, match.scale, sights[0], (), cache)
    shape = registration.surface(asset.mesh, asset.size * laid.scale)
    misses = [registration.misfit(shape, sight, laid.pose) for sight in sights[1:]]
    if abs(laid.scale - 1) > OWN or max(misses) > FITS:
        return None
    pieces = zip((one, other), sights[1:], misses, strict=True)
    if any(_stands_alone(piece, match.asset_id, library, sight, miss, cache) for piece, sight, miss in pieces):
        return None
    match = replace(match, reason=f"{match.reason}, two masks put together")
    return Whole(one.segment.id, other.segment.id, segment, description, match)


def _stands_alone(piece: Seen, whole: str, library: Library, sight: Sight, miss: float, cache: Path | None) -> bool:
    """Whether a piece looks like another asset, and that explains it in its own size as well as the whole does."""
    if piece.match is None or piece.match.asset_id in (None, whole) or _score(piece.match) < LOOKS:
        return False
    laid = laid_over(piece, library[piece.match.asset_id], piece.match.scale, sight, (), cache)
    return abs(laid.scale - 1) <= OWN and laid.cost < max(miss, FITS / 2)
