"""The five matchers: who may be chosen, what each shows a model, and what becomes of its answer."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assets import Library
from pipeline.choosing import KINDS, SHORTLIST, correspond
from pipeline.choosing.correspondence import LETTERS, _shown, question
from pipeline.description import describe_all
from pipeline.frame import find_support, load
from pipeline.matching import ASKING, KEPT, MODES, Candidate, Features, Match, match, unavailable, usable
from pipeline.matching.matches import together
from pipeline.models import ModelError
from pipeline.models.prompts import load as prompt
from pipeline.models.rules import RulesModel
from pipeline.segmentation import DepthSegmenter

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "sample_scenes" / "blocks"


class Scripted:
    """Answers with the candidate `choice`, and is kept what it was asked."""

    def __init__(self, choice=2, sees=True, silent=False):
        self.name, self.sees, self.choice, self.silent, self.asked = "eyes-1", sees, choice, silent, []

    def ask(self, question):
        self.asked.append(question)
        if self.silent:
            raise ModelError("It said nothing of use.")
        scores = [{"number": 1, "score": 0.9}, {"number": 3, "score": 0.2}]
        return question.answer(choice=self.choice, scores=scores, reason="It says so.")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """A frame, one of its segments described and measured against a few assets, drawn views kept."""
    whole = Library.open()
    library = replace(whole, assets=whole.assets[:6])
    frame = load(SAMPLE)
    support, segment = find_support(frame), DepthSegmenter().open(frame).automatic()[0]
    (described,) = describe_all(frame, support, [segment])
    measured = match(frame, support, segment, described, library, Features.of(library), kept=SHORTLIST["text"])
    return frame, segment, described, measured, library, tmp_path_factory.mktemp("cards")


def ask(seen, matcher, model):
    frame, segment, described, measured, library, cards = seen
    return correspond(matcher, model, frame, segment, described, measured, library, {}, cards)


@pytest.mark.parametrize("matcher", [mode.name for mode in MODES])
def test_a_matcher_that_lacks_what_it_needs_says_so_and_all_evidence_stands_in(matcher):
    eyes = object()
    why = unavailable(matcher, RulesModel(), None)  # type: ignore[arg-type]
    assert bool(why) == (matcher != "all")
    assert usable(matcher, RulesModel(), None) == ("all", why)
    assert not unavailable(matcher, Scripted(), eyes)  # type: ignore[arg-type]
    blind = unavailable(matcher, Scripted(sees=False), eyes)  # type: ignore[arg-type]
    assert ("sees none" in blind) == (matcher in ("image", "image+text"))


@pytest.mark.parametrize("matcher", ASKING)
def test_a_model_is_shown_words_or_pictures_or_both_and_never_what_was_measured(seen, matcher):
    model = Scripted()
    ask(seen, matcher, model)
    (asked,) = model.asked
    assert asked.kind == KINDS[matcher]
    assert bool(asked.pictures) == asked.must_see == (matcher != "text")
    assert ("assets" in asked.data) == (matcher != "image")
    said = str(dict(asked.data))
    assert not any(one.reason in said for one in seen[3].candidates)
    assert prompt(asked.kind).fill(asked.data)


@pytest.mark.parametrize("matcher", ASKING)
def test_what_a_model_says_comes_first_and_names_who_said_it(seen, matcher):
    listed = sorted(one.asset_id for one in seen[3].candidates[: SHORTLIST[matcher]])
    found = ask(seen, matcher, Scripted(choice=2))
    assert (found.asset_id, found.source) == (listed[1], "eyes-1")
    assert [one.asset_id for one in found.candidates[:3]] == [listed[1], listed[0], listed[2]]
    assert [matcher in one.scores for one in found.candidates] == [True] * 3 + [False] * (len(found.candidates) - 3)
    assert all({"size", "shape", "colour"} <= set(one.scores) for one in found.candidates)
    scores = [one.score for one in found.candidates]
    assert scores == sorted(scores, reverse=True) and len(found.candidates) <= KEPT
    assert ask(seen, matcher, Scripted(choice=0)).asset_id is None


def test_a_model_that_fails_leaves_what_was_measured(seen):
    found = ask(seen, "text", Scripted(silent=True))
    assert (found.asset_id, found.source) == (seen[3].asset_id, "measured")
    assert found.failure == "It said nothing of use."


def test_only_numbers_that_were_shown_can_be_said(seen):
    frame, segment, described, _, library, cards = seen
    asked = question("image", frame, segment, described, library.assets[:3], {}, cards)
    schema = asked.answer.model_json_schema()
    assert schema["properties"]["choice"]["enum"] == [0, 1, 2, 3]
    assert schema["$defs"]["Scored"]["properties"]["number"]["enum"] == [1, 2, 3]


def test_a_library_too_large_for_one_question_is_shortlisted_by_measure_and_that_is_said(seen):
    library, count = seen[4], 2000
    one = library.assets[0]
    many = Library(tuple(replace(one, id=f"asset_{k:04}", caption="word " * 20) for k in range(count)))
    ranked = [Candidate(asset.id, 1 - k / count, {}, "") for k, asset in enumerate(reversed(many.assets))]
    shown = _shown("text", ranked, many, {})
    assert 0 < len(shown) < SHORTLIST["text"]
    assert sum(len(asset.caption) for asset in shown) < LETTERS
    assert {asset.id for asset in shown} == {one.asset_id for one in ranked[: len(shown)]}
    assert [asset.id for asset in shown] == sorted(asset.id for asset in shown)
    frame, segment, described, _, _, cards = seen
    measured = Match(segment.id, None, 1.0, "", tuple(ranked))
    found = correspond("text", Scripted(), frame, segment, described, measured, many, {}, cards)
    assert f"the {len(shown)} of {count} assets that measure nearest" in found.reason


def test_candidates_of_one_kind_speak_together_and_others_do_not(seen):
    one = seen[4].assets[0]
    library = Library((one, replace(one, id="kin"), replace(one, id="other", category="another kind")))

    def sure(printed=(), **scores):
        found = [Candidate(id if id != "one" else one.id, score, {}, "") for id, score in scores.items()]
        return together(found, library, printed)

    assert sure(one=0.4) == pytest.approx(0.4)
    assert sure(one=0.4, other=0.39) == pytest.approx(0.4)
    assert 0.5 < sure(one=0.4, kin=0.39) < sure(one=0.45, kin=0.39) < 1
    assert sure(one=0.4, kin=0.0) == pytest.approx(0.4) and sure(one=1.0) == pytest.approx(1, abs=1e-5)
    assert sure({one.id}, one=0.4, kin=0.39) == pytest.approx(0.4), "no product stands in for another"


def test_the_command_line_refuses_a_matcher_that_has_no_model(tmp_path):
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("GRS_", "OPENAI_"))}
    command = [str(Path(sys.executable).with_name("grs-studio")), "run", str(SAMPLE), "--out", str(tmp_path / "one")]
    done = subprocess.run([*command, "--matcher", "text"], capture_output=True, text=True, env=plain, timeout=300)
    assert done.returncode == 2 and not (tmp_path / "one").exists()
    (line,) = done.stderr.strip().splitlines()
    assert "text needs a language model" in line
