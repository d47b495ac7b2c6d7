"""Assets that are called like an object, beside those that measure alike."""

from functools import lru_cache
from itertools import zip_longest

from pipeline.assets import Library
from pipeline.assets.index.asset_index import AssetIndex
from pipeline.matching.measured import Candidate, Match

MAX_NAMED = 4
"""Most candidates that only the words bring: those of the name and of the caption in turn."""


def with_named_candidates(
    measured: Match, name: str, library: Library, shown: int, caption: str = ""
) -> tuple[Candidate, ...]:
    """Return the first `shown` measured candidates, and the assets whose name, category or caption has the same words
    as the object's name and caption.

    An asset that measurement ranks lower keeps its measured terms.
    """
    first = measured.candidates[:shown]
    ranked = {one.asset_id: one for one in measured.candidates}
    index, limit = _index(library), shown + MAX_NAMED
    by_name, by_caption = (index.search(words, limit=limit).ids for words in (name.replace("_", " "), caption or name))
    found = dict.fromkeys(id for pair in zip_longest(by_name, by_caption) for id in pair if id)
    added = [id for id in found if id not in {one.asset_id for one in first}][:MAX_NAMED]
    # Score of a candidate that measurement does not rank: less likely than not, and not excluded
    return (*first, *(ranked.get(id) or Candidate(id, 0.3, {}, "called alike, not measured") for id in added))


@lru_cache(maxsize=2)
def _index(library: Library) -> AssetIndex:
    return AssetIndex.in_memory(library)
