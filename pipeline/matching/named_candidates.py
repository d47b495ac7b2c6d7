"""Assets that are called like an object, beside those that measure alike."""

from functools import lru_cache

from pipeline.assets import Library
from pipeline.assets.index.asset_index import AssetIndex
from pipeline.matching.measured import Candidate, Match

MAX_NAMED = 3
"""Most candidates that only the name brings."""


def with_named_candidates(measured: Match, name: str, library: Library, shown: int) -> tuple[Candidate, ...]:
    """Return the first `shown` measured candidates, and the assets whose name, category or caption has the same words.

    An asset that measurement ranks lower keeps its measured terms.
    """
    first = measured.candidates[:shown]
    ranked = {one.asset_id: one for one in measured.candidates}
    found = _index(library).search(name.replace("_", " "), limit=shown + MAX_NAMED).ids
    added = [id for id in found if id not in {one.asset_id for one in first}][:MAX_NAMED]
    # Score of a candidate that measurement does not rank: less likely than not, and not excluded
    return (*first, *(ranked.get(id) or Candidate(id, 0.3, {}, "called alike, not measured") for id in added))


@lru_cache(maxsize=2)
def _index(library: Library) -> AssetIndex:
    return AssetIndex.in_memory(library)
