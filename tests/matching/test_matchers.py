"""The matchers: which can be used, what each asks a model, and what follows from the answer."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from pipeline.assets import Library
from pipeline.matching import (
    MATCHERS,
    MAX_CANDIDATES,
    MODEL_MATCHERS,
    Candidate,
    IndexedLibrary,
    Match,
    Query,
    match,
    usable_matcher,
    why_unavailable,
)
from pipeline.matching.measured import category_probability
from pipeline.matching.model import QUESTION_KINDS, SHORTLIST_SIZE, correspond, correspondence
from pipeline.matching.model.correspondence import MAX_DESCRIPTION_CHARACTERS, _shortlist, batched_assets, question
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
