"""`python -m bench.match [DIR ...]`: the measured matcher on rendered tables with known assets.

The tables show assets of the libraries in DIR, else of our own, with the errors of a real camera (rendered_tables.py).
Each object is matched twice: with the whole library, and without its category, when "no match" is right. Hollow and
plain objects are also matched without their own asset only, when another of the category may represent them.
Real photographs are scored by `grs-studio evaluate`.
"""

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bench.rendered_tables import render_table
from pipeline.assets import Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.assets.appearance.features import COLOUR_ONLY_CATEGORIES, LibraryFeatures
from pipeline.assets.mesh_files import user_cache_folder
from pipeline.description import describe_all
from pipeline.frame import Observation
from pipeline.matching import IndexedLibrary, Query, match

TABLES, OBJECTS_PER_TABLE, MAX_SIZE_M = 12, 5, 0.35


@dataclass
class Counts:
    """Whether each question was answered right, and the time it took."""

    first: list[bool] = field(default_factory=list)
    among_five: list[bool] = field(default_factory=list)
    accepted: list[bool] = field(default_factory=list)
    no_match: list[bool] = field(default_factory=list)
    substitute: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def main(paths: list[str]) -> int:
    library = Library.open([Path(path) for path in paths] or None)
    encoder = load_encoder("embedded")
    features = LibraryFeatures.compute(
        library, user_cache_folder(), lambda done, total: print(f"\rviews: {done} of {total}", end=""), encoder
    )
    indexed = IndexedLibrary(library, features, encoder)
    rng, counts = np.random.default_rng(7), Counts()
    usable = [asset for asset in library if asset.size.max() < MAX_SIZE_M and asset.id in features.ids]
    for _ in range(TABLES):
        chosen = rng.choice(len(usable), min(OBJECTS_PER_TABLE, len(usable)), replace=False)
        table = render_table([usable[int(k)] for k in chosen], rng)
        described = describe_all(table.frame, table.support, table.segments)
        for segment, asset_id, one in zip(table.segments, table.ids, described, strict=True):
            query = Query(Observation(table.frame, table.support), segment, one)
            measure(query, asset_id, indexed, counts)
    name = encoder.name if encoder else None
    print(f"\r{len(counts.first)} objects on {TABLES} tables, {len(library)} assets, encoder {name}")
    for name, values in (
        ("right first", counts.first),
        ("among five", counts.among_five),
        ("right and accepted", counts.accepted),
        ("no match kept", counts.no_match),
        ("substitute", counts.substitute),
    ):
        print(f"{name:20}{np.mean(values):6.2f}")
    seconds = counts.seconds
    print(f"{'seconds of one core':20} {np.median(seconds):.3f} median, {np.percentile(seconds, 95):.3f} p95")
    return 0


def measure(query: Query, asset_id: str, indexed: IndexedLibrary, counts: Counts) -> None:
    """Match one object, whose asset is known, with the library and with parts of it."""
    library, features = indexed.library, indexed.features
    start = time.process_time()
    found = match(query, indexed)
    counts.seconds.append(time.process_time() - start)
    ranked = [candidate.asset_id for candidate in found.candidates]
    counts.first.append(ranked[:1] == [asset_id])
    counts.among_five.append(asset_id in ranked[:5])
    counts.accepted.append(found.asset_id == asset_id)
    category = library[asset_id].category
    same_category = {asset.id for asset in library if asset.category == category}
    counts.no_match.append(match_without(query, indexed, same_category) is None)
    has_print = bool(features.has_print[features.ids.index(asset_id)])
    if len(same_category) > 1 and (category in COLOUR_ONLY_CATEGORIES or not has_print):
        counts.substitute.append(match_without(query, indexed, {asset_id}) in same_category)


def match_without(query: Query, indexed: IndexedLibrary, excluded: set[str]) -> str | None:
    """Return the asset that the matcher chooses if these are not in the library."""
    library = Library(tuple(asset for asset in indexed.library if asset.id not in excluded))
    features = LibraryFeatures.compute(library, user_cache_folder(), None, indexed.encoder)
    return match(query, IndexedLibrary(library, features, indexed.encoder)).asset_id


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
