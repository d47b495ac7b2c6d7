"""Sources of labelled objects for matching: rendered tables of several libraries, lights and depth cameras, and frames.

A source is one library's objects under one light, camera and depth sensor, or one collection of real frames. Objects of
one source share errors, so results are cross-validated by source, never by object.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image

from bench.rendered_tables import HARSH, MILD, CameraPerturbation, RenderedTable, render_table
from bench.unseen_matching import MIN_IOU, SHAPE_CATEGORIES, SIZE_RANGE_M, _size_difference, lookalikes
from pipeline.assets import Asset, Library
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.appearance.features import COLOUR_ONLY_CATEGORIES, LibraryFeatures
from pipeline.assets.mesh_files import user_cache_folder
from pipeline.description import Description, describe_all
from pipeline.frame import Observation, find_support, load
from pipeline.matching import IndexedLibrary, Query, query_view
from pipeline.matching.measured import rerank_views
from pipeline.matching.retrieval import MAX_COMPARED_ASSETS, best_views, print_matches
from pipeline.matching.similarity import embed_query
from pipeline.segmentation import DepthSegmenter, Segment
from scripts.training.depth_sensors import ideal, stereo, structured_light, time_of_flight

FOREIGN_SHARE = 0.2
MAX_ROWS = 24
"""Candidates kept for a question."""
CONDITIONS = {
    "mild": MILD,
    "harsh": HARSH,
    "warm stereo": CameraPerturbation(0.15, 0.04, paint=0.06, form=0.02, gloss=0.4, grain=10, warmth=0.14,
                                      distance=(0.45, 0.8), sensor=stereo),
    "cold Kinect": CameraPerturbation(0.15, 0.04, paint=0.06, form=0.02, gloss=0.3, grain=6, warmth=-0.12,
                                      distance=(0.6, 1.1), elevation=(35, 75), sensor=structured_light),
    "dim time of flight": CameraPerturbation(0.15, 0.06, paint=0.06, form=0.02, gloss=0.2, grain=14, exposure=-0.6,
                                             distance=(0.45, 0.9), elevation=(20, 50), sensor=time_of_flight),
    "bright scanner": CameraPerturbation(0.12, 0.03, paint=0.06, form=0.02, gloss=0.6, exposure=0.3,
                                         distance=(0.5, 1.0), elevation=(45, 80), sensor=ideal),
}  # fmt: skip
"""Light, camera and depth sensor of a source, by name."""
HUE_SHARE = 0.12
"""Share of the objects in another colour than their asset."""
FIRST_SEED = 20_000


@dataclass(frozen=True)
class MatchQuestion:
    """One object to be matched with one library: its candidates as measured, and the right answers."""

    source: str
    object: str
    """Asset or label of the object, for the list of errors."""
    variant: str
    """"all", or what the library lacks: "category" or "own"."""
    exact: tuple[str, ...]
    category: tuple[str, ...]
    either: tuple[str, ...]
    candidates: tuple[dict, ...]
    """Best first by the shipped weights: {"id", "category", "printed", "hollow", "inliers", terms}."""
    query: dict = field(default_factory=dict)
    """{"shape", "colour", "size"} of the description, and "iou" of the mask."""


@dataclass(frozen=True, eq=False)
class LabelledObject:
    """A segment with its right answers."""

    query: Query
    name: str
    exact: frozenset[str]
    category: frozenset[str]
    either: frozenset[str]
    iou: float


def index(libraries: Sequence[Library], encoder: Encoder) -> IndexedLibrary:
    """Return the libraries as one, with features."""
    assets = {asset.id: asset for library in libraries for asset in library}
    library = Library(tuple(assets.values()))
    return IndexedLibrary(library, LibraryFeatures.compute(library, user_cache_folder(), None, encoder), encoder)


def rendered_objects(
    condition: str, seed: int, drawn: Library, foreign: Library, indexed: IndexedLibrary
) -> Iterator[LabelledObject]:
    """Yield the objects of one rendered table; odd seeds are segmented by the studio, even ones have ragged masks."""
    rng = np.random.default_rng(seed)
    assets = _draw(rng, drawn, foreign)
    perturbation = replace(CONDITIONS[condition], hue_share=HUE_SHARE)
    table = render_table(assets, rng, perturbation=perturbation)
    observation = Observation(table.frame, find_support(table.frame))
    segments = DepthSegmenter().open(table.frame).automatic() if seed % 2 else table.segments
    for described in describe_all(table.frame, observation.support, segments):
        segment = next(s for s in segments if s.id == described.segment_id)
        row, iou = _nearest(segment, table)
        if iou >= MIN_IOU and described.is_object:
            asset = assets[table.segments[row].id - 1]
            query = Query(observation, segment, described)
            yield LabelledObject(query, asset.id, *_answers(asset, table.repainted[row], indexed), iou)


def _nearest(segment: Segment, table: RenderedTable) -> tuple[int, float]:
    """Return the row of the true segment that overlaps most, and the IoU."""
    ious = [float((segment.mask & t.mask).sum() / max(1, (segment.mask | t.mask).sum())) for t in table.segments]
    return int(np.argmax(ious)), max(ious)


def _draw(rng: np.random.Generator, drawn: Library, foreign: Library) -> list[Asset]:
    """Return four to seven different assets, some of them foreign."""
    pools = [[a for a in some if SIZE_RANGE_M[0] < a.size.max() < SIZE_RANGE_M[1]] for some in (drawn, foreign)]
    chosen: dict[str, Asset] = {}
    for _ in range(int(rng.integers(4, 8))):
        pool = pools[int(rng.uniform() < FOREIGN_SHARE)]
        asset = pool[int(rng.integers(len(pool)))]
        chosen.setdefault(asset.id, asset)
    return list(chosen.values())


def _answers(
    asset: Asset, repainted: bool, indexed: IndexedLibrary
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the exact, category and debatable answers, as `unseen_matching.questions` does.

    A repainted object has no exact answer: its own asset fits in shape only.
    """
    library = indexed.library
    none: frozenset[str] = frozenset()
    same_category = frozenset(a.id for a in library if a.category == asset.category)
    similar = frozenset(id for id in same_category if _size_difference(library[id], asset) < 0.15)
    shares_shape = asset.category in SHAPE_CATEGORIES
    known = asset.id in library and library[asset.id].mesh == asset.mesh
    exact = lookalikes(asset, indexed) if known else none
    if repainted and known:
        printed = bool(indexed.features.has_print[indexed.features.ids.index(asset.id)])
        if printed:  # another edition of a product: whether its asset stands for it is a matter of taste
            return none, none, similar | exact
        return none, same_category if shares_shape else exact, similar
    category = same_category - exact if shares_shape else none
    return exact, category, none if shares_shape else similar - exact


def real_objects(frames: Path, truth: Path) -> Iterator[tuple[str, LabelledObject]]:
    """Yield the labelled objects of real frames, each with its source: the frame's name without its number."""
    labels = json.loads(truth.read_text(encoding="utf-8"))["frames"]
    for folder in sorted(frames.glob("*")):
        if folder.name not in labels or not (folder / "truth" / "masks.png").is_file():
            continue
        frame = load(folder)
        observation = Observation(frame, find_support(frame))
        with Image.open(folder / "truth" / "masks.png") as image:
            numbers = np.array(image).astype(int)
        segments = DepthSegmenter().open(frame).automatic()
        described = {one.segment_id: one for one in describe_all(frame, observation.support, segments)}
        for label in labels[folder.name]:
            found = _overlapping(segments, described, numbers == int(label["id"]))
            if found is not None:
                segment, iou = found
                exact, category, either = (frozenset(label.get(key, ())) for key in ("exact", "category", "either"))
                query = Query(observation, segment, described[segment.id])
                yield (
                    folder.name.split("_")[0],
                    LabelledObject(query, f"{folder.name}/{label['name']}", exact, category, either, iou),
                )


def _overlapping(
    segments: Sequence[Segment], described: dict[int, Description], mask: np.ndarray
) -> tuple[Segment, float] | None:
    scored = [((s.mask & mask).sum() / max(1, (s.mask | mask).sum()), s) for s in segments if s.id in described]
    iou, segment = max(scored, key=lambda pair: pair[0], default=(0.0, None))
    return (segment, float(iou)) if segment is not None and iou >= MIN_IOU else None


def questions(source: str, one: LabelledObject, indexed: IndexedLibrary) -> Iterator[MatchQuestion]:
    """Yield the object with the whole library, without its category, and without its own asset."""
    library, features = indexed.library, indexed.features
    categories = {library[id].category for id in one.exact | one.category}
    same = frozenset(a.id for a in library if a.category in categories) | one.exact | one.category | one.either
    variants = {"all": frozenset[str]()}
    if one.exact | one.category:
        variants["category"] = same
    if one.exact and one.category:
        variants["own"] = one.exact
    described = one.query.description.attributes
    about = {"shape": described.shape, "colour": described.colour, "size": described.size.tolist(), "iou": one.iou}
    encoder = indexed.encoder
    assert encoder is not None
    view = query_view(one.query, encoder.pixels)
    view = replace(view, embedding=embed_query(view, features, encoder))
    ranked = best_views(view, indexed, described.shape, "all", MAX_COMPARED_ASSETS)
    for variant, excluded in variants.items():
        remaining = [scored for scored in ranked if indexed.asset(scored.view).id not in excluded]
        best = rerank_views(view, indexed, remaining)[:MAX_ROWS]
        inliers = print_matches(one.query, view, indexed, best) if best else {}
        rows = []
        for scored in best:
            asset = indexed.asset(scored.view)
            rows.append({
                "id": asset.id, "category": asset.category, "size_m": asset.size.tolist(),
                "hollow": asset.category in COLOUR_ONLY_CATEGORIES, "inliers": inliers.get(scored.view, 0),
                "printed": bool(features.has_print[features.owner[scored.view]]),
                "up": int(features.up[scored.view]), "score": scored.score, **scored.terms,
                "extents": features.descriptors.extents[scored.view].tolist(),
            })  # fmt: skip
        exact, category, either = (tuple(sorted(ids - excluded)) for ids in (one.exact, one.category, one.either))
        yield MatchQuestion(source, one.name, variant, exact, category, either, tuple(rows), about)


def collect(
    libraries: Sequence[Library], own: Library, encoder: Encoder, tables: int, frames: Path | None, truth: Path | None
) -> Iterator[MatchQuestion]:
    """Yield the questions of all sources: real frames, then each library under each condition."""
    searched = index(libraries, encoder)
    if frames and truth:
        for source, one in real_objects(frames, truth):
            yield from questions(f"real {source}", one, searched)
    sets = [(f"library {k}", library, own, searched) for k, library in enumerate(libraries, 1)]
    sets.append(("own", own, libraries[0], index([own], encoder)))
    for number, condition in enumerate(CONDITIONS):
        for place, (name, drawn, foreign, indexed) in enumerate(sets):
            for table in range(tables):
                seed = FIRST_SEED + 1000 * number + 100 * place + table
                for one in rendered_objects(condition, seed, drawn, foreign, indexed):
                    yield from questions(f"{name}, {condition}", one, indexed)


def to_json(question: MatchQuestion) -> str:
    """Return a question as one line."""
    return json.dumps(asdict(question))


def from_json(line: str) -> MatchQuestion:
    """Inverse of `to_json`."""
    data = json.loads(line)
    fields = {name: tuple(data[name]) for name in ("exact", "category", "either", "candidates")}
    return MatchQuestion(**(data | fields))
