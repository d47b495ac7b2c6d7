"""`python -m bench.unseen_matching --library DIR ... [--set SET] [--tables 28] [--true-masks | --merge]`.

The tables show objects of the library and of our own library, which is foreign to it, rendered with large camera errors
(rendered_tables.HARSH) and segmented by the studio. Each object is matched with the whole library, and every second one
also without its category, when "no match" is right. Outcomes are counted as by `grs-studio evaluate`: by "exact" the
same asset is right, or one that looks the same; by "category" also another of its category if the category defines the
shape. For printed objects, another asset of the same category and size is not counted. Seeds of the development tables
begin at 1000, those of the held-out tables at 5000, 9000 and 13000. With --true-masks the objects have true masks, with
borders off by a pixel or two: what is left to matching. With --merge, masks that one asset explains together are merged
first, as by `grs-studio run`.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bench.rendered_tables import HARSH, render_table
from pipeline.assets import Asset, Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.assets.appearance.features import LibraryFeatures
from pipeline.assets.mesh_files import user_cache_folder
from pipeline.description import Description, describe, describe_all
from pipeline.errors import StudioError
from pipeline.evaluation.match_scores import MatchOutcome, recall_at, score
from pipeline.frame import Observation, find_support
from pipeline.matching import IndexedLibrary, Match, Query, match, match_all
from pipeline.scene.mask_merging import merge_segments
from pipeline.scene.observed_object import observe_objects
from pipeline.segmentation import DepthSegmenter, Segment

FIRST_SEED = {"development": 1000, "held-out": 5000, "held-out-2": 9000, "held-out-3": 13000}
FOREIGN_SHARE = 0.25
"""Share of the objects that are not in the library."""
MIN_IOU = 0.5
SIZE_RANGE_M = (0.055, 0.24)
"""Range of the longest side of an object."""
SHAPE_CATEGORIES = {
    "bowl", "mug", "cup", "plate", "pan", "cube", "cylinder", "tray", "block", "fruit", "ball", "toy", "bin"
}  # fmt: skip
"""Categories whose assets share a shape."""


@dataclass(frozen=True)
class MatchedQuestion:
    """Outcome of matching one object with one library."""

    outcome: MatchOutcome
    score: float
    """Score of the first candidate."""
    seconds: float


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append", required=True)
    parser.add_argument("--set", choices=sorted(FIRST_SEED), default="held-out")
    parser.add_argument("--tables", type=int, default=28)
    masks = parser.add_mutually_exclusive_group()
    masks.add_argument("--true-masks", action="store_true")
    masks.add_argument("--merge", action="store_true")
    arguments = parser.parse_args()
    library, own, encoder = Library.open(arguments.library), Library.open(), load_encoder("embedded")
    features = LibraryFeatures.compute(library, user_cache_folder(), None, encoder)
    indexed = IndexedLibrary(library, features, encoder)
    matched: list[MatchedQuestion] = []
    for number in range(arguments.tables):
        seed = FIRST_SEED[arguments.set] + number
        try:
            matched += match_table(seed, indexed, own, arguments.true_masks, arguments.merge)
        except StudioError as error:  # without a support there are no questions
            print(f"table {seed}: {error}")
        print(f"\r{number + 1} of {arguments.tables} tables, {len(matched)} questions", end="", flush=True)
    print("\n" + "\n".join([*score_table([one.outcome for one in matched]), "", *reliability_table(matched)]))
    seconds = [one.seconds for one in matched]
    print(f"seconds of one core: {np.median(seconds):.3f} median, {np.percentile(seconds, 95):.3f} p95")
    return 0


def match_table(
    seed: int, indexed: IndexedLibrary, own: Library, true_masks: bool = False, merge: bool = False
) -> Iterator[MatchedQuestion]:
    """Match every object of one table."""
    rng = np.random.default_rng(seed)
    assets = draw_assets(rng, indexed.library, own)
    table = render_table(assets, rng, perturbation=HARSH)
    truth = {segment.id: segment.mask for segment in table.segments}
    observation = Observation(table.frame, find_support(table.frame))
    segments = table.segments if true_masks else DepthSegmenter().open(table.frame).automatic()
    segments = _merged(observation, segments, indexed) if merge else segments
    for number, described in enumerate(describe_all(table.frame, observation.support, segments)):
        segment = next(s for s in segments if s.id == described.segment_id)
        overlaps = {id: (segment.mask & mask).sum() / (segment.mask | mask).sum() for id, mask in truth.items()}
        best = max(overlaps, key=lambda id: overlaps[id], default=None)
        if best is None or overlaps[best] < MIN_IOU:
            continue
        query = Query(observation, segment, described)
        for library, expected in questions(assets[best - 1], indexed, str(seed), number % 2 == 0):
            searched = indexed if library is indexed.library else _indexed(library, indexed)
            start = time.process_time()
            found = match(query, searched)
            yield _matched(expected, found, time.process_time() - start)


def _merged(observation: Observation, segments: Sequence[Segment], indexed: IndexedLibrary) -> tuple[Segment, ...]:
    """Return the segments as the matching stage leaves them: what one asset explains together is merged."""

    def recognise(segment: Segment) -> tuple[Description, Match]:
        described = describe(observation.frame, observation.support, segment)
        return described, match(Query(observation, segment, described), indexed)

    described = describe_all(observation.frame, observation.support, segments)
    matches = tuple(match_all(observation, segments, described, indexed))
    observed = observe_objects(observation, segments, described, matches)
    left = {segment.id: segment for segment in segments}
    for merged in merge_segments(observed, indexed.library, recognise, user_cache_folder()):
        if merged is not None:
            left[merged.kept_id] = merged.segment
            del left[merged.removed_id]
    return tuple(left.values())


def _indexed(library: Library, indexed: IndexedLibrary) -> IndexedLibrary:
    features = LibraryFeatures.compute(library, user_cache_folder(), None, indexed.encoder)
    return IndexedLibrary(library, features, indexed.encoder)


def draw_assets(rng: np.random.Generator, library: Library, own: Library) -> list[Asset]:
    """Return four to seven assets, some of them not in the library."""
    pools = [[a for a in assets if SIZE_RANGE_M[0] < a.size.max() < SIZE_RANGE_M[1]] for assets in (library, own)]
    drawn: dict[str, Asset] = {}
    for _ in range(int(rng.integers(4, 8))):
        pool = pools[int(rng.uniform() < FOREIGN_SHARE)]
        asset = pool[int(rng.integers(len(pool)))]
        drawn.setdefault(asset.id, asset)
    return list(drawn.values())


def questions(
    asset: Asset, indexed: IndexedLibrary, table: str, without_category: bool
) -> Iterator[tuple[Library, MatchOutcome]]:
    """Yield each library to match the object with, and an outcome that holds the right answers."""
    library = indexed.library
    same_category = frozenset(a.id for a in library if a.category == asset.category)
    similar = frozenset(id for id in same_category if _size_difference(library[id], asset) < 0.15)
    shares_shape = asset.category in SHAPE_CATEGORIES
    known = asset.id in library and library[asset.id].mesh == asset.mesh
    exact = lookalikes(asset, indexed) if known else frozenset()
    category = same_category - exact if shares_shape else frozenset()
    none: frozenset[str] = frozenset()
    yield library, MatchOutcome(table, exact, category, none if shares_shape else similar - exact, None, ())
    if known and without_category:
        rest = Library(tuple(a for a in library if a.id not in same_category))
        yield rest, MatchOutcome(table, none, none, none, None, ())


def lookalikes(asset: Asset, indexed: IndexedLibrary) -> frozenset[str]:
    """Return the ids of the asset and of those of its category that have the same size and colours."""
    features = indexed.features

    def histogram(id: str) -> np.ndarray:
        views = (features.owner == features.ids.index(id)) & (features.up == 0)
        mean = features.descriptors.histogram[views].astype(np.float32).mean(axis=0)
        return mean / np.linalg.norm(mean)

    same_size = [
        a
        for a in indexed.library
        if a.category == asset.category and a.id in features.ids and _size_difference(a, asset) < 0.03
    ]
    return frozenset(a.id for a in same_size if histogram(a.id) @ histogram(asset.id) > 0.98) | {asset.id}


def _size_difference(a: Asset, b: Asset) -> float:
    return float(np.abs(np.log(np.sort(a.size) / np.sort(b.size))).max())


def _matched(expected: MatchOutcome, found: Match, seconds: float) -> MatchedQuestion:
    ranked = tuple(c.asset_id for c in found.candidates)
    best = found.candidates[0].score if found.candidates else 0.0
    return MatchedQuestion(replace(expected, chosen=found.asset_id, ranked=ranked), best, seconds)


def score_table(outcomes: list[MatchOutcome]) -> list[str]:
    """Return the lines of a Markdown table, as in docs/results/library.md."""
    lines = [
        f"| {len(outcomes)} questions | F1 | right first / among five | no match kept |",
        "| --- | --- | --- | --- |",
    ]
    for criterion in ("exact", "category"):
        f1 = score(outcomes, criterion)
        first, five = recall_at(outcomes, criterion, 1), recall_at(outcomes, criterion, 5)
        interval = f"{f1.f1:.2f} ({f1.low:.2f}-{f1.high:.2f})"
        lines.append(f"| {criterion} | {interval} | {first:.2f} / {five:.2f} | {f1.null_kept:.2f} |")
    return lines


def reliability_table(matched: list[MatchedQuestion]) -> list[str]:
    """Return how often an accepted asset is right, by the score with which it was accepted."""
    lines = ["| score when accepted | right / all | mean score |", "| --- | --- | --- |"]
    accepted = [
        (one.outcome.verdict("category") == "right", one.score)
        for one in matched
        if one.outcome.chosen and one.outcome.verdict("category") != "not counted"
    ]
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.85), (0.85, 0.95), (0.95, 1.01)):
        rows = [one for one in accepted if low <= one[1] < high]
        if rows:
            right, scores = np.array(rows).T
            lines.append(
                f"| {low:.2f} to {min(high, 1):.2f} | {int(right.sum())} / {len(rows)} | {scores.mean():.2f} |"
            )
    return lines


if __name__ == "__main__":
    sys.exit(main())
