"""Pieces of one asset are one thing in the whole project, and a person has the last word."""

import numpy as np
import pytest
import scene_making as make

from pipeline import description
from pipeline.assets import Library
from pipeline.description import describe
from pipeline.matching import Match
from pipeline.matching.matches import Candidate
from pipeline.models.rules import RulesModel
from pipeline.project import Project
from pipeline.run.services import Services
from pipeline.run.whole import put_together
from pipeline.segmentation import DepthSegmenter, Segment
from pipeline.segmentation.files import rle


@pytest.fixture(scope="module")
def library():
    return Library.open()


@pytest.fixture
def project(library, tmp_path):
    """A mug in two pieces, the smaller one first, measured and matched with nothing."""
    mug = library["red_mug"]
    scene = make.scene(make.thing(mug.mesh, "mug", size=mug.size, collision=mug.collision, asset_id=mug.id))
    frame, support, (whole,) = make.photograph(scene)
    columns = np.flatnonzero(whole.mask.any(axis=0))
    left = np.arange(whole.mask.shape[1]) < columns[int(0.35 * len(columns))]
    project = Project.create(tmp_path / "project", frame)
    pieces = tuple(Segment(i, whole.mask & side) for i, side in enumerate((left, ~left), 1))
    project.keep_segments(pieces)
    told = [describe(frame, support, one) for one in pieces]
    (project.folder / "descriptions.json").write_text(description.to_json(told))
    return project


def mug(segment, _) -> Match:
    return Match(segment.id, "red_mug", 1.0, "", (Candidate("red_mug", 0.95, {}, ""),))


def matches_after(project, library):
    services = Services(DepthSegmenter(), RulesModel(), library, None, lambda: None)  # type: ignore[arg-type]
    work = put_together(project, services, [Match(id, None, 1.0, "", ()) for id in (1, 2)], mug)
    said = []
    while True:
        try:
            said.append(next(work).message)
        except StopIteration as end:
            return end.value, said


def test_masks_descriptions_and_matches_tell_of_one_thing(project, library):
    both = np.logical_or.reduce([one.mask for one in project.segments()])
    matches, said = matches_after(project, library)
    (segment,), (told,), (match,) = project.segments(), project.descriptions(), matches
    assert segment.id == told.segment_id == match.segment_id == 2
    assert np.array_equal(segment.mask, both)
    assert match.asset_id == "red_mug"
    assert said == ["masks 2 and 1 are one thing, red_mug"]
    assert [one.id for one in Project.open(project.folder).segments() or ()] == [2]


@pytest.mark.parametrize("kind", ["rename", "choose_asset", "mask", "merge_segments"])
def test_what_a_person_decided_about_is_left_as_it_is(project, library, kind):
    mask = rle(project.segments()[0].mask)
    data = {
        "rename": {"id": 1, "name": "handle"},
        "choose_asset": {"id": 1, "asset_id": "red_mug"},
        "mask": {"id": 1, "mask": mask, "clicks": []},
        "merge_segments": {"ids": [1], "into": 1},
    }[kind]
    project.decide(kind, **data)
    matches, said = matches_after(project, library)
    assert [one.id for one in project.segments()] == [1, 2]
    assert len(matches) == 2 and said == []
