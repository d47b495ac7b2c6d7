"""Assets found by words, by a picture, by what they are: the library's index, kept up to date in the background."""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.encoder import Encoder
from pipeline.assets.index import Index
from pipeline.assets.library import OWN
from pipeline.matching import Features
from studio.notices import log
from studio.services import cache_folder

CLOSELY = 1000
"""Assets that a picture is compared with view by view; in a larger library, those that the index finds nearest."""
PATIENCE = 3.0
"""Seconds that a question waits until the words of new assets are in the index; then it is answered with what is."""
UNKNOWN = "unknown"
"""What an empty licence is called."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for; what is empty does not matter."""

    words: str = ""
    category: str = ""
    licence: str = ""
    place: str = ""
    """"own", "studio", or the name of a pack."""
    articulated: bool | None = None
    smallest: float = 0.0
    """Of the longest side, in metres."""
    largest: float = np.inf


@dataclass(frozen=True, eq=False)
class Hits:
    """One page of what was found, best first."""

    assets: tuple[Asset, ...]
    total: int
    every_word: bool = True
    """Whether they hold all the words; else only some of them."""
    learning: bool = False
    """Whether assets are still being looked at: a search by picture knows more later."""


def place_of(asset: Asset) -> str:
    """Whose an asset is: "own", "studio" for those that come with it, else the name of its pack or folder."""
    if asset.folder is None:
        return "studio"
    return "studio" if asset.folder.parent == OWN else asset.folder.parent.name


def find(
    library: Library, wanted: Wanted, encoder: Encoder | None = None, picture: np.ndarray | None = None,
    features: Features | None = None, offset: int = 0, limit: int = 50,
) -> Hits:  # fmt: skip
    """The assets that fit; with a picture, the encoder's vector (D,), the most alike first. Raises AssetError.

    With `features` a picture is compared with each view of what the index finds, not with their mean.
    """
    kept = _kept(library.paths, encoder.name if encoder else "", cache_folder())
    learning = kept.follow(library, encoder)
    closely = picture is not None and features is not None and encoder is not None
    narrow = bool(wanted.place) or closely  # the index does not know whose an asset is, nor its single views
    found = kept.index.search(
        wanted.words, picture, (wanted.smallest, wanted.largest), [wanted.category] if wanted.category else None,
        ["" if wanted.licence == UNKNOWN else wanted.licence] if wanted.licence else None, wanted.articulated,
        len(library) if narrow else limit, 0 if narrow else offset,
    )  # fmt: skip
    assets = tuple(library[id] for id in found.ids if id in library)
    if not narrow:
        return Hits(assets, found.total, found.every_word, learning)
    assets = tuple(asset for asset in assets if wanted.place in ("", place_of(asset)))
    if closely:
        assert picture is not None and features is not None and encoder is not None
        score = likeness(features, picture, encoder.centred)
        near = sorted(assets[:CLOSELY], key=lambda asset: -score.get(asset.id, -1.0))
        assets = (*near, *assets[CLOSELY:])
    return Hits(assets[offset : offset + limit], len(assets), found.every_word, learning)


def search(library: Library, wanted: Wanted, encoder: Encoder | None = None, limit: int = 200) -> list[Asset]:
    """The first assets that fit, best first."""
    return list(find(library, wanted, encoder, limit=limit).assets)


def likeness(features: Features, vector: np.ndarray, centred: bool) -> dict[str, float]:
    """How alike an encoder's vector (D,) and each asset's nearest view are, in [-1, 1], by id."""
    rows = features.vectors.astype(np.float32)
    if not len(rows):
        return {}
    middle = 0.0 if centred else rows.mean(axis=0)
    rows, one = rows - middle, vector - middle
    score = rows @ one / np.maximum(np.linalg.norm(rows, axis=1) * np.linalg.norm(one), 1e-9)
    owner = np.zeros(len(rows), int)
    owner[features.shown] = features.owner
    best = np.full(len(features.ids), -1.0)
    np.maximum.at(best, owner, score)
    return dict(zip(features.ids, best.tolist(), strict=True))


def facets(library: Library) -> dict[str, list[list[Any]]]:
    """What there is to choose from, each with how many have it, the most frequent first."""
    return _facets(library.digest, _Same(library))


class _Same:
    """A library that counts for nothing in a cache's key: its digest does."""

    def __init__(self, library: Library):
        self.library = library

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=2)
def _facets(_: str, same: _Same) -> dict[str, list[list[Any]]]:
    kinds = {
        "categories": Counter(asset.category for asset in same.library),
        "licences": Counter(asset.licence or UNKNOWN for asset in same.library),
        "places": Counter(place_of(asset) for asset in same.library),
    }
    return {
        name: [list(pair) for pair in sorted(count.items(), key=lambda p: (-p[1], p[0]))]
        for name, count in kinds.items()
    }


class _Kept:
    """An open index and the thread that brings it up to date."""

    def __init__(self, index: Index):
        self.index = index
        self._lock = threading.Lock()
        self._digest = ""
        self._read = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, library: Library, encoder: Encoder | None) -> bool:
        """Begins to take up a library that is another one; waits a little for its words. Whether it still goes on."""
        with self._lock:
            if self._digest != library.digest and not (self._thread and self._thread.is_alive()):
                self._digest = library.digest
                self._read.clear()
                work = self.index.sync(library, cache_folder(), encoder)
                self._thread = threading.Thread(target=self._take_up, args=(work,), daemon=True, name="index")
                self._thread.start()
        self._read.wait(PATIENCE)
        return self._thread is not None and self._thread.is_alive()

    def _take_up(self, work: Iterator[Any]) -> None:
        try:
            for step in work:
                if step.message != "read" or step.done == step.of:
                    self._read.set()
        except Exception as error:  # the next question tries again
            self._digest = ""
            log.warning("the library's index is behind", exc_info=error)
        finally:
            self._read.set()


@lru_cache(maxsize=4)
def _kept(paths: tuple[Path, ...], encoder: str, cache: Path) -> _Kept:
    return _Kept(Index.of(Library((), (), paths), cache, encoder))
