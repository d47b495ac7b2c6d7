"""Objects described and matched by a model that sees, one that fails among them."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assets import Library
from pipeline.assets.told import undescribed
from pipeline.choosing import question as choice_question
from pipeline.frame import load
from pipeline.matching import Features
from pipeline.models import ModelError
from pipeline.models.replay import ReplayModel
from pipeline.models.rules import RulesModel
from pipeline.models.trace import fingerprint, read
from pipeline.project import Project
from pipeline.run import Services, run_stage
from pipeline.segmentation import DepthSegmenter

SAMPLE = Path(__file__).parent.parent / "sample_scenes"


class Scripted:
    """Calls every object a thing, takes each one's second candidate, and has nothing to say of the object `silent`."""

    name, sees = "eyes-1", True

    def __init__(self, silent: str = ""):
        self.silent, self.asked = silent, []

    def memo_key(self, question):
        return fingerprint(question)

    def ask(self, question):
        self.asked.append(question)
        if question.about == self.silent:
            raise ModelError("It said nothing of use.", raw="<html>")
        if question.kind == "describe_segment":
            told = {"is_object": True, "name": "Odd Thing!", "caption": "An odd\x1b[31m thing.", "colour": "red"}
            return question.answer(**told, material="", text="", confidence=0.9)
        if question.kind == "choose_match":
            return question.answer(choice=2, reason="The second one.", confidence=0.5)
        if question.kind.startswith("match_"):
            return question.answer(choice=1, scores=[{"number": 1, "score": 0.7}], reason="The first one.")
        return question.answer(caption="something", category="thing", confidence=0.5)


@pytest.fixture(scope="module")
def library():
    whole = Library.open()
    return replace(whole, assets=whole.assets[:4])


@pytest.fixture(scope="module")
def segmented(tmp_path_factory, library, features, cards) -> Path:
    """A project folder whose masks are there, and measured once already."""
    scene = next(path for path in sorted(SAMPLE.iterdir()) if (path / "rgb.png").exists())
    project = Project.create(tmp_path_factory.mktemp("looking") / "one", load(scene))
    project.keep_segments(DepthSegmenter().open(project.frame).automatic()[:3])
    measure(project, RulesModel(), library, features, cards)
    return project.folder


def measure(project, model, library, features, cards):
    services = Services(DepthSegmenter(), model, library, None, lambda: features, cards=cards)
    for stage in ("descriptions", "matches"):
        list(run_stage(project, services, stage))


@pytest.fixture(scope="module")
def features(library):
    return Features.of(library)


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    return tmp_path_factory.mktemp("cards")


@pytest.fixture
def run(segmented, library, features, cards, tmp_path):
    """Runs both stages with a model on a copy of the project; returns the project."""

    def go(model, name="copy", project=None):
        if project is None:
            shutil.copytree(segmented, tmp_path / name)
            project = Project.open(tmp_path / name)
        measure(project, model, library, features, cards)
        return project

    return go


def test_a_failure_on_one_object_leaves_it_measured_and_the_others_alone(run):
    model = Scripted(silent="object 2")
    project = run(model)
    described = {one.segment_id: one for one in project.descriptions()}
    matched = {one.segment_id: one for one in project.matches()}
    assert described[2].source == "measured" and described[2].failure == "It said nothing of use."
    assert matched[2].source == "measured" and matched[2].failure
    others = [id for id in described if id != 2]
    assert {described[id].source for id in others} == {"eyes-1"}
    assert described[others[0]].caption == "An odd thing." and described[others[0]].name == "odd_thing"
    assert len({one.name for one in described.values()}) == len(described)
    for id in others:
        assert matched[id].asset_id == matched[id].candidates[1].asset_id
        assert (matched[id].source, matched[id].reason) == ("eyes-1", "The second one.")


def test_a_question_is_asked_once_until_a_person_wants_it_anew_or_measured(run):
    model = Scripted()
    project = run(model)
    before = len(model.asked)
    run(model, project=project)
    assert len(model.asked) == before
    assert project.stages()["descriptions"] == "done"
    project.decide("ask_again", kind="describe_segment", about="object 1", wording="What is this?")
    assert project.stages()["descriptions"] == "stale"
    run(model, project=project)
    asked = model.asked[before]
    assert (asked.kind, asked.about, asked.wording) == ("describe_segment", "object 1", "What is this?")
    project.decide("use_measured", kind="describe_segment", about="object 1")
    run(model, project=project)
    assert project.descriptions()[0].source == "measured" and not project.descriptions()[0].failure
    project.undo()
    run(model, project=project)
    assert project.descriptions()[0].source == "eyes-1"


def test_a_wish_about_a_match_leaves_the_descriptions_as_they_are(run):
    project = run(Scripted())
    project.decide("use_measured", kind="choose_match", about="object 1")
    assert (project.stages()["descriptions"], project.stages()["matches"]) == ("done", "stale")


def test_a_person_decides_which_matcher_asks_and_undo_asks_as_before(run):
    model = Scripted()
    project = run(model)
    before = project.matches()
    for matcher, kind in (("text", "match_text"), ("image+text", "match_image_text")):
        model.asked.clear()
        project.decide("matcher", name=matcher)
        assert (project.stages()["descriptions"], project.stages()["matches"]) == ("done", "stale")
        run(model, project=project)
        assert {one.kind for one in model.asked} - {"describe_asset"} == {kind}
        assert all(one.candidates[0].scores[matcher] == 0.7 for one in project.matches())
        project.undo()
        run(model, project=project)
        assert project.matches() == before


def test_where_the_embedding_lacks_its_encoder_all_evidence_stands_in(run):
    model = Scripted()
    project = run(model)
    project.decide("matcher", name="embedding")
    run(model, project=project)
    assert "all by measures" in (project.made_with("matches") or "")


def test_the_record_replays_byte_for_byte_failures_included(run):
    recorded = run(Scripted(silent="object 3"))
    replayed = run(ReplayModel(recorded.folder / "trace.jsonl"), "replayed")
    for file in ("descriptions.json", "matches.json"):
        assert (replayed.folder / file).read_bytes() == (recorded.folder / file).read_bytes()
    assert replayed.made_with("descriptions") == "measured, replay of eyes-1"


def test_what_a_person_chose_is_not_asked(run, segmented):
    model = Scripted()
    project = run(model)
    project.decide("choose_asset", id=1, asset_id=None)
    model.asked.clear()
    run(model, project=project)
    assert project.matches()[0].source == "human" and not model.asked


def test_pictures_are_kept_once_beside_the_trace(run):
    project = run(Scripted())
    starts = [line for line in read(project.folder / "trace.jsonl") if line["event"] == "start"]
    for start in starts:
        assert start["input.pictures"] and all((project.folder / name).exists() for name in start["input.pictures"])
    assert {start["stage"] for start in starts} == {"descriptions", "matches"}


def test_only_numbers_of_candidates_are_answers(run, library, cards):
    project = run(Scripted())
    match, described = project.matches()[0], project.descriptions()[0]
    asked = choice_question(
        Scripted(), project.frame, project.segments()[0], described, match.candidates[:3], library, cards
    )
    assert asked.answer.model_json_schema()["properties"]["choice"]["enum"] == [0, 1, 2, 3]
    assert len(asked.data["candidates"]) == 3 and json.dumps(dict(asked.data))


def test_an_asset_whose_caption_says_no_more_than_its_name_is_undescribed(library):
    one = library.assets[0]
    assert undescribed(replace(one, caption=one.name)) and not undescribed(replace(one, caption="a red apple, shiny"))
