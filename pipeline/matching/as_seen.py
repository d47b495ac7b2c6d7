"""Match a partly hidden object: each candidate is compared as the camera would see it.

Only pixels that show both count: masks are torn where one object ends before another.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pipeline.assets.appearance.features import COLOUR_ONLY_CATEGORIES
from pipeline.matching.calibration import WEIGHTS_WITHOUT_ENCODER, ViewPriors, probability
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.measured import Candidate, Match, scored_candidate
from pipeline.matching.query import Query, QueryView, query_view
from pipeline.matching.retrieval import ScoredView
from pipeline.matching.similarity import compare, embed_query

MIN_AS_SEEN = 0.9
"""Probability from which a candidate is the object. It is high, because the size and outline of a fitted one agree."""


def match_as_seen(query: Query, found: Match, seen: Mapping[str, Query], indexed: IndexedLibrary) -> Match:
    """Return the match with those candidates compared anew that are in `seen`, by asset id, as a camera sees them.

    The best of them is chosen if it is likely enough, with its probability as the confidence; else the match stays as
    it was. Needs the library's encoder.
    """
    again = [_compared(one, query, seen[one.asset_id], indexed) for one in found.candidates if one.asset_id in seen]
    best = max(again, key=lambda one: one.score, default=None)
    if best is None or best.score < MIN_AS_SEEN:
        return found
    rest = tuple(one for one in found.candidates if one.asset_id != best.asset_id)
    chosen = {"asset_id": best.asset_id, "scale": 1.0, "reason": best.reason, "candidates": (best, *rest)}
    return replace(found, **chosen, confidence=best.score)


def _view(query: Query, shown: np.ndarray, indexed: IndexedLibrary) -> QueryView:
    assert indexed.encoder is not None
    view = query_view(replace(query, segment=replace(query.segment, mask=shown)), indexed.encoder.pixels)
    return replace(view, embedding=embed_query(view, indexed.features, indexed.encoder))


def _compared(candidate: Candidate, query: Query, seen: Query, indexed: IndexedLibrary) -> Candidate:
    """Return the candidate with the terms and the probability of how it is seen."""
    shown = query.segment.mask & seen.segment.mask
    mine, other = _view(query, shown, indexed), _view(seen, shown, indexed)
    assert mine.embedding is not None and other.embedding is not None
    hollow = indexed.library[candidate.asset_id].category in COLOUR_ONLY_CATEGORIES
    cosines = (mine.embedding * other.embedding).sum(axis=1)
    cosine = float(cosines.max() if hollow else cosines[0])
    printed = bool(indexed.features.has_print[indexed.features.ids.index(candidate.asset_id)])
    similarity = compare(mine.descriptors, other.descriptors)
    priors = ViewPriors(np.ones(1), np.array([printed]), np.array([hollow]))
    score = float(probability(similarity, np.array([cosine]), priors)[0])
    terms = {name: float(getattr(similarity, name)[0]) for name in (*WEIGHTS_WITHOUT_ENCODER, "scale")}
    view = ScoredView(-1, score, terms | {"picture": float(np.clip(cosine, 0, 1))})
    extents = mine.descriptors.extents[0], other.descriptors.extents[0]
    scored = scored_candidate(indexed.library[candidate.asset_id], view, 0, *extents)
    alike = scored.reason.partition("; ")[2]
    return replace(scored, reason=f"partly hidden; in its own size it explains what shows of it; {alike}", scale=1.0)
