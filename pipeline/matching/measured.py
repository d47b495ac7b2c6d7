"""The measured matcher: which asset a segment shows, by the similarity of its crop to rendered views."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.assets import Asset, AssetError, Library
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.appearance.features import (
    COLOUR_ONLY_CATEGORIES,
    RESTING_ROTATIONS,
    VIEW_PIXELS,
    describe_views,
    to_grey,
)
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.description import Description
from pipeline.frame import Observation
from pipeline.matching.calibration import WEIGHTS_WITHOUT_ENCODER, ViewPriors, match_confidence, probability
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.matcher import MatcherName
from pipeline.matching.query import Query, QueryView, query_view
from pipeline.matching.retrieval import (
    HOLLOW,
    MAX_RERANKED,
    ScoredView,
    best_views,
    is_clear,
    print_matches,
    reorder_colour_variants,
    rest_prior,
)
from pipeline.matching.similarity import MAX_SCALE, MIN_SCALE, compare, embed, embed_query
from pipeline.segmentation import Segment

MAX_CANDIDATES = 8
"""Candidates kept for a match."""
MIN_PROBABILITY = 0.5
"""Score from which a candidate is more likely than no asset of the library."""
MIN_CONFIDENCE = 0.4
"""Confidence from which the first candidate is accepted. F1 is largest with a threshold of half that F1 (Lipton et al.
2014, "Optimal thresholding of classifiers to maximize F1 measure"), and F1 is about 0.8 here."""
MIN_PRINT_MATCHES = 12
"""Matching keypoints that prove a print. With so many, the only wrong answers were variants of the right product."""

AZIMUTH_OFFSETS_DEG = np.array([-15, -7.5, 0, 7.5, 15])
"""Azimuths of the new views, relative to the library's best view."""
MIN_RERANK_PROBABILITY = 0.2
"""Probability below which a candidate is not rendered again."""


@dataclass(frozen=True)
class Candidate:
    """An asset that a segment may show."""

    asset_id: str
    score: float
    """In [0, 1], over all terms."""
    scores: Mapping[str, float]
    """Each term in [0, 1]: "size", "shape", "colour", "appearance", and "picture" with an encoder; "text", "image" or
    "image+text" if a model scored it so; "model" if a model chose it among the measured ones."""
    reason: str
    """One sentence for a person."""
    scale: float = 1.0
    """Uniform factor that brings the asset to the measured size, within MIN_SCALE and MAX_SCALE."""


@dataclass(frozen=True)
class Match:
    """The asset that a segment shows, or none, with its candidates."""

    segment_id: int
    asset_id: str | None
    """None if no asset fits: the object is reconstructed from the view."""
    scale: float
    reason: str
    candidates: tuple[Candidate, ...]
    """Best first, as the matcher ranked them, even if a person chose another asset."""
    source: str = "measured"
    """"measured", a model's name, or "human"."""
    failure: str = ""
    """Why the model gave no answer, so that this match is measured; empty if it did or was not asked."""
    machine: tuple[str | None, str] | None = None
    """Asset id (or None) and source of the automatic match that a person overrode; None without an override."""
    dissent: str = ""
    """What a model chose instead, and how sure it was, where clear measurements outweigh it; empty if they agree."""
    confidence: float | None = None
    """Calibrated probability that the first candidate, or another of its category that can stand for it, is right.
    None if a person or a model chose, or without an encoder."""


def match(
    query: Query, indexed: IndexedLibrary, matcher: MatcherName = "all", max_candidates: int = MAX_CANDIDATES
) -> Match:
    """Return the asset that a segment shows, or none, with the best candidates.

    Without an encoder, shape, size and colours decide. For a matcher that asks a model, the terms of "all" rank
    `max_candidates` candidates for it. Raises AssetError for "embedding" without an encoder, or if another encoder made
    the features.
    """
    encoder, segment_id = indexed.encoder, query.segment.id
    if matcher == "embedding" and encoder is None:
        raise AssetError("the matcher embedding needs an encoder, and none is chosen; set GRS_ENCODER=embedded")
    nothing = {
        "the library is empty": not indexed.features.ids,
        "no object": not query.description.is_object,
        "nothing is seen of it": not query.segment.mask.any(),
    }
    for reason, holds in nothing.items():
        if holds:
            return Match(segment_id, None, 1.0, reason, ())
    candidates, print_inliers = _candidates(query, indexed, matcher, max_candidates)
    proved = {asset_id for asset_id, count in print_inliers.items() if count >= MIN_PRINT_MATCHES}
    if encoder is None:
        return _decide_without_encoder(segment_id, candidates, proved, indexed.library)
    if matcher == "embedding":
        # Cosine from which the matcher "embedding" accepts the best candidate
        return _decide(segment_id, candidates, proved, candidates[0].score >= 0.66)
    features = indexed.features
    printed = {asset_id for asset_id, has_print in zip(features.ids, features.has_print, strict=True) if has_print}
    probability = category_probability(candidates, indexed.library, printed)
    confidence = _confidence(candidates, indexed.library, probability, candidates[0].asset_id in printed)
    decided = _decide(segment_id, candidates, proved, confidence >= MIN_CONFIDENCE)
    return replace(decided, confidence=round(confidence, 4))


def _confidence(candidates: Sequence[Candidate], library: Library, probability: float, is_printed: bool) -> float:
    """Return the calibrated probability that the first candidate is right. `probability` is its category's."""
    category = library[candidates[0].asset_id].category
    rivals = [c for c in candidates[1:] if is_printed or library[c.asset_id].category != category]
    return match_confidence(_odds(probability), sum(_odds(one.score) for one in rivals))


def _odds(probability: float) -> float:
    return probability / (1 - min(probability, 1 - 1e-4))


def _candidates(
    query: Query, indexed: IndexedLibrary, matcher: MatcherName, max_candidates: int
) -> tuple[tuple[Candidate, ...], dict[str, int]]:
    """Return the best candidates, best first, and the number of matching keypoints by asset id."""
    encoder = indexed.encoder
    view = query_view(query, encoder.pixels if encoder else VIEW_PIXELS)
    seen, extents = view.descriptors.extents[0], indexed.features.descriptors.extents
    if encoder:
        view = replace(view, embedding=embed_query(view, indexed.features, encoder))
    best = best_views(view, indexed, query.description.attributes.shape, matcher, 2 * max_candidates)
    if encoder and matcher != "embedding":
        best = reorder_colour_variants(rerank_views(view, indexed, best), indexed)
    inliers = {} if matcher == "embedding" else print_matches(query, view, indexed, best)
    candidates = [
        scored_candidate(indexed.asset(one.view), one, inliers.get(one.view, 0), seen, extents[one.view])
        for one in best
    ]
    if matcher == "embedding":
        candidates = [replace(one, reason=f"{one.score:.0%} alike to the encoder") for one in candidates]
    ranked = tuple(sorted(candidates, key=lambda candidate: -candidate.score)[:max_candidates])
    return ranked, {indexed.asset(one).id: count for one, count in inliers.items()}


def match_all(
    observation: Observation,
    segments: Sequence[Segment],
    descriptions: Sequence[Description],
    indexed: IndexedLibrary,
    matcher: MatcherName = "all",
) -> Iterator[Match]:
    """Yield one match for each segment that has a description, in the order of the segments."""
    described = {description.segment_id: description for description in descriptions}
    for segment in segments:
        if segment.id in described:
            yield match(Query(observation, segment, described[segment.id]), indexed, matcher)


def override_match(match: Match, asset_id: str | None, scale: float | None = None) -> Match:
    """Return the match with the asset that a person chose. The candidates stay as the matcher ranked them."""
    scales = {candidate.asset_id: candidate.scale for candidate in match.candidates}
    if scale is None:
        scale = scales.get(asset_id, 1.0) if asset_id else 1.0
    machine = match.machine if match.source == "human" else (match.asset_id, match.source)
    return Match(match.segment_id, asset_id, scale, "chosen by a person", match.candidates, "human", machine=machine)


def scored_candidate(
    asset: Asset, view: ScoredView, print_inliers: int, seen: np.ndarray, expected: np.ndarray
) -> Candidate:
    """Return an asset as a candidate; `seen` and `expected` (2,) are width and height in the picture, in metres."""
    terms, score, appearance = view.terms, view.score, view.terms["appearance"]
    shape = (terms["outline"] ** 3 * terms["relief"] ** 2) ** 0.2
    if print_inliers >= MIN_PRINT_MATCHES:
        doubt = np.exp(-print_inliers / MIN_PRINT_MATCHES)
        appearance = max(appearance, 1 - doubt)
        score = 1 - (1 - score) * doubt
    scores = {"size": terms["size"], "shape": shape, "colour": terms["colour"], "appearance": appearance}
    if "picture" in terms:
        scores["picture"] = terms["picture"]
    return Candidate(
        asset.id,
        round(float(score), 4),
        {name: round(float(value), 4) for name, value in scores.items()},
        _reason(scores, print_inliers, seen, expected),
        float(np.clip(terms["scale"], MIN_SCALE, MAX_SCALE)),
    )


def _reason(scores: Mapping[str, float], print_inliers: int, seen: np.ndarray, expected: np.ndarray) -> str:
    """Return what was compared, in numbers."""
    sizes = [" x ".join(f"{100 * side:.1f}" for side in extents) for extents in (seen, expected)]
    alike = ", ".join(f"{name} {scores[name]:.0%}" for name in ("shape", "colour", "picture") if name in scores)
    proof = f", {print_inliers} points of the print agree" if print_inliers >= MIN_PRINT_MATCHES else ""
    return f"{sizes[0]} cm seen, {sizes[1]} cm expected in this view; alike: {alike}{proof}"


def category_probability(candidates: Sequence[Candidate], library: Library, printed: Collection[str] = ()) -> float:
    """Return the probability that the object is the first candidate or another candidate of the same category.

    If many mugs are similar, the object is some mug. Each candidate's odds are against "no match", so the odds of a
    category add up. They do not if the first candidate is one of the ids in `printed`, because a printed product cannot
    be represented by another.
    """
    first = candidates[0]
    same = [c for c in candidates if library[c.asset_id].category == library[first.asset_id].category]
    shares = [min(c.score, 1 - 1e-6) for c in (candidates[:1] if first.asset_id in printed else same)]
    odds = sum(share / (1 - share) for share in shares)
    return odds / (1 + odds)


def _decide(segment_id: int, candidates: tuple[Candidate, ...], proved: Collection[str], accepted: bool) -> Match:
    """Return a match with the first candidate if it is `accepted` or its print proves it, else with none."""
    first = candidates[0]
    if accepted or first.asset_id in proved:
        return Match(segment_id, first.asset_id, first.scale, first.reason, candidates)
    nearest = f"closest (rejected): {first.asset_id.replace('_', ' ')}, {first.reason}"
    return Match(segment_id, None, 1.0, f"no match; {nearest}", candidates)


def _decide_without_encoder(
    segment_id: int, candidates: tuple[Candidate, ...], proved: Collection[str], library: Library
) -> Match:
    """Accept the first candidate if its score, with its lead over other groups of assets, is high enough.

    Hollow assets of one category are one group; every other asset is a group of its own.
    """
    first = candidates[0]
    group = {c.asset_id: k if (k := library[c.asset_id].category) in HOLLOW else c.asset_id for c in candidates}
    rivals = [c.score for c in candidates if group[c.asset_id] != group[first.asset_id]]
    lead = min(first.score - max(rivals, default=0), 0.15)
    # 0.7: score from which the best candidate is accepted without an encoder, less a part of its lead over the next
    accepted = first.score >= 0.7 - 0.4 * lead
    return _decide(segment_id, candidates, proved if first.score > 0.5 else (), accepted)


def rerank_views(view: QueryView, indexed: IndexedLibrary, best: Sequence[ScoredView]) -> list[ScoredView]:
    """Score the first few candidates by new views and return all candidates in their new order.

    Nothing is rendered if the first candidate is clear, or without an encoder.
    """
    if not best or view.embedding is None or indexed.encoder is None or is_clear(best):
        return list(best)
    likely = [one for one in best[:MAX_RERANKED] if one.score >= MIN_RERANK_PROBABILITY]
    rendered = [_rescored(view, view.embedding, indexed, indexed.encoder, one) for one in likely]
    return sorted([*rendered, *best[len(likely) :]], key=lambda one: -one.score)


def _rescored(
    view: QueryView, embedding: np.ndarray, indexed: IndexedLibrary, encoder: Encoder, before: ScoredView
) -> ScoredView:
    """Score one candidate by its best new view, or return it unchanged if it cannot be rendered.

    The view is chosen without the encoder, which then encodes that view only: encoding takes most of the time.
    """
    features = indexed.features
    owner, up = features.owner[before.view], features.up[before.view]
    asset = indexed.asset(before.view)
    elevation = np.array([np.clip(view.elevation, 5, 85)])
    rotations = camera_rotations(features.azimuth[before.view] + AZIMUTH_OFFSETS_DEG, elevation, RESTING_ROTATIONS[up])
    count, hollow = len(rotations), asset.category in COLOUR_ONLY_CATEGORIES
    try:
        views = render_views(asset, rotations, VIEW_PIXELS)
        descriptors = describe_views(views.rgb, views.masks, views.depth, views.extents)
        similarity = compare(view.descriptors, descriptors)
        rest = rest_prior(np.full(count, up), descriptors.extents)
        priors = ViewPriors(rest, np.full(count, features.has_print[owner]), np.full(count, hollow))
        best = int(np.argmax(probability(similarity, np.full(count, before.terms["picture"]), priors)))
        crops, masks = _encoder_input(asset, rotations[best], encoder, hollow)
        vectors = embed(crops, masks, features, encoder)
    except AssetError:
        return before
    cosine = float((vectors * embedding[: len(vectors)]).sum(axis=1).max())
    score = probability(similarity, np.full(count, cosine), priors)[best]
    terms = {name: float(getattr(similarity, name)[best]) for name in (*WEIGHTS_WITHOUT_ENCODER, "scale")}
    return ScoredView(before.view, float(score), terms | {"picture": float(np.clip(cosine, 0, 1))})


def _encoder_input(asset: Asset, rotation: np.ndarray, encoder: Encoder, hollow: bool) -> tuple[np.ndarray, np.ndarray]:
    """Render one view (3, 3) of an asset for the encoder, of hollow assets in grey too: crops and masks."""
    large = render_views(asset, rotation[None], encoder.pixels)
    crops = np.concatenate([large.rgb, to_grey(large.rgb)]) if hollow else large.rgb
    return crops, np.repeat(large.masks, len(crops), axis=0)
