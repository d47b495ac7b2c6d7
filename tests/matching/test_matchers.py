"""The matchers: which can be used, what each asks a model, and what follows from the answer."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.description import Attributes, Description
from pipeline.frame import Frame, Intrinsics
from pipeline.frame.occlusion import hidden_share
from pipeline.matching import IndexedLibrary, from_json, to_json
from pipeline.matching.matcher import MATCHERS, MODEL_MATCHERS, usable_matcher, why_unavailable
from pipeline.matching.measured import MAX_CANDIDATES, Candidate, Match, category_probability, match
from pipeline.matching.model import QUESTION_KINDS, correspond, correspondence, is_denied, keep_if_matched
from pipeline.matching.model.correspondence import SHORTLIST_SIZE, question
from pipeline.matching.model.verdict import choose_with_model, most_probable
from pipeline.matching.named_candidates import MAX_NAMED, with_named_candidates
from pipeline.models import ModelError
from pipeline.models.prompt_templates import load_prompt
from pipeline.planner import PlannerModel
from pipeline.project import safe_name


class ScriptedModel:
    """Answers with the candidate `choice` and records its questions."""

    def __init__(self, choice=2, has_vision=True, silent=False):
        self.name, self.has_vision, self.choice, self.silent = "eyes-1", has_vision, choice, silent
        self.questions = []

    def ask(self, question):
        self.questions.append(question)
        if self.silent:
            raise ModelError("It said nothing of use.")
        scores = [{"number": 1, "score": 0.9}, {"number": 3, "score": 0.2}]
        return question.answer_type(choice=self.choice, scores=scores, reason="It says so.")


@pytest.fixture(scope="module")
def measured(query, tmp_path_factory):
    default = Library.open()
    library = replace(default, assets=default.assets[:6])
    found = match(query, IndexedLibrary.build(library), max_candidates=SHORTLIST_SIZE["text"])
    cards = tmp_path_factory.mktemp("cards")
    return SimpleNamespace(query=query, match=found, library=library, cards_folder=cards)


def ask(measured, matcher, model):
    return correspond(matcher, model, measured.query, measured.match, measured.library, {}, measured.cards_folder)


@pytest.mark.parametrize("matcher", [matcher.name for matcher in MATCHERS])
def test_a_matcher_without_its_model_or_encoder_is_replaced_by_all_evidence(matcher):
    encoder = object()
    reason = why_unavailable(matcher, PlannerModel(), None)
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
    failed = ask(measured, matcher, ScriptedModel(silent=True))
    assert (failed.asset_id, failed.source) == (measured.match.asset_id, "measured") and "of use" in failed.failure
    schema = question("image", measured.query, measured.library.assets[:3], {}, measured.cards_folder)
    schema = schema.answer_type.model_json_schema()
    assert schema["properties"]["choice"]["enum"] == [0, 1, 2, 3], "only numbers of listed assets are valid"
    assert schema["$defs"]["Scored"]["properties"]["number"]["enum"] == [1, 2, 3]


def test_a_large_library_is_shortlisted_by_the_measured_ranking_and_probabilities_add_up_by_category(measured):
    asset, count = measured.library.assets[0], 2000
    many = Library(tuple(replace(asset, id=f"asset_{k:04}", caption="word " * 20) for k in range(count)))
    ranked = [Candidate(one.id, 1 - k / count, {}, "") for k, one in enumerate(reversed(many.assets))]
    shown = correspondence._shortlist("text", ranked, many, {})
    assert 0 < len(shown) < SHORTLIST_SIZE["text"]
    assert sum(len(one.caption) for one in shown) < correspondence.MAX_DESCRIPTION_CHARACTERS
    assert {one.id for one in shown} == {one.asset_id for one in ranked[: len(shown)]}
    assert [one.id for one in shown] == sorted(one.id for one in shown)
    ranking = Match(measured.query.segment.id, None, 1.0, "", tuple(ranked))
    found = correspond("text", ScriptedModel(), measured.query, ranking, many, {}, measured.cards_folder)
    assert f"the {len(shown)} of {count} assets that measure nearest" in found.reason
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


class WordsModel(ScriptedModel):
    """Chooses the asset whose caption has one of the words in `choice`, wherever it is listed."""

    def ask(self, question):
        self.questions.append(question)
        lines = question.data["assets"].splitlines()
        numbers = [k for k, line in enumerate(lines, 1) if any(word in line for word in self.choice)]
        return question.answer_type(choice=numbers[-1] if numbers else 0, reason="It says so.")


@pytest.mark.parametrize("characters", [10, 150, 400, 48_000])
def test_the_papers_matcher_shows_every_asset_once_and_ends_with_one_final_question(measured, monkeypatch, characters):
    monkeypatch.setattr(correspondence, "CONTEXT_CHARACTERS", characters)
    assets = sorted(measured.library, key=lambda asset: asset.id)
    captions = {asset.id: f"the thing number {k}" for k, asset in enumerate(assets)}
    model = WordsModel(["number 1", "number 4"])
    found = correspond("paper", model, measured.query, measured.match, measured.library, captions)
    assert found.asset_id == assets[4].id and found.candidates[0].scores["paper"] == 1.0
    batches = len(correspondence.batched_assets(assets, captions))
    first = "\n".join(one.data["assets"] for one in model.questions[:batches])
    assert all(first.count(f"the thing number {k} ") == 1 for k in range(len(assets)))
    assert all(len(one.pictures) == 1 and one.needs_vision for one in model.questions)
    assert ("questions about" in found.reason) == (len(model.questions) > batches)
    unmatched = correspond("paper", WordsModel(["none"]), measured.query, measured.match, measured.library, {})
    assert unmatched.asset_id is None


def ranked(confidence, *scores) -> Match:
    candidates = tuple(Candidate(f"asset_{k}", score, {}, "", 1.0) for k, score in enumerate(scores, 1))
    first = candidates[0]
    return Match(1, first.asset_id if first.score > 0.5 else None, 1.0, "", candidates, confidence=confidence)


def decided(match: Match, choice: int) -> int:
    return most_probable(match, match.candidates, choice)


def test_a_clear_match_holds_against_a_models_verdict_also_that_it_is_no_object_and_an_unclear_one_does_not():
    clear, unclear, between = ranked(0.985, 0.99, 0.2, 0.1), ranked(0.55, 0.6, 0.5, 0.4), ranked(0.8, 0.95, 0.6, 0.01)
    assert [decided(clear, choice) for choice in (0, 2, 3)] == [1, 1, 1]
    assert [decided(unclear, choice) for choice in range(4)] == [0, 1, 2, 3]
    assert decided(between, 3) == 1, "measurements exclude the asset"
    assert decided(between, 2) == 2 and decided(ranked(None, 0.99, 0.1), 2) == 2
    for choice in (0, 2, 3):
        followed = [decided(ranked(c, 0.9, 0.4, 0.2), choice) == choice for c in np.linspace(0.01, 0.999, 60)]
        assert followed == sorted(followed, reverse=True) and followed[0] and not followed[-1], "more confidence"
    seen, denied = description(True, "measured"), description(False, "eyes-1")
    assert is_denied(seen, denied)
    assert not is_denied(seen, description(False, "human")) and not is_denied(denied, denied)
    kept = keep_if_matched(denied, ranked(0.98, 0.99))
    assert kept.is_object and "eyes-1 says that this is not an object" in kept.warnings[-1]
    assert keep_if_matched(denied, ranked(0.8, 0.95)) is denied
    assert keep_if_matched(denied, replace(ranked(0.98, 0.99), asset_id=None)) is denied


def test_a_surer_model_outweighs_more_and_one_that_is_outweighed_is_named_with_its_choice(measured):
    clear = ranked(0.9, 0.95, 0.4, 0.2)
    assert most_probable(clear, clear.candidates, 2, 0.5) == 1 and most_probable(clear, clear.candidates, 2, 0.95) == 2
    sure, model = replace(measured.match, asset_id="a", confidence=0.999), ScriptedModel(choice=0)
    found = choose_with_model(model, measured.query, sure, measured.library, measured.cards_folder)
    assert found.asset_id == "a" and found.dissent == "eyes-1 chose none of them (50% sure)"
    (read,) = from_json(to_json([found]))
    assert read.dissent == found.dissent and "eyes-1, which chose none of them" in read.reason
    unsure = choose_with_model(model, measured.query, measured.match, measured.library, measured.cards_folder)
    assert unsure.dissent == ""


def test_an_asset_that_is_called_as_the_description_says_is_offered_whatever_it_measures_like():
    library, missed = Library.open(), []
    for asset in library:
        measured = tuple(Candidate(one.id, 0.4, {}, "") for one in library if one.category != asset.category)
        offered = with_named_candidates(Match(1, None, 1.0, "", measured), safe_name(asset.name), library, 5)
        missed += [asset.name] * (asset.id not in [one.asset_id for one in offered] or len(offered) > 5 + MAX_NAMED)
    assert len(missed) <= 0.02 * len(library.assets), missed


def test_an_object_behind_another_or_cut_by_the_picture_is_partly_hidden():
    rgb, mask = np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), bool)
    mask[20:40, 30:50] = True
    table = np.where(mask, 0.95, 1.0)
    before = table.copy()
    before[15:45, 46:60] = 0.8
    cut = np.roll(mask, -30, axis=1)

    def hidden(depth: np.ndarray, shown: np.ndarray) -> bool:
        return hidden_share(Frame(rgb, depth, Intrinsics(80, 60, 60.0, 60.0, 40.0, 30.0)), shown) > 0.15

    assert not hidden(table, mask) and hidden(before, mask & (before > 0.9)) and hidden(np.ones((60, 80)), cut)


def description(is_object: bool, source: str) -> Description:
    attributes = Attributes("red", (200, 30, 30), "box", np.full(3, 0.1), 0.0, np.zeros(3), 0.001)
    return Description(1, is_object, "red_box", "a red box", attributes, source=source)
