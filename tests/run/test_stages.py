"""Stages become done, failed or stale; wherever an outcome is read, a doubtful twin is never solved."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest
import tabletop
from ready_projects import ROOT, ready_project

from pipeline.assets import Library
from pipeline.errors import StudioError
from pipeline.export import export_project
from pipeline.frame import Doubt, load
from pipeline.matching import LibraryFeatures
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.project import STAGE_DECISIONS, STAGES, Project
from pipeline.project_sets import ProjectSet, SetSettings, set_card
from pipeline.router import write_round
from pipeline.run import Progress, Services, run_stage, run_stages, stages
from pipeline.run.cut_off import doubtful_objects
from pipeline.run.perception_stages import descriptions_stage
from pipeline.run.placing_ahead import PlacingAhead
from pipeline.run.task_stages import why_no_task
from pipeline.segmentation import DepthSegmenter
from pipeline.simulation.program import CheckResult
from pipeline.tasks import TaskAnswer, TaskError, TasksAnswer, task_to_json
from studio.batch.batch_file import BatchItem
from studio.batch.report import batch_page, frame_report
from studio.board.project_facts import read_facts
from studio.services.open_services import open_services
from studio.services.settings import Settings

DECISIONS = {
    "descriptions": ("rename", {"id": 1, "name": "mug"}),
    "matches": ("choose_asset", {"id": 1, "asset_id": None}),
    "scene": ("physics", {"id": 1, "mass": 0.2, "friction": None}),
    "rounds": ("fork", {"parent": 0, "simulation": "", "checks": ""}),
    "solution": ("robot", {"name": "arm"}),
}
"""A decision that makes each stage stale, for the stages that have one."""


@pytest.fixture
def services():
    library = Library(())
    features = LibraryFeatures.compute(library)
    return Services(DepthSegmenter(), PlannerModel(), library, None, lambda: features)  # type: ignore[arg-type]


def replace_stage(monkeypatch, stage, work):
    """Replace a stage by one that does this work only."""

    def run(*_):
        yield Progress(stage, "at work")
        work()

    monkeypatch.setitem(stages._STAGES, stage, run)


def test_why_no_task_can_be_proposed_is_the_true_reason():
    for movable, doubtful, reason in (
        ([], {}, "no object that can be moved"),
        (["cup"], {"cup": "cup is cut off by the picture's edge"}, "(cup is cut off by the picture's edge)"),
        (["cup", "can"], {"cup": "cup is cut off by the picture's edge"}, "there is no free place; take objects out"),
    ):
        assert reason in why_no_task(movable, doubtful)


@pytest.mark.parametrize("stage", DECISIONS)
@pytest.mark.parametrize("decided", DECISIONS)
def test_a_decision_during_a_stage_makes_the_dependent_stage_stale(stage, decided, project, services, monkeypatch):
    kind, data = DECISIONS[decided]
    replace_stage(monkeypatch, stage, lambda: project.decide(kind, **data))
    list(run_stage(project, services, stage))
    depends = any(kind in STAGE_DECISIONS.get(one, ()) for one in STAGES[: STAGES.index(stage) + 1])
    assert project.stages()[stage] == ("stale" if depends else "done")
    project.undo()
    assert project.stages()[stage] == "done"  # it ran without the decision


def test_a_failed_stage_gives_a_reason_and_keeps_the_earlier_ones(project, services, monkeypatch):
    def broken():
        raise StudioError("The table is upside down; turn it.")

    replace_stage(monkeypatch, "scene", broken)
    with pytest.raises(StudioError, match="upside down"):
        list(run_stage(project, services, "scene"))
    reopened = Project.open(project.folder)
    assert reopened.stages()["scene"] == "failed" and reopened.error("scene") == "The table is upside down; turn it."
    assert reopened.stages()["frame"] == "done"


@pytest.mark.parametrize("before", ["done", "stale", "todo"])
def test_a_refused_instruction_leaves_the_previous_task_current(before, project, services, monkeypatch):
    def refused(*_):
        yield Progress("task", "at work")
        raise TaskError("There is no submarine here.")

    if before != "todo":
        for name in ("tasks.json", "task.json"):
            (project.folder / name).write_text("[]")
        project.finish("task", project.key("task") if before == "done" else "of others", "rules", 0.1)
    monkeypatch.setattr(stages, "task_stage", refused)
    with pytest.raises(TaskError, match="submarine"):
        list(run_stage(project, services, "task", "sink the submarine"))
    assert Project.open(project.folder).stages()["task"] == ("failed" if before == "todo" else "done")


GHOST = TaskAnswer(name="ride", instruction="Ride the elephant.", objects=["pink_elephant"], goals=["it rides"])
LIFT = TaskAnswer(name="lift", instruction="Lift the ball.", objects=["orange_ball"], goals=["it flies"])


class ProposingModel(PlannerModel):
    """Understands by rules and proposes what it is given, or fails."""

    name = "proposer-1"

    def __init__(self, *proposals: TaskAnswer):
        self.proposals = proposals

    def ask(self, question):
        if question.kind != "propose_tasks":
            return super().ask(question)
        if not self.proposals:
            raise ModelError("no words")
        return TasksAnswer(tasks=list(self.proposals))


@pytest.fixture
def run(tmp_path):
    """Run the task stage of a table with a model; return the project and the messages."""

    def run_stage_with(model, text=None):
        project = tabletop.project(tmp_path / str(len(list(tmp_path.iterdir()))))
        services = Services(DepthSegmenter(), model, Library(()), None, lambda: None)  # type: ignore[arg-type]
        return project, [step.message for step in run_stage(project, services, "task", text)]

    return run_stage_with


@pytest.mark.parametrize("proposals", [(GHOST,), (GHOST, GHOST), (), (LIFT,)])
def test_a_stated_task_does_not_depend_on_the_proposals(run, proposals):
    project, messages = run(ProposingModel(*proposals), "put the green cube on the blue cube")
    assert project.task().instruction == "put the green cube on the blue cube"
    assert project.stages()["task"] == "done"
    ghosts = [one for one in messages if one == "proposal left out: ride: there is no pink_elephant here"]
    assert len(ghosts) == proposals.count(GHOST)
    assert ("no proposals: no words" in messages) == (not proposals)


def test_unusable_proposals_are_dropped_one_by_one_and_the_rules_propose_where_none_is_left(run):
    project, messages = run(ProposingModel(GHOST, LIFT, GHOST))
    assert [task.name for task in project.tasks()] == ["lift"] and project.task().source == "proposer-1"
    assert sum("pink_elephant" in one for one in messages) == 2
    project, messages = run(ProposingModel(GHOST))
    assert "no proposal of proposer-1 can be used; the offline rules propose tasks instead" in messages
    assert project.tasks() and {task.source for task in project.tasks()} == {"rules"}
    with pytest.raises(ModelError, match="no words"):
        run(ProposingModel())


@pytest.mark.parametrize(("overhang", "is_doubtful"), [(-0.01, False), (0.01, False), (0.03, True)])
def test_no_task_is_proposed_about_an_object_far_beyond_the_tables_edge(scene, overhang, is_doubtful):
    one, (_, _, edge, _) = scene.objects[0], scene.table.bounds
    x = edge - np.ptp(one.outline[:, 0]) / 2 + overhang
    moved = replace(scene, objects=(one.moved((x, scene.table.centre[1])),))
    project = SimpleNamespace(segments=lambda: None, scene=lambda: None)
    assert bool(doubtful_objects(project, moved)) == is_doubtful


@pytest.mark.soak
def test_a_twin_has_the_same_bytes_on_any_number_of_threads(tmp_path):
    for count in ("1", "2", "4"):
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count)
        command = [sys.executable, "-m", "studio", "run", "sample_scenes/blocks", "--until", "scene", "--out"]
        subprocess.run([*command, str(tmp_path / count)], cwd=ROOT, env=os.environ | threads, check=True)
    for file in ("scene.json", "scene/scene.xml"):
        assert len({(tmp_path / count / file).read_bytes() for count in ("1", "2", "4")}) == 1


DOUBT = "the ground is only 52% certain; choose it on the Frame page"


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(ready_project("blocks", "solution"), tmp_path / "blocks")


def read_everywhere(folder, tmp_path):
    """Return what board, zip, export, report and a set's card say."""
    export_project(folder, "zip", tmp_path / "p.zip")
    export_project(folder, "mjcf", tmp_path / "mjcf")
    with zipfile.ZipFile(tmp_path / "p.zip") as archive:
        readme = archive.read("p/README.md").decode()
    report = batch_page("b", [frame_report(folder.parent, BatchItem("frame", "blocks", "done"))])
    facts = read_facts(folder)
    assert facts
    card = set_card(folder.parent, ProjectSet("b", SetSettings(), {"blocks": "train"}, made=0))
    return facts.state, readme, json.loads((tmp_path / "mjcf" / "export.json").read_text()), report + card


def test_a_believed_twin_is_solved_and_a_doubtful_one_nowhere(folder, tmp_path):
    record = json.loads((folder / "project.json").read_text())
    assert record["doubtful"] == [] and set(record["fit"]) == {"explained", "depth_m", "edges", "ground"}
    assert record["fit"]["explained"] > 0.95 and all(0 <= one <= 1 for one in record["fit"].values())
    state, readme, export, report = read_everywhere(folder, tmp_path)
    assert state == "solved" and "Solution: solved" in readme and export["doubtful"] == []
    assert "| Solved tasks | 1 |\n| Doubtful twins | 0 |" in report
    assert "the twin explains" in report and "1 tasks with a solved seed." in report
    (folder / "project.json").write_text(json.dumps(record | {"doubtful": [asdict(Doubt.of_line("ground", DOUBT))]}))
    state, readme, export, report = read_everywhere(folder, tmp_path)
    assert state == "doubtful" and "Solution: doubtful" in readme and export["doubtful"] == [DOUBT]
    assert "| Solved tasks | 0 |\n| Doubtful twins | 1 |" in report
    assert DOUBT in report and "done, doubtful" in report and "0 tasks with a solved seed, 1 doubtful." in report
    project, services = Project.open(folder), open_services(Settings(seeds=1))
    lines = [step.message for step in run_stage(project, services, "solution")]
    project.close()
    assert lines[-1].startswith("doubtful: ") and lines[-2] == f"doubtful: {DOUBT}" and "explains" in lines[-3]
    assert not [line for line in lines if line.startswith("solved")]


def test_a_solution_whose_program_fails_a_check_is_solved_nowhere_and_no_example(folder, tmp_path):
    project, services = Project.open(folder), open_services(Settings(seeds=1, workspace=tmp_path))
    best = project.best_round()
    wrong = CheckResult("meaning table", False, "tray extends beyond the edge of the table")
    failed = replace(best, number=best.number + 1, report=replace(best.report, checks=(wrong,)), route="give_up")
    write_round(failed, folder)
    project.decide("pin", round=failed.number)
    lines = [step.message for step in run_stage(project, services, "solution")]
    project.close()
    assert lines[-1].startswith("doubtful: 1 of 1 seeds") and "tray extends beyond the edge" in lines[-2]
    state, readme, _, report = read_everywhere(folder, tmp_path)
    assert state == "doubtful" and "Solution: doubtful" in readme and "| Solved tasks | 0 |" in report
    assert "| Doubtful twins | 0 |\n| Doubtful programs | 1 |" in report
    assert "0 tasks with a solved seed" in report and not list(tmp_path.rglob("solved/*"))


def test_a_push_that_the_oracle_carried_is_solved_nowhere(folder, tmp_path):
    project, services = Project.open(folder), open_services(Settings(seeds=1, workspace=tmp_path))
    best, push = project.best_round(), replace(project.task(), instruction="Push the red cube aside.")
    project.decide("task", **task_to_json(push))
    write_round(replace(best, number=best.number + 1, task=push.instruction), folder)
    lines = [step.message for step in run_stage(project, services, "solution")]
    project.close()
    assert any("checks: the task asks for a push" in line for line in lines), lines
    assert read_everywhere(folder, tmp_path)[0] == "doubtful"
    assert not list(tmp_path.rglob("solved/*"))


def test_a_project_of_an_older_version_or_with_an_edited_record_opens_without_evidence(folder):
    record = json.loads((folder / "project.json").read_text())
    kept = {name: value for name, value in record.items() if name not in ("doubtful", "evidence")}
    for facts in ({}, {"doubtful": None, "evidence": []}, {"doubtful": [DOUBT], "evidence": {"explained": 1}}):
        (folder / "project.json").write_text(json.dumps(kept | facts))
        project = Project.open(folder)
        assert project.evidence() is None and project.doubts() == () and project.scene() is not None


def twin(folder, services, at_each_step=lambda: None):
    """Make the twin of the sample scene stack; return what was written of it."""
    project = Project.create(folder, load(ROOT / "sample_scenes" / "stack"))
    for _ in run_stages(project, services, "scene"):
        at_each_step()
    made = [folder / name for name in ("scene.json", "scene/scene.xml", "matches.json")]
    return [path.read_bytes() for path in made], sorted(path.name for path in (folder / "scene").iterdir())


@pytest.mark.parametrize("kill", [False, True])
def test_a_twin_is_the_same_from_one_process_from_two_and_from_two_of_which_one_is_killed(tmp_path, kill):
    services = replace(open_services(Settings()), ahead=None)
    alone = twin(tmp_path / "twin", services)
    shutil.rmtree(tmp_path / "twin")
    ahead, taken = PlacingAhead(), []
    take, ahead.take = ahead.take, lambda *about: taken.append(take(*about)) or taken[-1]
    at_each_step = ahead._workers.kill if kill else lambda: ahead._queue.submit(list).result()  # once it is idle
    assert twin(tmp_path / "twin", replace(services, ahead=ahead), at_each_step) == alone
    assert kill or [one is None for one in taken].count(True) == 1, "only the cube lies on another object"


def test_a_run_that_is_stopped_writes_nothing_more(tmp_path):
    project, ahead = Project.create(tmp_path / "twin", load(ROOT / "sample_scenes" / "stack")), PlacingAhead()
    run = run_stages(project, replace(open_services(Settings()), ahead=ahead), "scene")
    while project.folder not in ahead._begun:
        next(run)
    ahead._queue.submit(list).result()  # the other process has opened the frame
    while not any(placed.running() or placed.done() for _, placed in ahead._begun[project.folder].values()):
        next(run)
    run.close()
    shutil.rmtree(project.folder)
    ahead._queue.submit(lambda: None).result()
    assert not project.folder.exists()


def test_what_the_segmenter_takes_for_a_robot_is_left_out_unless_it_matches_an_asset_or_a_person_says_so(tmp_path):
    services = open_services(Settings(library=(), model="offline"))
    project = Project.create(tmp_path / "p", load(ROOT / "sample_scenes" / "kitchen"))

    def describe_again(services: Services) -> dict:
        for _ in descriptions_stage(project, services):
            pass
        return {one.segment_id: one for one in project.descriptions() or () if one.is_object}

    for _ in run_stages(project, services, "segments"):
        pass
    everything = describe_again(services)
    project.save_segments(tuple(replace(one, kind="robot or hand") for one in project.automatic_segments() or ()))
    kept = describe_again(services)
    assert len(kept) >= 3 and all("clearly matches an asset" in one.warnings[-1] for one in kept.values())
    empty = replace(services, library=Library(()), features=lambda: LibraryFeatures.compute(Library(())))
    shutil.rmtree(project.folder / "cache")
    assert not describe_again(empty)
    project.decide("not_object", id=1, value=False)
    assert [*describe_again(empty)] == [1] and len(everything) == 6
