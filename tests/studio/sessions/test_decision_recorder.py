"""Decisions that replace all masks, and ids for new segments."""

from pathlib import Path

import numpy as np
import pytest

from pipeline.frame import load
from pipeline.project import Project
from pipeline.segmentation import Segment, encode_rle
from studio.sessions.decision_recorder import next_segment_id

SAMPLES = Path(__file__).parents[3] / "sample_scenes"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project.create(tmp_path / "table", load(SAMPLES / "blocks"))
    shape = project.frame.depth.shape
    masks = [np.zeros(shape, bool), np.zeros(shape, bool)]
    masks[0][10:40, 10:40] = masks[1][60:90, 60:90] = True
    project.save_segments(tuple(Segment(i, mask, 1.0, "depth") for i, mask in enumerate(masks, 1)))
    return project


def test_recomputed_masks_replace_all_until_undo(project: Project):
    before = project.segments() or ()
    mask = np.zeros(project.frame.depth.shape, bool)
    mask[5:30, 5:30] = True
    project.decide("delete_segment", id=2)
    project.decide("found", source="sam2", masks=[{"id": 4, "mask": encode_rle(mask), "score": 0.8}])
    (only,) = project.segments() or ()
    assert (only.id, only.source, only.score) == (4, "sam2", 0.8) and (only.mask == mask).all()
    assert next_segment_id(project) == 5
    reopened = Project.open(project.folder).segments() or ()
    assert [one.id for one in reopened] == [4], "the decision is still there after a restart"
    project.undo()
    project.undo()
    assert [(one.id, one.mask.sum()) for one in project.segments() or ()] == [(b.id, b.mask.sum()) for b in before]
