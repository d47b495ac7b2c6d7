"""What becomes of a stage: done, failed or stale; which round counts; a file that cannot be written whole."""

import numpy as np
import pytest
import scene_making as make
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from pipeline.assets import Library
from pipeline.errors import StudioError
from pipeline.frame import Frame, Intrinsics
from pipeline.matching import Features
from pipeline.models.rules import RulesModel
from pipeline.project import DECIDED_BY, STAGES, Project
from pipeline.router import Round, write_round
from pipeline.run import Progress, Services, run_stage, stages
from pipeline.scene import files
from pipeline.segmentation import DepthSegmenter, Segment
from pipeline.simulation import CheckResult, Program, Report
from pipeline.store import memo, read_json, write_json
from pipeline.tasks import TaskError

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


@pytest.mark.parametrize("before", ["done", "stale", "todo"])
def test_words_that_are_refused_leave_a_task_that_was_there_in_force(before, project, services, monkeypatch):
    def refused(*_):
        yield Progress("task", "at work")
        raise TaskError("There is no submarine here.")

    if before != "todo":
        project.finish("task", project.key("task") if before == "done" else "of others", "rules", 0.1)
    monkeypatch.setattr(stages, "task_stage", refused)
    with pytest.raises(TaskError, match="submarine"):
        list(run_stage(project, services, "task", "sink the submarine"))
    assert Project.open(project.folder).stages()["task"] == ("failed" if before == "todo" else "done")


def ran(number, task, route, project):
    report = Report((CheckResult("check_it", route == "done", ""),), (1.0,))
    write_round(Round(number, None, Program(f'thing("{task}")', ""), report, route, "", 0.0, task=task), project.folder)


@given(st.lists(st.tuples(st.sampled_from(["Lift it.", "Turn it."]), st.booleans()), max_size=6), st.integers(0, 7))
def test_the_round_that_counts_is_of_the_task_the_pinned_one_or_the_last_that_passed(tmp_path_factory, rounds, pinned):
    project = Project(tmp_path_factory.mktemp("rounds"))
    project.decide("task", name="lift", instruction="Lift it.", objects=[], goals=[], kind="", source="human")
    for number, (task, passed) in enumerate(rounds):
        ran(number, task, "done" if passed else "give_up", project)
    project.decide("pin", round=pinned)
    best, mine = project.best_round(), [n for n, (task, _) in enumerate(rounds) if task == "Lift it."]
    passed = [n for n in mine if rounds[n][1]]
    assert (best.number if best else None) == next((n for n in (pinned, *passed[-1:], *mine[-1:]) if n in mine), None)


def test_a_round_counts_and_runs_after_its_object_was_given_another_name(project, tmp_path):
    task = {"name": "lift", "instruction": "Lift the white_cube.", "objects": ["white_cube"], "goals": []}
    project.decide("task", **task, kind="", source="human")
    ran(0, "Lift the white_cube.", "done", project)
    mug = make.thing(make.box(tmp_path), "white_mug", also=("white_cube",))
    files.write_scene(make.scene(mug), project.folder)
    best = project.best_round()
    assert best is not None and best.number == 0
    assert project.in_present_program(best.program).simulation == 'thing("Lift the white_mug.")'


def test_masks_on_the_disk_follow_every_decision_about_masks_and_rest_at_others(project):
    mask = np.zeros((24, 32), bool)
    mask[4:9, 5:12] = True
    project.keep_segments((Segment(1, mask, 1.0, "depth"), Segment(2, ~mask, 1.0, "depth")))
    file = project.folder / "segments" / "masks.png"

    def shown():
        return set(np.unique(np.asarray(Image.open(file))).tolist()), file.stat().st_ino

    whole, first = shown()
    assert whole == {1, 2}
    project.decide("rename", id=1, name="mug")
    assert shown() == (whole, first)
    project.decide("delete_segment", id=2)
    assert shown()[0] == {0, 1}
    project.undo()
    assert shown()[0] == whole
    project.redo()
    assert shown()[0] == {0, 1}


@pytest.mark.parametrize("bad", [b"", b"{", b"\xff\x00 nonsense", b"[1]", b"{}", b"null"])
@pytest.mark.parametrize(
    "name, read",
    [
        ("project.json", Project.stages),
        ("decisions.jsonl", Project.stages),
        ("descriptions.json", Project.descriptions),
        ("matches.json", Project.matches),
        ("scene.json", Project.scene),
        ("tasks.json", Project.tasks),
        ("task.json", Project.task),
        ("solution.json", Project.solution),
        ("solution.npz", Project.solution),
    ],
)
def test_a_damaged_file_is_left_out_or_told_in_one_line(name, read, bad, project):
    for file in ("solution.json", "solution.npz"):
        (project.folder / file).write_text("{}")
    (project.folder / name).write_bytes(bad)
    try:
        read(Project.open(project.folder))
    except StudioError as told:
        assert str(told) and "\n" not in str(told)


def test_what_was_kept_and_is_damaged_is_worked_out_again(tmp_path):
    assert memo(tmp_path, "sum", lambda: 5) == 5 == memo(tmp_path, "sum", lambda: 6)
    (tmp_path / "sum.json").write_text("{")
    assert memo(tmp_path, "sum", lambda: 7) == 7 == read_json(tmp_path / "sum.json")


def test_a_file_that_cannot_be_written_stays_as_it_was_and_leaves_nothing_beside_it(tmp_path):
    write_json(tmp_path / "one.json", 1)
    with pytest.raises(UnicodeEncodeError):
        write_json(tmp_path / "one.json", "\ud800")
    assert read_json(tmp_path / "one.json") == 1 and [path.name for path in tmp_path.iterdir()] == ["one.json"]
