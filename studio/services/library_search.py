"""Search of the library by words, by a picture and by properties; its index is updated in the background."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.index.asset_index import AssetIndex, SyncProgress
from pipeline.assets.index.columns import AssetFilter
from pipeline.assets.library import BUILTIN_LIBRARY
from pipeline.matching import LibraryFeatures
from pipeline.store import user_cache_folder
from studio.web import background
from studio.web.background import BackgroundTask
from studio.web.errors import log

MAX_COMPARED = 1000
"""Assets that a picture is compared with view by view: those that the index finds nearest."""
UNKNOWN = "unknown"
"""Label of an empty licence."""


@dataclass(frozen=True)
class SearchQuery:
    """What to search for. Empty fields do not restrict the search."""

    words: str = ""
    category: str = ""
    licence: str = ""
    collection: str = ""
    """"own", "studio", or the name of a pack."""
    articulated: bool | None = None
    smallest: float = 0.0
    """Bound of the longest side, in metres."""
    largest: float = np.inf
    """Bound of the longest side, in metres."""


@dataclass(frozen=True, eq=False)
class SearchResults:
    """One page of results, best first."""

    assets: tuple[Asset, ...]
    total: int
    every_word: bool = True
    """Whether the assets match all words, not only some of them."""
    indexing: bool = False
    """Whether assets are still being indexed, so that a search by picture will find more later."""


def collection_of(asset: Asset) -> str:
    """Return "own", "studio" for assets that come with the studio, else the name of the pack or folder."""
    if asset.folder is None:
        return "studio"
    return "studio" if asset.folder.parent == BUILTIN_LIBRARY else asset.folder.parent.name


def find(
    library: Library, query: SearchQuery, encoder: Encoder | None = None, embedding: np.ndarray | None = None,
    features: LibraryFeatures | None = None, offset: int = 0, limit: int = 50,
) -> SearchResults:  # fmt: skip
    """Return the assets that match. Raises AssetError.

    Args:
        embedding: of a picture, of shape (D,); the most similar assets come first.
        features: if given, a picture is compared with each view of an asset and not with the views' mean.
    """
    indexer = _indexer(library.paths, encoder.name if encoder else "", user_cache_folder())
    indexing = indexer.update(library, encoder)
    by_view = embedding is not None and features is not None and encoder is not None
    filter_here = bool(query.collection) or by_view  # the index knows neither collections nor single views
    filters = AssetFilter(
        size=(query.smallest, query.largest),
        category=query.category or None,
        licence=("" if query.licence == UNKNOWN else query.licence) if query.licence else None,
        articulated=query.articulated,
    )
    hits = indexer.index.search(
        query.words, embedding, filters, len(library) if filter_here else limit, 0 if filter_here else offset
    )
    assets = tuple(library[id] for id in hits.ids if id in library)
    if not filter_here:
        return SearchResults(assets, hits.total, hits.matches_all_words, indexing)
    assets = tuple(asset for asset in assets if query.collection in ("", collection_of(asset)))
    if by_view:
        assert embedding is not None and features is not None and encoder is not None
        score = best_view_similarity(features, embedding, encoder.centred)
        nearest = sorted(assets[:MAX_COMPARED], key=lambda asset: -score.get(asset.id, -1.0))
        assets = (*nearest, *assets[MAX_COMPARED:])
    return SearchResults(assets[offset : offset + limit], len(assets), hits.matches_all_words, indexing)


def best_view_similarity(features: LibraryFeatures, vector: np.ndarray, centred: bool) -> dict[str, float]:
    """Return the cosine similarity of an embedding (D,) and each asset's most similar view, in [-1, 1], by id."""
    rows = features.vectors.astype(np.float32)
    if not len(rows):
        return {}
    mean = 0.0 if centred else rows.mean(axis=0)
    rows, vector = rows - mean, vector - mean
    score = rows @ vector / np.maximum(np.linalg.norm(rows, axis=1) * np.linalg.norm(vector), 1e-9)
    owner = np.zeros(len(rows), int)
    owner[features.nearest_encoded] = features.owner
    best = np.full(len(features.ids), -1.0)
    np.maximum.at(best, owner, score)
    return dict(zip(features.ids, best.tolist(), strict=True))


def facets(library: Library) -> dict[str, list[list[Any]]]:
    """Return categories, licences and collections, each as [value, number of assets], the most frequent first."""
    return _facets(library.digest, _EqualLibrary(library))


class _EqualLibrary:
    """A library that equals any other, so that only its digest counts in the key of a cache."""

    def __init__(self, library: Library):
        self.library = library

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _EqualLibrary)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _facets(_: str, wrapper: _EqualLibrary) -> dict[str, list[list[Any]]]:
    library = wrapper.library
    kinds = {
        "categories": Counter(asset.category for asset in library),
        "licences": Counter(asset.licence or UNKNOWN for asset in library),
        "places": Counter(collection_of(asset) for asset in library),
    }
    return {
        name: [list(pair) for pair in sorted(count.items(), key=lambda p: (-p[1], p[0]))]
        for name, count in kinds.items()
    }


class _Indexer:
    """An open index and the thread that updates it."""

    def __init__(self, index: AssetIndex):
        self.index = index
        self._lock = threading.Lock()
        self._digest = ""
        self._words_indexed = threading.Event()
        self._task: BackgroundTask | None = None

    def update(self, library: Library, encoder: Encoder | None) -> bool:
        """Start to index a library that has changed, wait a little for its words, return whether indexing goes on."""
        with self._lock:
            if self._digest != library.digest and not (self._task and self._task.running):
                self._digest = library.digest
                self._words_indexed.clear()
                steps = self.index.sync(library, user_cache_folder(), encoder)
                self._task = background.start("index", lambda stop: self._index(steps, stop))
        # How long a search waits for the words of new assets to be indexed; then it searches what is indexed
        self._words_indexed.wait(3.0)
        return self._task is not None and self._task.running

    def _index(self, steps: Iterator[SyncProgress], stop: threading.Event) -> None:
        try:
            for step in steps:
                if step.message != "read" or step.done == step.total:
                    self._words_indexed.set()
                if stop.is_set():
                    return
        except Exception as error:  # the next search tries again
            self._digest = ""
            log.warning("the library's index is outdated", exc_info=error)
        finally:
            self._words_indexed.set()


@lru_cache(maxsize=4)
def _indexer(paths: tuple[Path, ...], encoder: str, cache: Path) -> _Indexer:
    return _Indexer(AssetIndex.for_library(Library((), (), paths), cache, encoder))
