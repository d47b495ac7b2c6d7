"""`python -m tests.bench.unseen --library DIR ... [--set development] [--tables 28]`: matching what nobody looked at.

Tables of the library's things and of strangers (our own library's), photographed harshly (shelf.HARSH), masks found
by the studio. Each thing is asked for with the whole library, every second one again with all of its kind taken out,
when "no match" is right. It is counted as `grs-studio evaluate` counts photographs: exact is the very asset (or one
that looks the same); category also another of its kind where forms say what it is (KIN); of printed things one of the
same kind and size is never counted. Development's tables are 1000 and on, those held out 5000 and on.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.assets import Asset, Library
from pipeline.assets.encoder import encoder
from pipeline.assets.features import Features
from pipeline.assets.mesh import user_cache
from pipeline.description import describe_all
from pipeline.errors import StudioError
from pipeline.frame import find_support
from pipeline.matching import Match, match
from pipeline.matching.table import Row, among, score
from pipeline.segmentation import DepthSegmenter
from tests.bench.shelf import HARSH, photograph

FIRST = {"development": 1000, "held-out": 5000}
STRANGERS, FOUND = 0.25, 0.5
SIZES = (0.055, 0.24)
"""Metres of the longest side: what stands on a table."""
KIN = {"bowl", "mug", "cup", "plate", "pan", "cube", "cylinder", "tray", "block", "fruit", "ball", "toy", "bin"}


@dataclass(frozen=True)
class Asked:
    row: Row
    sure: float
    """Score of the first candidate."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append", required=True)
    parser.add_argument("--set", choices=sorted(FIRST), default="held-out")
    parser.add_argument("--tables", type=int, default=28)
    told = parser.parse_args()
    library, own, eyes = Library.open(told.library), Library.open(), encoder("embedded")
    features = Features.of(library, user_cache(), None, eyes)
    asked: list[Asked] = []
    for seed in range(FIRST[told.set], FIRST[told.set] + told.tables):
        try:
            asked += table(seed, library, own, features)
        except StudioError as error:  # no table found: nothing is asked of it
            print(f"table {seed}: {error}")
        print(f"\r{seed - FIRST[told.set] + 1} of {told.tables} tables, {len(asked)} questions", end="", flush=True)
    print("\n" + "\n".join([*lines([one.row for one in asked]), "", *reliability(asked)]))
    print(f"seconds of one core: {np.median([one.seconds for one in asked]):.3f} median, "
          f"{np.percentile([one.seconds for one in asked], 95):.3f} p95")  # fmt: skip
    return 0


def table(seed: int, library: Library, own: Library, features: Features) -> Iterator[Asked]:
    """Everything that is asked of one table."""
    rng, eyes = np.random.default_rng(seed), encoder("embedded")
    things = drawn(rng, library, own)
    drawn_ = photograph(things, rng, faults=HARSH)
    truth = {segment.id: segment.mask for segment in drawn_.segments}
    support = find_support(drawn_.frame)
    segments = DepthSegmenter().open(drawn_.frame).automatic()
    for number, one in enumerate(describe_all(drawn_.frame, support, segments)):
        segment = next(s for s in segments if s.id == one.segment_id)
        overlaps = {id: (segment.mask & mask).sum() / (segment.mask | mask).sum() for id, mask in truth.items()}
        best = max(overlaps, key=lambda id: overlaps[id], default=None)
        if best is None or overlaps[best] < FOUND:
            continue
        for less, row in questions(things[best - 1], library, features, str(seed), number % 2 == 0):
            looks = features if less is library else Features.of(less, user_cache(), None, eyes)
            began = time.process_time()
            found = match(drawn_.frame, support, segment, one, less, looks, eyes)
            yield answered(row, found, time.process_time() - began)


def drawn(rng: np.random.Generator, library: Library, own: Library) -> list[Asset]:
    """Four to seven things of the library, some of them strangers."""
    pools = [[a for a in some if SIZES[0] < a.size.max() < SIZES[1]] for some in (library, own)]
    things: dict[str, Asset] = {}
    for _ in range(int(rng.integers(4, 8))):
        pool = pools[int(rng.uniform() < STRANGERS)]
        asset = pool[int(rng.integers(len(pool)))]
        things.setdefault(asset.id, asset)
    return list(things.values())


def questions(
    thing: Asset, library: Library, features: Features, table: str, twice: bool
) -> Iterator[tuple[Library, Row]]:
    """The library to ask, and what would be right of it."""
    kin = frozenset(a.id for a in library if a.category == thing.category)
    near = frozenset(id for id in kin if _differs(library[id], thing) < 0.15)
    formed = thing.category in KIN
    known = thing.id in library and library[thing.id].mesh == thing.mesh
    same = twins(thing, library, features) if known else frozenset()
    category = kin - same if formed else frozenset()
    none: frozenset[str] = frozenset()
    yield library, Row(table, same, category, none if formed else near - same, None, ())
    if known and twice:
        yield Library(tuple(a for a in library if a.id not in kin)), Row(table, none, none, none, None, ())


def twins(thing: Asset, library: Library, features: Features) -> frozenset[str]:
    """The asset, and those of its kind that measure and look the same."""

    def looks(id: str) -> np.ndarray:
        views = (features.owner == features.ids.index(id)) & (features.up == 0)
        mean = features.look.histogram[views].astype(np.float32).mean(axis=0)
        return mean / np.linalg.norm(mean)

    kin = [a for a in library if a.category == thing.category and a.id in features.ids and _differs(a, thing) < 0.03]
    return frozenset(a.id for a in kin if looks(a.id) @ looks(thing.id) > 0.98) | {thing.id}


def _differs(a: Asset, b: Asset) -> float:
    return float(np.abs(np.log(np.sort(a.size) / np.sort(b.size))).max())


def answered(row: Row, found: Match, seconds: float) -> Asked:
    ranked = tuple(c.asset_id for c in found.candidates)
    sure = found.candidates[0].score if found.candidates else 0.0
    return Asked(Row(row.frame, row.exact, row.category, row.either, found.asset_id, ranked), sure, seconds)


def lines(rows: list[Row]) -> list[str]:
    """Markdown, as docs/library.md shows it."""
    said = [f"| {len(rows)} questions | F1 | right first / among five | no match kept |", "| --- | --- | --- | --- |"]
    for mode in ("exact", "category"):
        f1 = score(rows, mode)
        first, five = among(rows, mode, 1), among(rows, mode, 5)
        said.append(
            f"| {mode} | {f1.f1:.2f} ({f1.low:.2f}-{f1.high:.2f}) | {first:.2f} / {five:.2f} | {f1.null_kept:.2f} |"
        )
    return said


def reliability(asked: list[Asked]) -> list[str]:
    """How often an asset that was taken is right, by the score it was taken with."""
    said = ["| score of what was taken | right / all | mean score |", "| --- | --- | --- |"]
    taken = [(one.row.verdict("category") == "right", one.sure) for one in asked
             if one.row.chosen and one.row.verdict("category") != "not counted"]  # fmt: skip
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01)):
        mine = [one for one in taken if low <= one[1] < high]
        if mine:
            right, sure = np.array(mine).T
            said.append(f"| {low:.2f} to {min(high, 1):.2f} | {int(right.sum())} / {len(mine)} | {sure.mean():.2f} |")
    return said


if __name__ == "__main__":
    sys.exit(main())
