"""Masks of one asset are merged in masks, descriptions and matches, but not if the user made a decision about them."""

import shutil

import drawn_scene as make
import numpy as np
import pytest

from pipeline import description
from pipeline.assets import Library
from pipeline.description import describe
from pipeline.matching import Match
from pipeline.matching.measured import Candidate
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.run.merge_masks import merge_oversegmented
from pipeline.run.services import Services
from pipeline.segmentation import DepthSegmenter, Segment
from pipeline.segmentation.coco import encode_rle


@pytest.fixture(scope="module")
def library():
    return Library.open()


@pytest.fixture(scope="module")
def divided(library, tmp_path_factory):
    """The folder of a project with a mug in two segments, the smaller one first, measured and matched with none."""
    mug = library["red_mug"]
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
def project(divided, tmp_path):
    return Project.open(shutil.copytree(divided, tmp_path / "project"))


def merged(project, library):
    """Return the matches after merging, and the messages."""

    def recognise(segment):
        match = Match(segment.id, "red_mug", 1.0, "", (Candidate("red_mug", 0.95, {}, ""),))
        return describe(project.frame, project.support, segment), match

    services = Services(DepthSegmenter(), PlannerModel(), library, None, lambda: None)  # type: ignore[arg-type]
    steps = merge_oversegmented(project, services, [Match(id, None, 1.0, "", ()) for id in (1, 2)], recognise)
    messages = []
    while True:
        try:
            messages.append(next(steps).message)
        except StopIteration as end:
            return end.value, messages


def test_masks_descriptions_and_matches_agree_on_one_object(project, library):
    both = np.logical_or.reduce([one.mask for one in project.segments()])
    matches, messages = merged(project, library)
    (segment,), (described,), (match,) = project.segments(), project.descriptions(), matches
    assert segment.id == described.segment_id == match.segment_id == 2
    assert np.array_equal(segment.mask, both)
    assert match.asset_id == "red_mug"
    assert messages == ["merged masks 2 and 1: red_mug"]
    assert [one.id for one in Project.open(project.folder).segments() or ()] == [2]


@pytest.mark.parametrize("kind", ["rename", "choose_asset", "mask", "merge_segments"])
def test_segments_with_a_decision_are_not_merged(project, library, kind):
    mask = encode_rle(project.segments()[0].mask)
    data = {
        "rename": {"id": 1, "name": "handle"},
        "choose_asset": {"id": 1, "asset_id": "red_mug"},
        "mask": {"id": 1, "mask": mask, "clicks": []},
        "merge_segments": {"ids": [1], "into": 1},
    }[kind]
    project.decide(kind, **data)
    matches, messages = merged(project, library)
    assert [one.id for one in project.segments()] == [1, 2]
    assert len(matches) == 2 and messages == []
