"""Masks of one asset are merged; what a model says divides, joins and completes masks, and a person takes it back."""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import drawn_scene as make
import numpy as np
import pytest

from pipeline import description
from pipeline.assets import Library
from pipeline.description import describe
from pipeline.frame import load
from pipeline.matching import Candidate, Match
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.resources import SAMPLE_SCENES
from pipeline.run import Services, run_stages
from pipeline.run.merge_masks import merge_oversegmented
from pipeline.segmentation import DepthSegmenter, Segment, encode_rle
from pipeline.segmentation.mask_operations import iou
from tests.segmentation.test_mask_operations import drain

DIVIDED, LEFT, RIGHT, UPPER, HELD, KEPT, LAST = range(1, 8)
"""Ids of the masks that the model is shown: two objects, two halves of one, half of one, one in the air, good ones."""


class Answering:
    """Answers by the ids that a test gives, and says nothing of other masks."""

    name, has_vision = "eyes-1", True

    def __init__(self, answers: dict[int, dict]):
        self.answers, self.asked = answers, list[str]()

    def ask(self, question):
        self.asked.append(question.subject)
        said = self.answers.get(int(question.subject.rpartition(" ")[2]), {})
        basic = {"is_object": True, "name": "thing", "caption": "A thing.", "colour": "red", "confidence": 0.9}
        return question.answer_type(**basic, **said)


def box(mask: np.ndarray) -> dict[str, float]:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    height, width = mask.shape
    sides = (columns[0] - 2, rows[0] - 2, columns[-1] + 3, rows[-1] + 3)
    return dict(zip(("left", "top", "right", "bottom"), np.divide(sides, (width, height) * 2).tolist(), strict=True))


def agreement(project: Project, truth: list[np.ndarray]) -> float:
    """The mean over the true masks of the best overlap."""
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
def project(photographed, tmp_path) -> Project:
    return Project.create(tmp_path / "one", photographed[0])


def ask(project: Project, model: Answering, segmenter: Broken) -> list[str]:
    services = Services(segmenter, model, replace(Library.open(), assets=()), None, lambda: None)  # type: ignore[arg-type]
    return [step.message for step in run_stages(project, services, "descriptions")]


def test_masks_are_edited_as_the_model_says_once_and_each_edit_is_undone(project, photographed, broken):
    truth = photographed[1]
    one, other, whole, cut, *_ = truth
    nonsense = {"left": 1, "top": 0, "right": 0, "bottom": 1}
    answers = {
        DIVIDED: {"several_objects": [box(one), box(other)]}, RIGHT: {"part_of": LEFT}, UPPER: {"whole": box(cut)},
        HELD: {"held": True}, KEPT: {"part_of": 99, "several_objects": [box(whole)], "whole": nonsense},
    }  # fmt: skip
    ask(project, PlannerModel(), broken)  # type: ignore[arg-type]
    before = agreement(project, truth)
    messages = ask(project, Answering(answers), broken)
    assert before < 0.75 and agreement(project, truth) > 0.95
    assert {m for m in messages if m.startswith("thing")} >= {
        "thing: divided into 2 objects", "thing_3: joined with mask 2", "thing_4: completed"
    }  # fmt: skip
    segments = {one.id: one for one in project.segments() or ()}
    assert RIGHT not in segments and len(segments) == len(truth) and segments[KEPT].source == "depth"
    assert {one.source for id, one in segments.items() if id in (DIVIDED, LEFT, UPPER)} == {"eyes-1"}
    described = {one.segment_id: one for one in project.descriptions() or ()}
    assert set(described) == set(segments) and not described[HELD].is_object and described[KEPT].is_object
    assert "It is held" in described[HELD].warnings[-1]
    assert project.stages()["descriptions"] == "done"
    count = len(project.decisions)
    while project.undo():
        pass
    assert agreement(project, truth) == before
    ask(project, Answering(answers), broken)
    assert agreement(project, truth) == before and count == 4, "what a person undid is not done again"


def test_what_the_segmenter_does_not_confirm_and_what_rules_say_changes_no_mask(project, photographed, broken):
    everything = {"left": 0.0, "top": 0.0, "right": 1.0, "bottom": 1.0}
    nothing = {"left": 0.0, "top": 0.0, "right": 0.02, "bottom": 0.02}
    model = Answering({DIVIDED: {"several_objects": [nothing, nothing]}, UPPER: {"whole": everything}})
    ask(project, PlannerModel(), broken)  # type: ignore[arg-type]
    before = agreement(project, photographed[1])
    messages = ask(project, model, broken)
    assert agreement(project, photographed[1]) == before and not project.decisions
    assert sum("no such mask was found" in message for message in messages) == 2, "no answer is dropped in silence"


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
