"""Objects are described and matched by a model with vision, whose answers also divide, join and complete masks."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import drawn_scene as make
import numpy as np
import pytest

from pipeline import description
from pipeline.assets import Library
from pipeline.assets.asset_captions import lacks_description
from pipeline.description import describe
from pipeline.description.model_description import describe_with_model
from pipeline.frame import load
from pipeline.matching import Candidate, LibraryFeatures, Match, Query
from pipeline.matching.model import question as choice_question
from pipeline.models import ModelError
from pipeline.models.trace.recorder import fingerprint, read_trace
from pipeline.models.trace.replay import ReplayModel
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.run import Services, run_stage, run_stages
from pipeline.run.merge_masks import merge_oversegmented
from pipeline.segmentation import DepthSegmenter, Segment, encode_rle
from pipeline.segmentation.mask_operations import iou
from tests.segmentation.test_mask_operations import drain


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
        if question.kind == "weigh_object":
            return question.answer_type(**WEIGHED, reason="Plastic,\x1b[31m empty.")
        return question.answer_type(caption="something", category="thing", confidence=0.5)


WEIGHED = {
    "lightest_g": 40, "likely_g": 90, "heaviest_g": 200, "least_friction": 0.3, "likely_friction": 0.5,
    "most_friction": 0.8, "shortest_cm": 4, "longest_cm": 12,
}  # fmt: skip


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


def kinds_weighed(project: Project) -> dict[int, bool]:
    return {one.segment_id: one.physical is not None for one in project.descriptions() or ()}


def test_every_object_is_weighed_by_the_model_and_one_that_it_cannot_weigh_keeps_the_twins_guess(project, run):
    assert set(kinds_weighed(project).values()) == {True}
    one = project.descriptions()[0].physical
    assert (one.mass, one.mass_range, one.length_range) == (0.09, (0.04, 0.2), (0.04, 0.12))
    assert (one.source, one.reason) == ("model eyes-1", "Plastic, empty.")
    model = ScriptedModel()
    project.decide("use_measured", kind="weigh_object", about="object 1")
    run(project, model)
    assert kinds_weighed(project) == {1: False, 2: True, 3: True} and not model.questions
    project.undo()
    project.decide("not_object", id=3, value=True)
    run(project, model)
    assert kinds_weighed(project)[1] and not model.questions


def test_a_trace_without_weights_replays_with_the_twins_guess_and_says_so(segmented, library, cards, run, tmp_path):
    recorded, replayed = (Project.open(shutil.copytree(segmented, tmp_path / name)) for name in ("one", "other"))
    run(recorded, ScriptedModel())
    lines = (recorded.folder / "trace.jsonl").read_text().splitlines()
    spans = {json.loads(line)["span_id"] for line in lines if json.loads(line).get("name") == "weigh_object"}
    older = [line for line in lines if json.loads(line)["span_id"] not in spans]
    assert 0 < len(older) < len(lines)
    (tmp_path / "older.jsonl").write_text("\n".join(older) + "\n")
    services = Services(DepthSegmenter(), ReplayModel(tmp_path / "older.jsonl"), library, None, lambda: None)
    told = [step.message for step in run_stage(replayed, services, "descriptions")]
    assert any("masses and frictions are the twin's own guess" in one for one in told)
    assert set(kinds_weighed(replayed).values()) == {False}
    names = [json.loads(line).get("name") for line in (replayed.folder / "trace.jsonl").read_text().splitlines()]
    assert "weigh_object" not in names


def test_pictures_are_saved_beside_the_trace_and_only_numbers_of_candidates_are_answers(project, library, cards):
    starts = [line for line in read_trace(project.folder / "trace.jsonl") if line["event"] == "start"]
    for start in starts:
        pictured = start["input.pictures"] or start["name"] == "weigh_object"
        assert pictured and all((project.folder / name).exists() for name in start["input.pictures"])
    assert {start["stage"] for start in starts} == {"descriptions", "matches"}
    match, described = project.matches()[0], project.descriptions()[0]
    query = Query(project.observation, project.segments()[0], described)
    question = choice_question(ScriptedModel(), query, match.candidates[:3], library, cards)
    assert question.answer_type.model_json_schema()["properties"]["choice"]["enum"] == [0, 1, 2, 3]
    assert len(question.data["candidates"]) == 3 and json.dumps(dict(question.data))
    one = library.assets[0]
    assert lacks_description(replace(one, caption=one.name)), "a caption that repeats the name"
    assert not lacks_description(replace(one, caption="a red apple, shiny"))


DIVIDED, LEFT, RIGHT, UPPER, HELD, KEPT, LAST = range(1, 8)
"""Ids of the masks that the model is shown: two objects, two halves of one, half of one, one in the air, good ones."""


class Answering:
    """Answers by the ids that a test gives, and says nothing of other masks; `missed` has what has none."""

    name, has_vision = "eyes-1", True

    def __init__(self, answers: dict[int, dict], missed: list[dict] | None = None):
        self.answers, self.missed, self.asked = answers, missed, list[str]()

    def ask(self, question):
        if question.kind == "weigh_object":
            raise ModelError("It does not know.")
        self.asked.append(question.subject)
        if question.kind == "find_missed":
            if self.missed is None:
                raise ModelError("The question find_missed is not in the trace; choose another model.")
            return question.answer_type(missed=self.missed)
        said = self.answers.get(int(question.subject.rpartition(" ")[2]), {})
        basic = {"is_object": True, "name": "thing", "caption": "A thing.", "colour": "red", "confidence": 0.9}
        return question.answer_type(**basic, **said)


def box(mask: np.ndarray) -> dict[str, float]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    height, width = mask.shape
    sides = (columns[0] - 2, rows[0] - 2, columns[-1] + 3, rows[-1] + 3)
    return dict(zip(("left", "top", "right", "bottom"), np.divide(sides, (width, height) * 2).tolist(), strict=True))


def agreement(project: Project, truth: list[np.ndarray]) -> float:
    return float(np.mean([max(iou(one.mask, true) for one in project.segments() or ()) for true in truth]))


@pytest.fixture(scope="module")
def photographed():
    frame = load(SAMPLE_SCENES / "blocks")
    return frame, [one.mask for one in DepthSegmenter().open(frame).automatic()]


class Broken(DepthSegmenter):
    """Finds masks that are not one whole object each."""

    def __init__(self, masks: list[np.ndarray]):
        super().__init__()
        self.masks = masks

    def open(self, frame, support=None):
        view = super().open(frame, support)
        found = tuple(Segment(id, mask, 0.9, "depth") for id, mask in enumerate(self.masks, 1))
        return SimpleNamespace(automatic=lambda: found, segment=view.segment)


@pytest.fixture
def broken(photographed) -> Broken:
    _, (one, other, whole, cut, held, *good) = photographed
    columns, rows = np.indices(whole.shape)[::-1]
    left, upper = columns < np.median(columns[whole]), rows < np.median(rows[cut])
    return Broken([one | other, whole & left, whole & ~left, cut & upper, held, *good])


@pytest.fixture
def pictured(photographed, tmp_path) -> Project:
    return Project.create(tmp_path / "one", photographed[0])


def ask(project: Project, model: Answering, segmenter: Broken) -> list[str]:
    services = Services(segmenter, model, replace(Library.open(), assets=()), None, lambda: None)  # type: ignore[arg-type]
    return [step.message for step in run_stages(project, services, "descriptions")]


def test_masks_are_edited_as_the_model_says_once_and_each_edit_is_undone(pictured, photographed, broken):
    truth = photographed[1]
    one, other, whole, cut, *_ = truth
    nonsense = {"left": 1, "top": 0, "right": 0, "bottom": 1}
    answers = {
        DIVIDED: {"several_objects": [box(one), box(other)]}, RIGHT: {"part_of": LEFT}, UPPER: {"whole": box(cut)},
        HELD: {"held": True}, KEPT: {"part_of": 99, "several_objects": [box(whole)], "whole": nonsense},
    }  # fmt: skip
    y, x = np.argwhere(truth[-2])[len(np.argwhere(truth[-2])) // 2] / truth[-2].shape
    missed = [{"name": "last", "box": box(truth[-1])}, {"name": "kept", "point": {"x": x, "y": y}}, {"name": "nowhere"}]
    broken.masks.pop()
    ask(pictured, PlannerModel(), broken)  # type: ignore[arg-type]
    before = agreement(pictured, truth)
    messages = ask(pictured, Answering(answers, missed), broken)
    assert before < 0.75 and agreement(pictured, truth) > 0.95
    assert set(messages) >= {
        "thing: divided into 2 objects", "thing_3: joined with mask 2", "thing_4: completed", "last: added as mask 8",
        "kept: not added, no mask of its own was found"
    }  # fmt: skip
    segments = {one.id: one for one in pictured.segments() or ()}
    assert RIGHT not in segments and len(segments) == len(truth) and segments[KEPT].source == "depth"
    assert {one.source for id, one in segments.items() if id in (DIVIDED, LEFT, UPPER, 8)} == {"eyes-1"}
    described = {one.segment_id: one for one in pictured.descriptions() or ()}
    assert set(described) == set(segments) and not described[HELD].is_object and described[KEPT].is_object
    assert "It is held" in described[HELD].warnings[-1]
    assert described[8].warnings[-1] == "The segmenter found nothing here; eyes-1 added the mask."
    assert pictured.stages()["descriptions"] == "done"
    count = len(pictured.decisions)
    while pictured.undo():
        pass
    assert agreement(pictured, truth) == before
    ask(pictured, Answering(answers, missed), broken)
    assert agreement(pictured, truth) == before and count == 5, "what a person undid is not done again"


def test_what_the_segmenter_does_not_confirm_and_what_rules_say_changes_no_mask(pictured, photographed, broken):
    everything = {"left": 0.0, "top": 0.0, "right": 1.0, "bottom": 1.0}
    nothing = {"left": 0.0, "top": 0.0, "right": 0.02, "bottom": 0.02}
    model = Answering({DIVIDED: {"several_objects": [nothing, nothing]}, UPPER: {"whole": everything}})
    ask(pictured, PlannerModel(), broken)  # type: ignore[arg-type]
    before = agreement(pictured, photographed[1])
    messages = ask(pictured, model, broken)
    assert agreement(pictured, photographed[1]) == before and not pictured.decisions
    assert sum("no such mask was found" in message for message in messages) == 2, "no answer is dropped in silence"
    assert "no mask was added; eyes-1 did not say what has none: The question find_missed" in "".join(messages)


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    """The folder of a project with a mug in two segments, the smaller one first, measured and matched with none."""
    mug = Library.open()["red_mug"]
    scene = make.scene(make.placement(mug.mesh, "mug", size=mug.size, collision=mug.collision, asset_id=mug.id))
    frame, support, (segment,) = make.photograph(scene)
    columns = np.flatnonzero(segment.mask.any(axis=0))
    left = np.arange(segment.mask.shape[1]) < columns[int(0.35 * len(columns))]
    project = Project.create(tmp_path_factory.mktemp("divided") / "project", frame)
    parts = tuple(Segment(i, segment.mask & side) for i, side in enumerate((left, ~left), 1))
    project.save_segments(parts)
    described = [describe(frame, support, part) for part in parts]
    (project.folder / "descriptions.json").write_text(description.to_json(described))
    return project.folder


@pytest.fixture
def in_two(divided, tmp_path):
    return Project.open(shutil.copytree(divided, tmp_path / "project"))


def merged(project):
    """Return the matches after merging, and the messages."""

    def recognise(segment):
        match = Match(segment.id, "red_mug", 1.0, "", (Candidate("red_mug", 0.95, {}, ""),))
        return describe(project.frame, project.support, segment), match

    services = Services(DepthSegmenter(), PlannerModel(), Library.open(), None, lambda: None)  # type: ignore[arg-type]
    steps = merge_oversegmented(project, services, [Match(id, None, 1.0, "", ()) for id in (1, 2)], recognise)
    messages, found = drain(steps)
    return found, [step.message for step in messages]


def test_masks_descriptions_and_matches_agree_on_one_object(in_two):
    both = np.logical_or.reduce([one.mask for one in in_two.segments()])
    matches, messages = merged(in_two)
    (segment,), (described,), (match,) = in_two.segments(), in_two.descriptions(), matches
    assert segment.id == described.segment_id == match.segment_id == 2
    assert np.array_equal(segment.mask, both)
    assert match.asset_id == "red_mug"
    assert messages == ["merged masks 2 and 1: red_mug"]
    assert [one.id for one in Project.open(in_two.folder).segments() or ()] == [2]


@pytest.mark.parametrize("kind", ["rename", "choose_asset", "mask", "merge_segments"])
def test_segments_with_a_decision_are_not_merged(in_two, kind):
    mask = encode_rle(in_two.segments()[0].mask)
    data = {
        "rename": {"id": 1, "name": "handle"},
        "choose_asset": {"id": 1, "asset_id": "red_mug"},
        "mask": {"id": 1, "mask": mask, "clicks": []},
        "merge_segments": {"ids": [1], "into": 1},
    }[kind]
    in_two.decide(kind, **data)
    matches, messages = merged(in_two)
    assert [one.id for one in in_two.segments()] == [1, 2]
    assert len(matches) == 2 and messages == []


@pytest.mark.parametrize("points, named", [
    ([], []),
    ([("handle", (0.5, 0.5)), ("lid", (0.5, 0.05)), ("handle", (0.5, 0.9))], ["handle", "lid", "handle_2"]),
    ([("handle", (-0.3, 0.5)), ("handle", (0.5, 0.5)), ("press", (1.2, 0.5)), ("spout", (0.5, 1.4))], ["handle"]),
    ([("spout", (9.0, 0.5)), ("lid", (float("nan"), 0.5)), ("press", (0.5, -9.0))], []),
])  # fmt: skip
def test_parts_that_a_model_points_at_are_pixels_of_the_object_and_those_beside_it_are_dropped(tmp_path, points, named):
    observation, (segment,) = make.observe(make.scene(make.placement(make.can(tmp_path))))
    measured = describe(observation.frame, observation.support, segment)
    rows, columns = np.nonzero(segment.mask)
    low, extent = np.array([columns.min(), rows.min()]), np.array([np.ptp(columns), np.ptp(rows)])

    def ask(question):
        shares = [(low + at * extent) / segment.mask.shape[::-1] for _, at in points]
        rows = [{"name": name, "x": x, "y": y} for (name, _), (x, y) in zip(points, shares, strict=True)]
        answer = {"is_object": True, "name": "jug", "caption": "A jug.", "colour": "red"}
        return question.answer_type(**answer, **({"affordances": rows} if rows else {}))

    model = SimpleNamespace(name="eyes-1", ask=ask)
    described = describe_with_model(observation.frame, segment, measured, model)
    assert list(described.affordances) == named
    assert all(segment.mask[int(y), int(x)] for x, y in described.affordances.values())
    (read,) = description.from_json(description.to_json([described]))
    assert read.affordances == described.affordances
    (older,) = json.loads(description.to_json([described]))
    del older["affordances"]
    assert description.from_json(json.dumps([older]))[0].affordances == {}
