"""The matchers: what each asks a model, what follows from the answer, and how candidates are ranked again."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import AssetError, Library
from pipeline.assets.appearance.features import ViewDescriptors
from pipeline.description import Attributes, Description
from pipeline.matching import (
    MATCHERS,
    MAX_CANDIDATES,
    MODEL_MATCHERS,
    Candidate,
    IndexedLibrary,
    Match,
    Query,
    QueryView,
    match,
    query_view,
    rerank,
    usable_matcher,
    why_unavailable,
)
from pipeline.matching.calibration import match_confidence
from pipeline.matching.measured import category_probability
from pipeline.matching.model import (
    QUESTION_KINDS,
    SHORTLIST_SIZE,
    correspond,
    correspondence,
    is_denied,
    keep_if_matched,
)
from pipeline.matching.model.correspondence import MAX_DESCRIPTION_CHARACTERS, _shortlist, batched_assets, question
from pipeline.matching.model.verdict import most_probable
from pipeline.matching.retrieval import ScoredView, best_views, reorder_colour_variants
from pipeline.matching.similarity import embed_query, spatial_colour_similarity
from pipeline.models import ModelError
from pipeline.models.prompt_templates import load_prompt
from pipeline.planner import PlannerModel
from pipeline.resources import SAMPLE_SCENES
from studio.__main__ import main


class ScriptedModel:
    def __init__(self, choice=2, has_vision=True, silent=False):
        self.name, self.has_vision, self.choice, self.silent = "eyes-1", has_vision, choice, silent
        self.questions = []

    def ask(self, question):
        self.questions.append(question)
        if self.silent:
            raise ModelError("It said nothing of use.")
        scores = [{"number": 1, "score": 0.9}, {"number": 3, "score": 0.2}]
        return question.answer_type(choice=self.choice, scores=scores, reason="It says so.")


@dataclass(frozen=True, eq=False)
class Measured:
    query: Query
    match: Match
    library: Library
    cards_folder: Path


@pytest.fixture(scope="module")
def measured(query, tmp_path_factory):
    default = Library.open()
    library = replace(default, assets=default.assets[:6])
    found = match(query, IndexedLibrary.build(library), max_candidates=SHORTLIST_SIZE["text"])
    return Measured(query, found, library, tmp_path_factory.mktemp("cards"))


def ask(measured, matcher, model):
    return correspond(matcher, model, measured.query, measured.match, measured.library, {}, measured.cards_folder)


@pytest.mark.parametrize("matcher", [matcher.name for matcher in MATCHERS])
def test_a_matcher_without_its_model_or_encoder_is_replaced_by_all_evidence(matcher):
    encoder, reason = object(), why_unavailable(matcher, PlannerModel(), None)
    assert bool(reason) == (matcher != "all")
    assert usable_matcher(matcher, PlannerModel(), None) == ("all", reason)
    assert not why_unavailable(matcher, ScriptedModel(), encoder)  # type: ignore[arg-type]
    without_vision = why_unavailable(matcher, ScriptedModel(has_vision=False), encoder)  # type: ignore[arg-type]
    assert ("reads pictures" in without_vision) == (matcher in ("image", "image+text", "paper"))


@pytest.mark.parametrize("matcher", MODEL_MATCHERS)
def test_a_question_holds_descriptions_or_pictures_or_both_but_no_measured_scores(measured, matcher):
    model = ScriptedModel()
    ask(measured, matcher, model)
    (asked,) = model.questions
    assert asked.kind == QUESTION_KINDS[matcher]
    assert bool(asked.pictures) == asked.needs_vision == (matcher != "text")
    assert ("assets" in asked.data) == (matcher != "image")
    text = str(dict(asked.data))
    assert not any(one.reason in text for one in measured.match.candidates)
    assert load_prompt(asked.kind).fill(asked.data)


@pytest.mark.parametrize("matcher", ["text", "image", "image+text"])
def test_candidates_that_the_model_scored_come_first_and_name_their_source(measured, matcher):
    listed = sorted(one.asset_id for one in measured.match.candidates[: SHORTLIST_SIZE[matcher]])
    found = ask(measured, matcher, ScriptedModel(choice=2))
    assert (found.asset_id, found.source) == (listed[1], "eyes-1")
    assert [one.asset_id for one in found.candidates[:3]] == [listed[1], listed[0], listed[2]]
    assert [matcher in one.scores for one in found.candidates] == [True] * 3 + [False] * (len(found.candidates) - 3)
    assert all({"size", "shape", "colour"} <= set(one.scores) for one in found.candidates)
    scores = [one.score for one in found.candidates]
    assert scores == sorted(scores, reverse=True) and len(found.candidates) <= MAX_CANDIDATES
    assert ask(measured, matcher, ScriptedModel(choice=0)).asset_id is None


@pytest.mark.parametrize("matcher", ["text", "paper"])
def test_if_the_model_fails_the_measured_match_is_returned(measured, matcher):
    found = ask(measured, matcher, ScriptedModel(silent=True))
    assert (found.asset_id, found.source) == (measured.match.asset_id, "measured")
    assert found.failure == "It said nothing of use."


def test_only_listed_assets_are_valid_answers_and_a_large_library_is_shortlisted(measured):
    asked = question("image", measured.query, measured.library.assets[:3], {}, measured.cards_folder)
    schema = asked.answer_type.model_json_schema()
    assert schema["properties"]["choice"]["enum"] == [0, 1, 2, 3]
    assert schema["$defs"]["Scored"]["properties"]["number"]["enum"] == [1, 2, 3]
    asset, count = measured.library.assets[0], 2000
    many = Library(tuple(replace(asset, id=f"asset_{k:04}", caption="word " * 20) for k in range(count)))
    ranked = [Candidate(one.id, 1 - k / count, {}, "") for k, one in enumerate(reversed(many.assets))]
    shown = _shortlist("text", ranked, many, {})
    assert 0 < len(shown) < SHORTLIST_SIZE["text"]
    assert sum(len(one.caption) for one in shown) < MAX_DESCRIPTION_CHARACTERS
    assert {one.id for one in shown} == {one.asset_id for one in ranked[: len(shown)]}
    assert [one.id for one in shown] == sorted(one.id for one in shown)
    ranking = Match(measured.query.segment.id, None, 1.0, "", tuple(ranked))
    found = correspond("text", ScriptedModel(), measured.query, ranking, many, {}, measured.cards_folder)
    assert f"the {len(shown)} of {count} assets that measure nearest" in found.reason


def test_probabilities_of_one_category_add_up_and_those_of_others_do_not(measured):
    first = measured.library.assets[0]
    library = Library((first, replace(first, id="same"), replace(first, id="other", category="another category")))

    def probability(printed=(), **scores):
        candidates = [Candidate(id if id != "first" else first.id, score, {}, "") for id, score in scores.items()]
        return category_probability(candidates, library, printed)

    assert probability(first=0.4) == pytest.approx(0.4)
    assert probability(first=0.4, other=0.39) == pytest.approx(0.4)
    assert 0.5 < probability(first=0.4, same=0.39) < probability(first=0.45, same=0.39) < 1
    assert probability(first=0.4, same=0.0) == pytest.approx(0.4)
    assert probability(first=1.0) == pytest.approx(1, abs=1e-5)
    assert probability({first.id}, first=0.4, same=0.39) == pytest.approx(0.4), "no product represents another"


def test_the_command_line_refuses_a_matcher_that_has_no_model(tmp_path, monkeypatch, capsys):
    for name in [name for name in os.environ if name.startswith(("GRS_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    sample, out = str(SAMPLE_SCENES / "blocks"), tmp_path / "one"
    assert main(["run", sample, "--out", str(out), "--matcher", "text"]) == 2 and not out.exists()
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert "text needs a language model" in line


class WordsModel:
    name, has_vision = "reader-1", True

    def __init__(self, words):
        self.words, self.questions = words, []

    def ask(self, question):
        self.questions.append(question)
        lines = question.data["assets"].splitlines()
        numbers = [k for k, line in enumerate(lines, 1) if any(word in line for word in self.words)]
        return question.answer_type(choice=numbers[-1] if numbers else 0, reason="It says so.")


@pytest.mark.parametrize("characters", [10, 150, 400, 48_000])
def test_the_papers_matcher_shows_every_asset_once_and_ends_with_one_final_question(measured, monkeypatch, characters):
    monkeypatch.setattr(correspondence, "CONTEXT_CHARACTERS", characters)
    assets = sorted(measured.library, key=lambda asset: asset.id)
    captions = {asset.id: f"the thing number {k}" for k, asset in enumerate(assets)}
    model = WordsModel(["number 1", "number 4"])
    found = correspond("paper", model, measured.query, measured.match, measured.library, captions)
    assert found.asset_id == assets[4].id and found.candidates[0].scores["paper"] == 1.0
    batches = len(batched_assets(assets, captions))
    first = "\n".join(one.data["assets"] for one in model.questions[:batches])
    assert all(first.count(f"the thing number {k} ") == 1 for k in range(len(assets)))
    assert all(len(one.pictures) == 1 and one.needs_vision for one in model.questions)
    assert ("questions about" in found.reason) == (len(model.questions) > batches)
    nothing = correspond("paper", WordsModel(["none"]), measured.query, measured.match, measured.library, {})
    assert nothing.asset_id is None


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
    indexed, view = IndexedLibrary.build(library, encoder), query_view(query, encoder.pixels)
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


def test_nothing_is_rendered_without_need_and_what_cannot_be_rendered_keeps_its_score(retrieved, monkeypatch):
    monkeypatch.setattr(rerank, "render_views", lambda *_, **__: pytest.fail("it was rendered"))
    first, *rest = retrieved.best
    for score in (0.99, rerank.MIN_RERANK_PROBABILITY / 2):
        before = [first._replace(score=score), *(one._replace(score=0.01) for one in rest)]
        assert rerank.rerank_views(retrieved.view, retrieved.indexed, before) == before

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


def test_coloured_light_does_not_change_similarity_and_confidence_falls_with_rivals(retrieved):
    query = retrieved.view.descriptors
    views = retrieved.indexed.features.descriptors.take(np.arange(20))
    tinted = ViewDescriptors(*(getattr(query, name) for name in ViewDescriptors.__dataclass_fields__))
    tinted = replace(tinted, thumb=query.thumb.astype(np.float32) + np.array([6.0, -9, 12], np.float32))
    plain = spatial_colour_similarity(query, views)
    np.testing.assert_allclose(spatial_colour_similarity(tinted, views), plain, atol=2e-3)
    assert np.ptp(plain) > 0.05, "it tells views apart"
    assert match_confidence(9, 0) > match_confidence(9, 9) > match_confidence(1, 9)
    assert 0 < match_confidence(0, 1e9) < match_confidence(1e9, 0) < 1


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


def test_the_right_colour_comes_first_with_the_score_of_the_shape_and_others_keep_their_rank(mug):
    ids, scores = ranked(replace(mug, id="pale"), replace(mug, id="red"))
    assert ids == ["red", "pale"] and scores == [0.97, 0.95]
    box = replace(mug, id="box", category="box")
    ids, scores = ranked(replace(mug, id="pale"), box, replace(mug, id="red"))
    assert ids == ["red", "box", "pale"] and scores == [0.97, 0.95, 0.3]


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


def match_of(confidence, *scores) -> Match:
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "", 1.0) for k, score in enumerate(scores, 1))
    first = candidates[0]
    return Match(1, first.asset_id if first.score > 0.5 else None, 1.0, "", candidates, confidence=confidence)


def decided(match: Match, choice: int) -> int:
    return most_probable(match, match.candidates, choice)


@pytest.mark.parametrize("choice", [0, 2, 3])
def test_a_clear_match_holds_against_a_verdict_for_another_asset_or_none(choice):
    assert decided(match_of(0.985, 0.99, 0.2, 0.1), choice) == 1


@pytest.mark.parametrize("choice", [0, 1, 2, 3])
def test_an_unclear_match_is_decided_by_the_model(choice):
    assert decided(match_of(0.55, 0.6, 0.5, 0.4), choice) == choice


def test_a_model_decides_only_where_measurements_are_unclear_and_never_more_with_more_confidence():
    match = match_of(0.8, 0.95, 0.6, 0.01)
    assert decided(match, 3) == 1 and decided(match, 2) == 2 and decided(match_of(None, 0.99, 0.1), 2) == 2
    for choice in (0, 2, 3):
        followed = [decided(match_of(c, 0.9, 0.4, 0.2), choice) == choice for c in np.linspace(0.01, 0.999, 60)]
        assert followed == sorted(followed, reverse=True) and followed[0] and not followed[-1]


def description(is_object: bool, source: str) -> Description:
    attributes = Attributes("red", (200, 30, 30), "box", np.full(3, 0.1), 0.0, np.zeros(3), 0.001)
    return Description(1, is_object, "red_box", "a red box", attributes, source=source)


def test_what_a_model_takes_for_no_object_stays_one_only_if_it_clearly_matches():
    seen, denied = description(True, "measured"), description(False, "eyes-1")
    assert is_denied(seen, denied)
    assert not is_denied(seen, description(False, "human")) and not is_denied(denied, denied)
    kept = keep_if_matched(denied, match_of(0.98, 0.99))
    assert kept.is_object and "eyes-1 says that this is not an object" in kept.warnings[-1]
    assert keep_if_matched(denied, match_of(0.8, 0.95)) is denied
    assert keep_if_matched(denied, replace(match_of(0.98, 0.99), asset_id=None)) is denied
