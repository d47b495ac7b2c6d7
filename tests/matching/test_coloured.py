"""Of one hollow form in several colours the right colour comes first; against nothing colours hardly count."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pipeline.assets import Library
from pipeline.matching.nearest import coloured

PALE, RED = {"colour": 0.01, "appearance": 0.76, "picture": 0.82}, {"colour": 0.8, "appearance": 0.69, "picture": 0.77}


def ranked(*assets, evidence=(PALE, RED)):
    """Ids in their order, and the scores, of candidates that came in the order given."""
    features = SimpleNamespace(owner=list(range(len(assets))), ids=tuple(one.id for one in assets))
    scores = (0.97, 0.95, 0.3)
    found = [(view, scores[view], evidence[min(view, 1)]) for view in range(len(assets))]
    again = coloured(found, features, Library(tuple(assets)))  # type: ignore[arg-type]
    return [features.ids[view] for view, *_ in again], [score for _, score, _ in again]


@pytest.fixture(scope="module")
def mug():
    return Library.open()["red_mug"]


def test_the_right_colour_is_first_and_as_likely_as_the_form(mug):
    ids, scores = ranked(replace(mug, id="pale"), replace(mug, id="red"))
    assert ids == ["red", "pale"] and scores == [0.97, 0.95]


@pytest.mark.parametrize("other", ["another size", "another kind", "not hollow", "colours agree better already"])
def test_nothing_else_changes_places(mug, other):
    first, second = replace(mug, id="pale"), replace(mug, id="red")
    evidence = (RED, PALE) if other == "colours agree better already" else (PALE, RED)
    if other == "another size":
        second = replace(second, size=mug.size * 1.05)
    elif other == "another kind":
        second = replace(second, category="bowl")
    elif other == "not hollow":
        first, second = (replace(one, category="box") for one in (first, second))
    assert ranked(first, second, evidence=evidence) == (["pale", "red"], [0.97, 0.95])


def test_what_comes_between_keeps_its_place(mug):
    box = replace(mug, id="box", category="box")
    ids, scores = ranked(replace(mug, id="pale"), box, replace(mug, id="red"))
    assert ids == ["red", "box", "pale"] and scores == [0.97, 0.95, 0.3]
