"""Candidates are rendered again from the camera's elevation; coloured light does not change colour similarity."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.features import ViewDescriptors
from pipeline.matching import IndexedLibrary, Query, QueryView, match, query_view, rerank
from pipeline.matching.calibration import match_confidence
from pipeline.matching.retrieval import ScoredView, best_views
from pipeline.matching.similarity import embed_query, spatial_colour_similarity


class MeanColourEncoder:
    name, pixels, centred = "plain", 16, True

    def encode(self, rgb, masks):
        share = masks[..., None] / np.maximum(masks.sum(axis=(1, 2)), 1)[:, None, None, None]
        return (rgb * share).sum(axis=(1, 2)).astype(np.float32) - 100


@dataclass(frozen=True, eq=False)
class Retrieved:
    query: Query
    view: QueryView
    indexed: IndexedLibrary
    best: list[ScoredView]


@pytest.fixture(scope="module")
def retrieved(query):
    encoder = MeanColourEncoder()
    library = Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "banana"}))
    indexed = IndexedLibrary.build(library, encoder)
    view = query_view(query, encoder.pixels)
    view = replace(view, embedding=embed_query(view, indexed.features, encoder))
    return Retrieved(query, view, indexed, best_views(view, indexed, query.description.attributes.shape, "all", 8))


def test_the_first_candidates_are_scored_by_new_views_and_sorted(retrieved, monkeypatch):
    monkeypatch.setattr(rerank, "is_clear", lambda _: False)
    monkeypatch.setattr(rerank, "MIN_RERANK_PROBABILITY", 0.0)
    before = retrieved.best
    after = rerank.rerank_views(retrieved.view, retrieved.indexed, before)
    assert {one.view for one in after} == {one.view for one in before}
    assert [one.score for one in after] == sorted((one.score for one in after), reverse=True)
    assert all(set(one.terms) == set(before[0].terms) and 0 <= one.score <= 1 for one in after)
    assert {one.view: one.terms for one in after} != {one.view: one.terms for one in before}


def test_nothing_is_rendered_if_the_first_is_clear_or_none_is_likely(retrieved, monkeypatch):
    monkeypatch.setattr(rerank, "render_views", lambda *_, **__: pytest.fail("it was rendered"))
    first, *rest = retrieved.best
    for score in (0.99, rerank.MIN_RERANK_PROBABILITY / 2):
        before = [first._replace(score=score), *(one._replace(score=0.01) for one in rest)]
        assert rerank.rerank_views(retrieved.view, retrieved.indexed, before) == before


def test_a_candidate_that_cannot_be_rendered_keeps_its_score(retrieved, monkeypatch):
    def broken(*_, **__):
        raise AssetError("its mesh is gone")

    monkeypatch.setattr(rerank, "render_views", broken)
    after = rerank.rerank_views(retrieved.view, retrieved.indexed, retrieved.best)
    assert after == sorted(retrieved.best, key=lambda one: -one.score)


def test_features_of_another_encoder_are_refused_in_one_line(retrieved):
    indexed = retrieved.indexed
    other = replace(indexed, features=replace(indexed.features, encoder="another"))
    with pytest.raises(AssetError, match="made by another; compute them again"):
        match(retrieved.query, other)


def test_confidence_falls_with_rivals_and_rises_with_the_odds():
    assert match_confidence(9, 0) > match_confidence(9, 9) > match_confidence(1, 9)
    assert 0 < match_confidence(0, 1e9) < match_confidence(1e9, 0) < 1


def test_coloured_light_does_not_change_the_spatial_colour_similarity(retrieved):
    query = retrieved.view.descriptors
    views = retrieved.indexed.features.descriptors.take(np.arange(20))
    tinted = ViewDescriptors(*(getattr(query, name) for name in ViewDescriptors.__dataclass_fields__))
    tinted = replace(tinted, thumb=query.thumb.astype(np.float32) + np.array([6.0, -9, 12], np.float32))
    plain = spatial_colour_similarity(query, views)
    np.testing.assert_allclose(spatial_colour_similarity(tinted, views), plain, atol=2e-3)
    assert np.ptp(plain) > 0.05, "it tells views apart"
