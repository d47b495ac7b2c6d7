"""Assets found by words, by a picture, by what they are: the library page's one question."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.library import OWN
from pipeline.matching import Features


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


def place_of(asset: Asset) -> str:
    """Whose an asset is: "own", "studio" for those that come with it, else the name of its pack or folder."""
    if asset.folder is None:
        return "studio"
    return "studio" if asset.folder.parent == OWN else asset.folder.parent.name


def search(library: Library, wanted: Wanted, alike: dict[str, float] | None = None) -> list[Asset]:
    """The assets that fit, best first; `alike` says how alike each is to a picture, by id."""
    scored = [(_words_agree(asset, wanted.words), asset) for asset in library if _fits(asset, wanted)]
    found = [(score, asset) for score, asset in scored if score > 0 or not wanted.words.strip()]
    if alike is not None:
        found = [(score + alike[asset.id], asset) for score, asset in found if asset.id in alike]
    return [asset for _, asset in sorted(found, key=lambda pair: (-pair[0], pair[1].name.lower()))]


def facets(library: Library) -> dict[str, list[list[Any]]]:
    """What there is to choose from, each with how many have it, the most frequent first."""
    kinds = {
        "categories": Counter(asset.category for asset in library),
        "licences": Counter(asset.licence or "unknown" for asset in library),
        "places": Counter(place_of(asset) for asset in library),
    }
    return {
        name: [list(pair) for pair in sorted(count.items(), key=lambda p: (-p[1], p[0]))]
        for name, count in kinds.items()
    }


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


def _fits(asset: Asset, wanted: Wanted) -> bool:
    return (
        wanted.category in ("", asset.category)
        and wanted.licence in ("", asset.licence or "unknown")
        and wanted.place in ("", place_of(asset))
        and wanted.articulated in (None, bool(asset.joints))
        and wanted.smallest <= max(asset.size) <= wanted.largest
    )


def _words_agree(asset: Asset, words: str) -> float:
    """The share of words that begin one of the asset's; those in its name count more. 0 where one is nowhere."""
    asked = re.findall(r"\w+", words.lower())
    name = _words((asset.name, asset.id, asset.category))
    rest = _words((asset.caption, asset.licence, asset.provenance, *(joint.name for joint in asset.joints)))
    score = 0.0
    for word in asked:
        if any(known == word for known in name):
            score += 3
        elif any(known.startswith(word) for known in name):
            score += 2
        elif any(known.startswith(word) for known in rest):
            score += 1
        else:
            return 0.0
    return score / max(len(asked), 1)


def _words(texts: Sequence[str]) -> list[str]:
    return re.findall(r"[^\W_]+", " ".join(texts).lower())
