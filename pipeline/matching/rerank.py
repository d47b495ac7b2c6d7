"""Reranking of the first candidates by views rendered from the camera's own elevation.

The library's views are 30 degrees apart, too coarse to tell similar assets apart.
"""

from collections.abc import Sequence

import numpy as np

from pipeline.assets import Asset, AssetError
from pipeline.assets.appearance.encoder import Encoder
from pipeline.assets.appearance.features import (
    COLOUR_ONLY_CATEGORIES,
    RESTING_ROTATIONS,
    VIEW_PIXELS,
    describe_views,
    to_grey,
)
from pipeline.assets.appearance.ray_views import camera_rotations, render_views
from pipeline.matching.calibration import WEIGHTS_WITHOUT_ENCODER, ViewPriors, probability
from pipeline.matching.indexed_library import IndexedLibrary
from pipeline.matching.query import QueryView
from pipeline.matching.retrieval import MAX_RERANKED, ScoredView, is_clear, rest_prior
from pipeline.matching.similarity import compare, embed

AZIMUTH_OFFSETS_DEG = np.array([-15, -7.5, 0, 7.5, 15])
"""Azimuths of the new views, relative to the library's best view."""
MIN_RERANK_PROBABILITY = 0.2
"""Probability below which a candidate is not rendered again."""


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
