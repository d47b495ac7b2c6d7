"""Candidates are ranked by their views, rendered again from the camera's elevation, and by colour among variants."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.features import ViewDescriptors
from pipeline.matching import IndexedLibrary, query_view, rerank
from pipeline.matching.calibration import match_confidence
from pipeline.matching.retrieval import ScoredView, best_views, reorder_colour_variants
from pipeline.matching.similarity import embed_query, spatial_colour_similarity


class MeanColourEncoder:
    """An encoder whose vectors are the mean colour under the mask."""

    name, pixels, centred = "plain", 16, True

    def encode(self, rgb, masks):
        share = masks[..., None] / np.maximum(masks.sum(axis=(1, 2)), 1)[:, None, None, None]
        return (rgb * share).sum(axis=(1, 2)).astype(np.float32) - 100


@pytest.fixture(scope="module")
def retrieved(query):
    """A query's view, a small library, and the best views."""
    encoder = MeanColourEncoder()
    library = Library(tuple(a for a in Library.open() if a.id in {"red_cube", "blue_cube", "banana"}))
    indexed = IndexedLibrary.build(library, encoder)
    view = query_view(query, encoder.pixels)
    view = replace(view, embedding=embed_query(view, indexed.features, encoder))
    best = best_views(view, indexed, query.description.attributes.shape, "all", 8)
    return SimpleNamespace(view=view, indexed=indexed, best=best)


def broken(*_, **__):
    raise AssetError("its mesh is gone")


def test_the_first_candidates_are_scored_by_new_views_if_they_can_be_rendered_and_sorted(retrieved, monkeypatch):
    monkeypatch.setattr(rerank, "is_clear", lambda _: False)
    monkeypatch.setattr(rerank, "MIN_RERANK_PROBABILITY", 0.0)
    before = retrieved.best
    after = rerank.rerank_views(retrieved.view, retrieved.indexed, before)
    assert {one.view for one in after} == {one.view for one in before}
    assert [one.score for one in after] == sorted((one.score for one in after), reverse=True)
    assert all(set(one.terms) == set(before[0].terms) and 0 <= one.score <= 1 for one in after)
    assert {one.view: one.terms for one in after} != {one.view: one.terms for one in before}
    monkeypatch.setattr(rerank, "render_views", broken)
    after = rerank.rerank_views(retrieved.view, retrieved.indexed, before)
    assert after == sorted(before, key=lambda one: -one.score), "what cannot be rendered keeps its score"


def test_nothing_is_rendered_if_the_first_is_clear_or_none_is_likely(retrieved, monkeypatch):
    monkeypatch.setattr(rerank, "render_views", lambda *_, **__: pytest.fail("it was rendered"))
    first, *rest = retrieved.best
    assert match_confidence(9, 0) > match_confidence(9, 9) > match_confidence(1, 9)
    assert 0 < match_confidence(0, 1e9) < match_confidence(1e9, 0) < 1
    for score in (0.99, rerank.MIN_RERANK_PROBABILITY / 2):
        before = [first._replace(score=score), *(one._replace(score=0.01) for one in rest)]
        assert rerank.rerank_views(retrieved.view, retrieved.indexed, before) == before


def test_coloured_light_does_not_change_the_spatial_colour_similarity(retrieved):
    query = retrieved.view.descriptors
    views = retrieved.indexed.features.descriptors.take(np.arange(20))
    tinted = ViewDescriptors(*(getattr(query, name) for name in ViewDescriptors.__dataclass_fields__))
    tinted = replace(tinted, thumb=query.thumb.astype(np.float32) + np.array([6.0, -9, 12], np.float32))
    plain = spatial_colour_similarity(query, views)
    np.testing.assert_allclose(spatial_colour_similarity(tinted, views), plain, atol=2e-3)
    assert np.ptp(plain) > 0.05, "it tells views apart"


FIT = {"scale": 1.0, "outline": 0.9, "relief": 0.8}
PALE = FIT | {"colour": 0.01, "appearance": 0.76, "picture": 0.82}
RED = FIT | {"colour": 0.8, "appearance": 0.69, "picture": 0.77}


def reordered(*assets, terms=(PALE, RED)):
    """Return ids and scores after reordering candidates that were ranked in the given order."""
    count = len(assets)
    features = SimpleNamespace(
        owner=list(range(count)), ids=tuple(asset.id for asset in assets), up=np.zeros(count, int),
        descriptors=SimpleNamespace(extents=np.ones((count, 2))),
    )  # fmt: skip
    indexed = IndexedLibrary(Library(tuple(assets)), features)  # type: ignore[arg-type]
    scores = (0.97, 0.95, 0.3)
    before = [ScoredView(view, scores[view], terms[min(view, 1)]) for view in range(len(assets))]
    after = reorder_colour_variants(before, indexed)
    return [features.ids[one.view] for one in after], [one.score for one in after]


@pytest.fixture(scope="module")
def mug():
    return Library.open()["red_mug"]


@pytest.mark.parametrize(
    ("pale", "red", "first"),
    [
        ({"scale": 0.9, "colour": 0.07}, {"scale": 1.0, "colour": 0.36, "relief": 0.6}, "red"),
        ({"scale": 1.08, "colour": 0.1, "picture": 0.52}, {"scale": 1.9, "colour": 0.27, "picture": 0.61}, "pale"),
        ({"scale": 1.08, "colour": 0.1, "picture": 0.52}, {"scale": 1.08, "colour": 0.27, "picture": 0.61}, "red"),
    ],
    ids=["a like relief", "a size that the twin cannot scale to", "a fitting size"],
)
def test_colour_counts_beside_relief_and_size(mug, pale, red, first):
    box = replace(mug, id="box", category="box")
    assert reordered(replace(mug, id="pale"), replace(mug, id="red")) == (["red", "pale"], [0.97, 0.95])
    ids, scores = reordered(replace(mug, id="pale"), box, replace(mug, id="red"))
    assert ids == ["red", "box", "pale"] and scores == [0.97, 0.95, 0.3], "the one between them keeps its rank"
    like = FIT | {"appearance": 0.7, "picture": 0.9}
    assert reordered(replace(mug, id="pale"), replace(mug, id="red"), terms=(like | pale, like | red))[0][0] == first


@pytest.mark.parametrize("other", ["another shape", "another category", "not hollow", "best colours first"])
def test_other_candidates_keep_their_order(mug, other):
    first, second = replace(mug, id="pale"), replace(mug, id="red")
    terms = (RED, PALE) if other == "best colours first" else (PALE, RED)
    if other == "another shape":
        terms = (PALE, RED | {"relief": 0.2, "outline": 0.5})
    elif other == "another category":
        second = replace(second, category="bowl")
    elif other == "not hollow":
        first, second = (replace(one, category="box") for one in (first, second))
    assert reordered(first, second, terms=terms) == (["pale", "red"], [0.97, 0.95])
