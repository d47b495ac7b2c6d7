"""What becomes of a stage: done, failed or stale; and of a file that cannot be written whole."""

import numpy as np
import pytest

from pipeline.assets import Library
from pipeline.errors import StudioError
from pipeline.frame import Frame, Intrinsics
from pipeline.matching import Features
from pipeline.models.rules import RulesModel
from pipeline.project import DECIDED_BY, STAGES, Project
from pipeline.run import Progress, Services, run_stage, stages
from pipeline.segmentation import DepthSegmenter
from pipeline.store import read_json, write_json

DECIDED = {
    "descriptions": ("rename", {"id": 1, "name": "mug"}),
    "matches": ("choose_asset", {"id": 1, "asset_id": None}),
    "scene": ("physics", {"id": 1, "mass": 0.2, "friction": None}),
    "rounds": ("fork", {"parent": 0, "simulation": "", "checks": ""}),
    "solution": ("robot", {"name": "arm"}),
}
"""A decision that each stage is made by, of those that people decide about."""


@pytest.fixture
def project(tmp_path):
    frame = Frame(np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.float32), Intrinsics(32, 24, 40, 40, 16, 12))
    return Project.create(tmp_path / "one", frame)


@pytest.fixture
def services():
    library = Library(())
    return Services(DepthSegmenter(), RulesModel(), library, None, lambda: Features.of(library))  # type: ignore[arg-type]


def replaced(monkeypatch, stage, work):
    """The stage does this work, and nothing else."""

    def run(*_):
        yield Progress(stage, "at work")
        work()

    monkeypatch.setitem(stages._RUN, stage, run)


@pytest.mark.parametrize("stage", DECIDED)
@pytest.mark.parametrize("decided", DECIDED)
def test_a_decision_made_while_a_stage_runs_makes_it_stale_where_the_stage_depends_on_it(
    stage, decided, project, services, monkeypatch
):
    kind, data = DECIDED[decided]
    replaced(monkeypatch, stage, lambda: project.decide(kind, **data))
    list(run_stage(project, services, stage))
    depends = any(kind in DECIDED_BY.get(one, ()) for one in STAGES[: STAGES.index(stage) + 1])
    assert project.stages()[stage] == ("stale" if depends else "done")
    project.undo()
    assert project.stages()[stage] == "done"  # it was made without


def test_a_stage_that_fails_says_why_and_keeps_the_others(project, services, monkeypatch):
    def broken():
        raise StudioError("The table is upside down; turn it.")

    replaced(monkeypatch, "scene", broken)
    with pytest.raises(StudioError, match="upside down"):
        list(run_stage(project, services, "scene"))
    again = Project.open(project.folder)
    assert again.stages()["scene"] == "failed" and again.error("scene") == "The table is upside down; turn it."
    assert again.stages()["frame"] == "done"


@pytest.mark.parametrize("bad", [object(), "\ud800"])
def test_a_file_that_cannot_be_written_stays_as_it_was_and_leaves_nothing_beside_it(bad, tmp_path):
    write_json(tmp_path / "one.json", 1)
    with pytest.raises((TypeError, UnicodeEncodeError)):
        write_json(tmp_path / "one.json", bad)
    assert read_json(tmp_path / "one.json") == 1 and [path.name for path in tmp_path.iterdir()] == ["one.json"]
