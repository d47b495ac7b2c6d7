"""`python -m tests.bench.match`: which asset is it, on rendered tables whose truth is known and on real photographs.

Rendered: tables of a library's own assets with a camera's faults (shelf.py); each thing is asked for twice, with the
whole library and with all of its kind taken out, when "no match" is right; hollow and plain things of a kind also with
only the very one taken out, when another of the kind stands in for it.
ARGS are folders of assets, else our own library.
Real photographs are scored by `grs-studio evaluate`.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.assets import Library
from pipeline.assets.encoder import encoder
from pipeline.assets.features import OPEN, Features
from pipeline.assets.mesh import user_cache
from pipeline.description import describe_all
from pipeline.matching import match
from tests.bench.shelf import photograph

TABLES, THINGS, LARGEST = 12, 5, 0.35


def main(paths: list[str]) -> int:
    library = Library.open([Path(path) for path in paths] or None)
    eyes = encoder("embedded")
    features = Features.of(library, user_cache(), lambda k, n: print(f"\rviews: {k} of {n}", end=""), eyes)
    rng, first, five, taken, kept, stand_in, seconds = np.random.default_rng(7), [], [], [], [], [], []
    printed = dict(zip(features.ids, features.printed, strict=True))
    usable = [asset for asset in library if asset.size.max() < LARGEST and asset.id in features.ids]
    for _ in range(TABLES):
        chosen = rng.choice(len(usable), min(THINGS, len(usable)), replace=False)
        table = photograph([usable[int(k)] for k in chosen], rng)
        described = describe_all(table.frame, table.support, table.segments)
        for segment, id, one in zip(table.segments, table.ids, described, strict=True):
            began = time.process_time()
            found = match(table.frame, table.support, segment, one, library, features, eyes)
            seconds.append(time.process_time() - began)
            ranked = [candidate.asset_id for candidate in found.candidates]
            first.append(ranked[:1] == [id])
            five.append(id in ranked[:5])
            taken.append(found.asset_id == id)
            kind = library[id].category

            def without(left_out: set[str], segment: Any = segment, one: Any = one, table: Any = table) -> str | None:
                less = Library(tuple(asset for asset in library if asset.id not in left_out))
                looks = Features.of(less, user_cache(), None, eyes)
                return match(table.frame, table.support, segment, one, less, looks, eyes).asset_id

            kin = {asset.id for asset in library if asset.category == kind}
            kept.append(without(kin) is None)
            if len(kin) > 1 and (kind in OPEN or not printed[id]):
                stand_in.append(without({id}) in kin)
    print(f"\r{len(first)} things on {TABLES} tables, {len(library)} assets, encoder {eyes.name if eyes else None}")
    for name, values in (
        ("right first", first),
        ("among five", five),
        ("right and taken", taken),
        ("no match kept", kept),
        ("a stand-in", stand_in),
    ):
        print(f"{name:18}{np.mean(values):6.2f}")
    print(f"{'seconds of one core':18} {np.median(seconds):.3f} median, {np.percentile(seconds, 95):.3f} p95")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
