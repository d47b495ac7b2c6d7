"""Projects of every earlier version open as they were, newer ones are left alone, however many decisions there are."""

import json
import shutil
from functools import reduce
from pathlib import Path
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import decisions as log
from pipeline.decisions import Decision, DecisionError, History
from pipeline.errors import StudioError
from pipeline.frame import load, save
from pipeline.models.model import STAGE_OF
from pipeline.project import STAGE_DECISIONS, STAGES, Project, ProjectError, project_masks, stage_keys
from pipeline.project.fold import Fold
from pipeline.project.kept_files import KEPT_FILES, number_forks
from pipeline.project.project_masks import apply_mask_decision, segments_by_id, visible_segments
from pipeline.project.stage_record import MASK_DECISIONS, QUESTION_DECISIONS
from pipeline.resources import SAMPLE_SCENES
from pipeline.router import Round, RouteContext, next_round_number, read_rounds, write_round
from pipeline.run.task_stages import rounds_stage
from pipeline.segmentation import encode_rle
from pipeline.simulation import Program, Report
from pipeline.store import StoreError, digest
from pipeline.store.folder_sync import folder_hashes
from studio.sessions.decision_recorder import next_segment_id


@pytest.fixture(scope="session")
def schema_1(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as schema 1 left it: the sample "blocks" with two rounds, and an edit that was not run yet."""
    folder = tmp_path_factory.mktemp("kept") / "schema_1"
    save(load(SAMPLE_SCENES / "blocks"), folder / "frame")
    shutil.copytree(Path(__file__).parent / "kept_projects" / "schema_1", folder, dirs_exist_ok=True)
    return folder


@pytest.fixture
def kept_project(tmp_path: Path, schema_1: Path) -> Path:
    return Path(shutil.copytree(schema_1, tmp_path / "schema_1"))


def change(path: Path, **values) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def test_a_project_of_schema_1_opens_with_the_states_it_had_and_is_not_changed(kept_project):
    before = folder_hashes(kept_project)
    project = Project.open(kept_project)
    stale = {"rounds": "stale", "solution": "stale"}
    assert project.stages() == dict.fromkeys(project.stages(), "done") | stale
    assert len(project.segments()) == len(project.descriptions()) == 7 and len(project.scene().placements) == 7
    assert [one.kind for one in project.decisions] == ["mask", "undo", "robot", "fork", "task", "fork"]
    assert project.task().instruction.startswith("Mirror") and len(project.tasks()) > 1
    assert [one.number for one in project.rounds()] == [0, 1] and not project.warnings
    assert folder_hashes(kept_project) == before
    kept = {str(path.relative_to(kept_project)) for path in kept_project.rglob("*.json*")}
    named = {"rounds/report.json" if name.startswith("rounds/") else name for name in kept}
    assert named - {"project.json", "segments/automatic/coco.json"} == set(KEPT_FILES)


def test_writing_to_schema_1_adds_lines_only_and_its_forks_have_the_numbers_of_their_rounds(kept_project):
    before = (kept_project / "decisions.jsonl").read_bytes()
    project = Project.open(kept_project)
    project.decide("rename", id=1, name="brick")
    after = (kept_project / "decisions.jsonl").read_bytes()
    assert after.startswith(before) and json.loads(after.splitlines()[-1])["schema"] == 2
    record = json.loads((kept_project / "project.json").read_text())
    assert record["schema"] == 1 and record["files"] == dict(KEPT_FILES)
    assert [one.kind for one in Project.open(kept_project).decisions[-2:]] == ["fork", "rename"]
    first, second = Project.open(kept_project).active_decisions("fork")
    assert (first.data["round"], second.data["round"]) == (1, 2), "the second was not run yet"
    rounds = read_rounds(kept_project)
    new = [Decision("fork", {"parent": 0, "simulation": "", "checks": "", "round": 7}), Decision("undo", {})]
    assert number_forks(new, rounds) == new


@pytest.mark.parametrize("name", ["project.json", *KEPT_FILES])
def test_a_newer_file_is_named_with_its_version_and_left_alone(kept_project, name):
    record = json.loads((kept_project / "project.json").read_text())
    newer = {"schema": 2} if name == "project.json" else {"files": {name: KEPT_FILES[name] + 1}}
    record["versions"]["grs-studio"] = "9.8.7"
    change(kept_project / "project.json", **record | newer)
    before = folder_hashes(kept_project)
    with pytest.raises(ProjectError) as refused:
        Project.open(kept_project)
    assert name in str(refused.value) and "9.8.7" in str(refused.value) and "\n" not in str(refused.value)
    assert folder_hashes(kept_project) == before


def test_a_newer_decision_is_named_with_file_line_and_version(kept_project):
    log = kept_project / "decisions.jsonl"
    text = log.read_text()
    more = {"id": 1, "name": "mug", "colour": 2}
    for kind, data, schema in (("teleport", {}, 3), ("rename", more, 3), ("teleport", {}, 1)):
        decision = {"kind": kind, "data": data, "at": 0, "by": "human"} | ({"schema": schema} if schema > 1 else {})
        log.write_text(f"{text}{json.dumps(decision)}\n")
        before = folder_hashes(kept_project)
        with pytest.raises(DecisionError) as refused:
            Project.open(kept_project)
        assert f"decisions.jsonl line 7: the decision '{kind}' of schema {schema}" in str(refused.value)
        assert "reads up to 2" in str(refused.value) and folder_hashes(kept_project) == before


@pytest.mark.parametrize("change", [{"kind": "two\nlines" * 99}, {"schema": "two\nlines" * 99}, {"by": ["two\nlines"]},
                                    {"two\nlines" * 99: 1}, {"data": {"two\nlines" * 99: 1}}])  # fmt: skip
def test_what_a_damaged_decision_says_is_quoted_in_one_short_line(kept_project, change):
    log = kept_project / "decisions.jsonl"
    decision = {"kind": "rename", "data": {"id": 1, "name": "mug"}, "at": 0, "by": "human"} | change
    log.write_text(f"{log.read_text()}{json.dumps(decision)}\n{json.dumps(decision)}\n")
    with pytest.raises(DecisionError) as refused:
        Project.open(kept_project)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 400 and "line 7" in str(refused.value)


def test_newer_rounds_and_files_are_named_and_no_number_is_used_again_beyond_a_thousand(kept_project, tmp_path):
    log = kept_project / "decisions.jsonl"
    log.write_text("".join(line for line in log.read_text().splitlines(True) if '"kind": "task"' not in line))
    for name, read in (("task.json", Project.task), ("solution.json", Project.solution)):
        change(kept_project / name, schema=2)
        with pytest.raises(StudioError, match=rf"{name} was saved by a newer GRS Studio"):
            read(Project.open(kept_project))
    report = kept_project / "rounds" / "001" / "report.json"
    change(report, schema=2)
    with pytest.raises(StudioError, match=r"report\.json was saved by a newer GRS Studio \(schema 2"):
        Project.open(kept_project).rounds()
    assert next_round_number(kept_project) == 2
    for number in (1000, 2, 999):
        write_round(Round(number, None, Program("", ""), Report((), (1.0,)), "done", "", 0.0), tmp_path)
    assert [one.number for one in read_rounds(tmp_path)] == [2, 999, 1000] and next_round_number(tmp_path) == 1001


RESULTS = ("segments/automatic/coco.json", "descriptions.json", "matches.json", "scene.json", "tasks.json", "task.json")


@pytest.mark.parametrize("name", [*RESULTS, "solution.json"])
@pytest.mark.parametrize("state", ["done", "todo"])  # a stage may have been killed before its end
def test_a_damaged_result_is_set_aside_and_its_stage_is_to_do(kept_project, name, state):
    stage = {"tasks.json": "task"}.get(name, name.partition("/")[0].removesuffix(".json"))
    path, record = kept_project / name, json.loads((kept_project / "project.json").read_text())
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    change(kept_project / "project.json", stages=record["stages"] | {stage: state})
    project = Project.open(kept_project)
    assert project.stages()[stage] == "todo"
    project.begin_writing()
    assert path.with_name(f"{path.name}.damaged").read_bytes() == whole[: len(whole) // 2] and not path.exists()
    assert project.warnings == (f"{name} is damaged and was set aside as {name}.damaged; it is made again.",)
    for read in (project.segments, project.descriptions, project.matches, project.scene, project.tasks, project.task):
        read()


def test_a_damaged_record_stays_until_a_new_one_is_written_and_no_decision_is_lost(kept_project, monkeypatch):
    record = kept_project / "project.json"
    for damage in (b"", b'{"schema": 1, "na', b"[]", b"null", b"{}"):
        record.write_bytes(damage)
        project = Project.open(kept_project)
        assert len(project.decisions) == 6 and project.stages()["segments"] == "todo"
    project.begin_writing()
    assert Project.open(kept_project).name == kept_project.name
    assert record.with_name("project.json.damaged").read_bytes() == b"{}"
    (kept_project / "project.json").write_bytes(b"{")

    error = StoreError("project.json was not saved: the disk is full. Free some space, then try again.")
    monkeypatch.setattr("pipeline.project.stage_record.write_json", Mock(side_effect=error))
    with pytest.raises(StoreError, match=r"schema_1 can only be looked at: project\.json was not saved"):
        Project.open(kept_project).begin_writing()
    assert len(Project.open(kept_project).decisions) == 6, "it is still a project, and can be looked at"


def test_an_edit_is_run_whatever_the_clock_said_when_it_was_made(project, monkeypatch):
    written = []

    def route(task, folder, model, sandbox, options, start):
        written.append((start.number, start.parent, start.program and start.program.simulation))
        yield Round(start.number, start.parent, Program("", ""), Report((), (1.0,)), "done", "", 0.0)

    monkeypatch.setattr("pipeline.run.task_stages.route", route)
    monkeypatch.setattr("pipeline.run.task_stages._program_model", lambda *_: (None, RouteContext()))
    services = type("Services", (), {"sandbox": None, "mode": "route", "on_rollout": None})()
    project.decide("task", name="lift", instruction="Lift it.", objects=[], goals=[], kind="", source="human")
    clock = iter(range(10_000, 0, -100))  # it goes back at every look
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    list(rounds_stage(project, services))
    project.decide("fork", parent=0, simulation="edited", checks="")
    list(rounds_stage(project, services))
    list(rounds_stage(project, services))
    assert written == [(0, None, None), (1, 0, "edited"), (2, None, None)], "the edit is run once"


def mask_at(row: int, column: int) -> dict:
    mask = np.zeros((48, 64), bool)
    mask[row : row + 9, column : column + 12] = True
    return encode_rle(mask)


ids = st.integers(1, 4)
masks = st.builds(mask_at, st.integers(0, 40), st.integers(0, 55))
decided = st.one_of(
    st.builds(lambda i, m: ("mask", {"id": i, "mask": m, "clicks": []}), ids, masks),
    st.builds(lambda i: ("delete_segment", {"id": i}), ids),
    st.builds(lambda a, b: ("merge_segments", {"ids": [a, b], "into": a}), ids, ids),
    st.builds(lambda i, m: ("found", {"source": "depth", "masks": [{"id": i, "mask": m, "score": 1.0}]}), ids, masks),
    st.builds(lambda i, v: ("not_object", {"id": i, "value": v}), ids, st.booleans()),
    st.builds(lambda i: ("refit", {"id": i}), ids),
    st.builds(lambda k, a: ("use_measured", {"kind": k, "about": a}), st.sampled_from(sorted(STAGE_OF)), st.text()),
)
steps = st.lists(st.one_of(decided, st.sampled_from([("undo", {}), ("redo", {})])), max_size=40)


def replay(decisions):
    done, undone = [], []
    for one in decisions:
        if one.kind == "undo":
            undone += [done.pop()] if done else []
        elif one.kind == "redo":
            done += [undone.pop()] if undone else []
        else:
            done.append(one)
            undone = []
    return done, undone


@given(steps, st.integers(1, 4))
def test_a_history_its_views_and_a_fold_with_any_memory_equal_a_replay_after_every_step(made, memory):
    history, decisions = History(), []
    masks = history.of_kinds(*MASK_DECISIONS)
    fold = Fold((), lambda before, one: (*before, one), memory)
    for kind, data in made:
        decisions.append(Decision(kind, data, at=0))
        history.add(decisions[-1])
        done, undone = replay(decisions)
        assert (history.active, history.undone) == (done, undone)
        assert masks == [one for one in done if one.kind in MASK_DECISIONS]
        assert fold.over(history.active) == tuple(done)


def test_recomputed_masks_replace_all_until_undo(project):
    before = [(one.id, one.mask.sum()) for one in project.segments()]
    project.decide("delete_segment", id=2)
    project.decide("found", source="sam2", masks=[{"id": 4, "mask": mask_at(5, 7), "score": 0.8}])
    for reopened in (project, Project.open(project.folder)):
        (only,) = reopened.segments()
        assert (only.id, only.source, only.score, only.mask.sum()) == (4, "sam2", 0.8, 9 * 12) and only.mask[5, 7]
    assert next_segment_id(project) == 5
    project.undo()
    project.undo()
    assert [(one.id, one.mask.sum()) for one in project.segments()] == before


def key_from_the_first(project: Project, stage: str) -> str:
    """Return the key of a stage as its definition says, and as the first version computed it."""
    stages = STAGES[: STAGES.index(stage) + 1]
    kinds = {kind for one in stages for kind in STAGE_DECISIONS.get(one, ())}
    decided = [
        [d.kind, d.data]
        for d in log.active(project.decisions)
        if d.kind in kinds and (d.kind not in QUESTION_DECISIONS or STAGE_OF.get(d.data["kind"]) in stages)
    ]
    return digest(project.frame_key, {one: project.made_with(one) for one in stages[:-1]}, decided)


@given(made=steps)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])  # the log just grows
def test_keys_and_masks_after_every_step_equal_those_from_the_first(made, project):
    automatic = project.automatic_segments()
    for kind, data in made:
        project._log.add(Decision(kind, data))  # in memory: the disk is tested elsewhere
        assert [project.key(stage) for stage in STAGES] == [key_from_the_first(project, stage) for stage in STAGES]
        decided = project.active_decisions(*MASK_DECISIONS)
        expected = visible_segments(reduce(apply_mask_decision, decided, segments_by_id(automatic)))
        shown = project.segments()
        assert [(s.id, s.source) for s in shown] == [(s.id, s.source) for s in expected]
        assert all(np.array_equal(a.mask, b.mask) for a, b in zip(shown, expected, strict=True))


def test_a_mask_on_top_of_ten_thousand_decisions_is_applied_and_hashed_once(project):
    decisions = [Decision("mask", {"id": 1 + i % 2, "mask": mask_at(i % 30, i % 40), "clicks": []}) for i in range(500)]
    for one in decisions * 20:
        project._log.add(one)
    project.stages()
    project.segments()
    applied, hashed = Mock(wraps=apply_mask_decision), Mock(wraps=stage_keys._with_decision)
    with patch.object(project._masks._fold[1], "_step", applied):
        for entry in project._keys._folds.values():
            entry[1]._step = hashed
        decide = lambda: project.decide("mask", id=1, mask=mask_at(3, 3), clicks=[])  # noqa: E731
        for act in (decide, project.undo, project.redo):
            act()
            project.stages()
    assert applied.call_count == 2 and hashed.call_count <= 2 * len(STAGES)
    assert project_masks.REMEMBERED_EDITS < 100, "memory is bounded: a mask of a large frame has 25 MB"
