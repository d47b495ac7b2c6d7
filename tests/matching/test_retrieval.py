"""Hollow assets of one category are ranked by colour, too; against "no match" their colours hardly count."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.matching import IndexedLibrary
from pipeline.matching.retrieval import ScoredView, reorder_colour_variants

FIT = {"scale": 1.0, "outline": 0.9, "relief": 0.8}
PALE = FIT | {"colour": 0.01, "appearance": 0.76, "picture": 0.82}
RED = FIT | {"colour": 0.8, "appearance": 0.69, "picture": 0.77}


def ranked(*assets, terms=(PALE, RED)):
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


def test_the_right_colour_comes_first_with_the_score_of_the_shape(mug):
    ids, scores = ranked(replace(mug, id="pale"), replace(mug, id="red"))
    assert ids == ["red", "pale"] and scores == [0.97, 0.95]


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
    like = FIT | {"appearance": 0.7, "picture": 0.9}
    assert ranked(replace(mug, id="pale"), replace(mug, id="red"), terms=(like | pale, like | red))[0][0] == first


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
    assert ranked(first, second, terms=terms) == (["pale", "red"], [0.97, 0.95])


def test_a_candidate_between_two_variants_keeps_its_rank(mug):
    box = replace(mug, id="box", category="box")
    ids, scores = ranked(replace(mug, id="pale"), box, replace(mug, id="red"))
    assert ids == ["red", "box", "pale"] and scores == [0.97, 0.95, 0.3]
