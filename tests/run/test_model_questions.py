"""Objects are described and matched by a model with vision; where it fails they stay as measured."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assets import Library
from pipeline.assets.asset_captions import lacks_description
from pipeline.frame import load
from pipeline.matching import LibraryFeatures, Query
from pipeline.matching.model import question as choice_question
from pipeline.models import ModelError
from pipeline.models.trace.recorder import fingerprint, read_trace
from pipeline.models.trace.replay import ReplayModel
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.run import Services, run_stage
from pipeline.segmentation import DepthSegmenter


class ScriptedModel:
    """Calls every object a thing and chooses the second candidate; fails on the object `silent`."""

    name, has_vision = "eyes-1", True

    def __init__(self, silent: str = ""):
        self.silent, self.questions = silent, []

    def cache_key(self, question):
        return fingerprint(question)

    def ask(self, question):
        self.questions.append(question)
        if question.subject == self.silent:
            raise ModelError("It said nothing of use.", raw="<html>")
        if question.kind == "describe_segment":
            answer = {"is_object": True, "name": "Odd Thing!", "caption": "An odd\x1b[31m thing.", "colour": "red"}
            return question.answer_type(**answer, material="", text="", confidence=0.9)
        if question.kind == "choose_match":
            return question.answer_type(choice=2, reason="The second one.", confidence=0.5)
        if question.kind.startswith("match_"):
            return question.answer_type(choice=1, scores=[{"number": 1, "score": 0.7}], reason="The first one.")
        return question.answer_type(caption="something", category="thing", confidence=0.5)


@pytest.fixture(scope="module")
def library():
    default = Library.open()
    return replace(default, assets=default.assets[:4])


@pytest.fixture(scope="module")
def cards(tmp_path_factory):
    return tmp_path_factory.mktemp("cards")


@pytest.fixture(scope="module")
def run(library, cards):
    """Describe and match the objects of a project with a model; return the project."""
    features = LibraryFeatures.compute(library)

    def run_stages(project, model):
        services = Services(DepthSegmenter(), model, library, None, lambda: features, cards_folder=cards)
        for stage in ("descriptions", "matches"):
            list(run_stage(project, services, stage))
        return project

    return run_stages


@pytest.fixture(scope="module")
def segmented(tmp_path_factory, run) -> Path:
    """A project folder with masks, measured descriptions and measured matches."""
    project = Project.create(tmp_path_factory.mktemp("questions") / "one", load(SAMPLE_SCENES / "blocks"))
    project.save_segments(DepthSegmenter().open(project.frame).automatic()[:3])
    return run(project, PlannerModel()).folder


@pytest.fixture(scope="module")
def answered(tmp_path_factory, segmented, run) -> Path:
    """The same after a model has answered every question."""
    folder = shutil.copytree(segmented, tmp_path_factory.mktemp("answered") / "one")
    return run(Project.open(folder), ScriptedModel()).folder


@pytest.fixture
def project(answered, tmp_path):
    """A copy of the project whose questions are answered."""
    return Project.open(shutil.copytree(answered, tmp_path / "copy"))


def test_a_failure_on_one_object_leaves_it_measured_and_the_others_alone(segmented, run, tmp_path):
    project = Project.open(shutil.copytree(segmented, tmp_path / "copy"))
    run(project, ScriptedModel(silent="object 2"))
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


def test_a_question_is_asked_once_until_a_person_retries_it(project, run):
    model = ScriptedModel()
    run(project, model)
    assert not model.questions
    assert project.stages()["descriptions"] == "done"
    project.decide("ask_again", kind="describe_segment", about="object 1", wording="What is this?")
    assert project.stages()["descriptions"] == "stale"
    run(project, model)
    question = model.questions[0]
    assert (question.kind, question.subject, question.prompt_text) == ("describe_segment", "object 1", "What is this?")
    project.decide("use_measured", kind="describe_segment", about="object 1")
    run(project, model)
    assert project.descriptions()[0].source == "measured" and not project.descriptions()[0].failure
    project.undo()
    run(project, model)
    assert project.descriptions()[0].source == "eyes-1"


def test_the_user_decides_on_the_matcher_or_the_asset_and_undo_restores_the_matches(project, run):
    model = ScriptedModel()
    before = project.matches()
    for matcher, kind in (("text", "match_text"), ("image+text", "match_image_text")):
        model.questions.clear()
        project.decide("matcher", name=matcher)
        assert (project.stages()["descriptions"], project.stages()["matches"]) == ("done", "stale")
        run(project, model)
        assert {one.kind for one in model.questions} - {"describe_asset"} == {kind}
        assert all(one.candidates[0].scores[matcher] == 0.7 for one in project.matches())
        project.undo()
        run(project, model)
        assert project.matches() == before
    model.questions.clear()
    project.decide("choose_asset", id=1, asset_id=None)
    run(project, model)
    assert project.matches()[0].source == "human" and not model.questions
    project.decide("matcher", name="embedding")
    run(project, model)
    assert "all by measures" in (project.made_with("matches") or ""), "there is no encoder"


def test_a_trace_replays_byte_for_byte_including_failures(segmented, run, tmp_path):
    recorded, replayed = (Project.open(shutil.copytree(segmented, tmp_path / name)) for name in ("one", "other"))
    run(recorded, ScriptedModel(silent="object 3"))
    run(replayed, ReplayModel(recorded.folder / "trace.jsonl"))
    for file in ("descriptions.json", "matches.json"):
        assert (replayed.folder / file).read_bytes() == (recorded.folder / file).read_bytes()
    assert replayed.made_with("descriptions") == "measured, replay of eyes-1"


def test_pictures_are_saved_beside_the_trace_and_only_numbers_of_candidates_are_answers(project, library, cards):
    starts = [line for line in read_trace(project.folder / "trace.jsonl") if line["event"] == "start"]
    for start in starts:
        assert start["input.pictures"] and all((project.folder / name).exists() for name in start["input.pictures"])
    assert {start["stage"] for start in starts} == {"descriptions", "matches"}
    match, described = project.matches()[0], project.descriptions()[0]
    query = Query(project.observation, project.segments()[0], described)
    question = choice_question(ScriptedModel(), query, match.candidates[:3], library, cards)
    assert question.answer_type.model_json_schema()["properties"]["choice"]["enum"] == [0, 1, 2, 3]
    assert len(question.data["candidates"]) == 3 and json.dumps(dict(question.data))
    one = library.assets[0]
    assert lacks_description(replace(one, caption=one.name)), "a caption that repeats the name"
    assert not lacks_description(replace(one, caption="a red apple, shiny"))
