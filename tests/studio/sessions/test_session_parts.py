"""The parts of a session, each alone: event log, cache, work runner, decisions, replay, model calls, refits."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import drawn_scene as make
import numpy as np
import pytest
from offline_studio import FRAME, wait_until

from pipeline.errors import StudioError
from pipeline.geometry import Pose
from pipeline.models import Question
from pipeline.project import Project
from pipeline.run import Progress
from pipeline.scene.scene_files import write_scene
from pipeline.segmentation import encode_rle
from pipeline.simulation import Program
from pipeline.tasks import TaskError
from studio.sessions.cache import Cache
from studio.sessions.decision_recorder import DecisionRecorder
from studio.sessions.event_log import EventLog
from studio.sessions.object_decisions import apply_decision
from studio.sessions.project_work import pending_refit, undo_if_worse
from studio.sessions.round_replay import RoundReplay
from studio.sessions.session import ModelCalls
from studio.sessions.work import StoppableSandbox, WorkRunner
from studio.web.background import TaskGroup
from studio.web.errors import RequestError


@pytest.fixture
def log() -> EventLog:
    return EventLog()


@pytest.fixture
def cache(tmp_path: Path, log: EventLog) -> Cache:
    (tmp_path / "scene.json").write_text("{}")
    return Cache(tmp_path, log, TaskGroup(log.mark_changed))


def test_an_error_is_one_line_and_one_notice_and_a_watcher_is_called_until_it_ends(log: EventLog):
    for _ in range(2):
        log.report_once(StudioError("No table."))
    assert [line.kind for line in log.lines] == ["bad"]
    assert log.take_notices() == ["No table."] and log.take_notices() == []
    versions: list[int] = []
    unwatch = log.watch(lambda: versions.append(log.version))
    log.mark_changed()
    log.add("Scene · placing")
    unwatch()
    log.mark_changed()
    assert versions == [log.version - 2, log.version - 1]


def test_a_value_is_computed_once_for_all_threads_until_its_file_changes(cache: Cache, tmp_path: Path):
    compute = Mock(side_effect=[1, 2])
    assert [cache.get("name", "scene.json", compute) for _ in range(3)] == [1, 1, 1]
    before = cache.stamp("scene.json")
    (tmp_path / "scene.json").unlink()
    assert cache.stamp("scene.json") == "0" != before
    assert cache.get("name", "scene.json", compute) == 2
    began, go_on = threading.Event(), threading.Event()
    compute = Mock(side_effect=lambda: [began.set(), go_on.wait(10)])
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(cache.get, "other", "scene.json", compute)
        began.wait(10)
        second = threads.submit(cache.get, "other", "scene.json", compute)
        assert not wait([second], 0.1).done
        go_on.set()
        assert first.result() is second.result() and compute.call_count == 1


def test_a_value_computed_in_the_background_is_there_later_and_a_failure_is_logged_once(cache: Cache, log: EventLog):
    release = threading.Event()
    assert cache.get_later("name", "scene.json", release.wait) is None and cache.is_computing("name")
    release.set()
    wait_until(lambda: not cache.is_computing("name"), "the value")
    assert cache.get_later("name", "scene.json", release.wait) is True
    failing = Mock(side_effect=StudioError("No depth."))
    cache.get_later("failing", "scene.json", failing)
    wait_until(lambda: not cache.is_computing("failing"), "the error")
    assert cache.get_later("failing", "scene.json", failing) is None and failing.call_count == 1
    assert [line.text for line in log.lines] == ["No depth."] and not log.take_notices()


def wait_for_end(runner: WorkRunner, log: EventLog) -> None:
    def has_ended() -> bool:
        with log.changed:  # which is locked until the end is logged
            return runner.current is None

    wait_until(has_ended, "the end of the work")


def placing(stop: threading.Event) -> Iterator[Progress]:
    while True:
        stop.wait(0.01)
        yield Progress("scene", "placing")


def test_new_work_begins_after_the_current_one_was_stopped_and_a_stop_is_no_error(log: EventLog):
    events: list[str] = []
    started = threading.Event()

    def first(stop: threading.Event) -> Iterator[Progress]:
        started.set()
        try:
            yield from placing(stop)
        finally:
            events.append("first ended")

    def second(_: threading.Event) -> Iterator[Progress]:
        events.append("second began")
        yield Progress("scene", "settling")

    runner = WorkRunner(log, lambda: events.append("start"))
    runner.start(first, "scene")
    assert started.wait(10)
    runner.start(second, "task")
    wait_for_end(runner, log)
    assert events == ["start", "start", "first ended", "second began"]
    assert log.lines[-1].text == "Scene · settling"
    runner.start(placing, "scene")
    runner.stop()
    wait_for_end(runner, log)
    assert log.lines[-1].text == "Stopped. Finished stages are kept." and not log.take_notices()


@pytest.mark.parametrize(("error", "is_notice"), [(StudioError("No depth."), True), (TaskError("No mug."), False)])
def test_an_error_of_the_work_is_a_notice_unless_it_is_about_the_task(log, error, is_notice):
    def steps(_: threading.Event) -> Iterator[Progress]:
        yield Progress("scene", "placing")
        raise error

    runner = WorkRunner(log, lambda: None)
    runner.start(steps, "scene")
    wait_for_end(runner, log)
    assert bool(log.take_notices()) is is_notice and (runner.task_error is error) is not is_notice
    assert log.lines[-1].kind == "bad"


def test_a_stoppable_sandbox_is_cancelled_by_either_event():
    cancels: list[bool] = []
    sandbox = SimpleNamespace(run=lambda cancel: cancels.append(cancel.is_set()), name="inner")
    stop, cancel = threading.Event(), threading.Event()
    stoppable = StoppableSandbox(sandbox, stop)
    stoppable.run()
    stoppable.run(cancel=cancel)
    cancel.set()
    stoppable.run(cancel=cancel)
    stop.set()
    stoppable.run()
    assert cancels == [False, False, True, True] and stoppable.name == "inner"


def test_decisions_recorded_together_are_undone_together_and_no_name_or_number_is_taken_twice(
    tmp_path: Path, log: EventLog
):
    project, changes = Project.create(tmp_path / "one", FRAME), []
    decisions = DecisionRecorder(project, log, lambda: changes.append(1))
    decisions.record("not_object", id=1, value=True)
    decisions.record_all([("delete_segment", {"id": id}) for id in (2, 3, 4)], "2 to 4 deleted")
    decisions.undo()
    assert [decision.kind for decision in project.active_decisions("not_object", "delete_segment")] == ["not_object"]
    decisions.redo()
    assert len(project.active_decisions("delete_segment")) == 3 and len(changes) == 4
    assert [line.text for line in log.lines][1] == "2 to 4 deleted"
    decisions.record("rename", id=1, name="mug")
    for id, name in ((2, "table"), (2, "mug")):
        with pytest.raises(RequestError, match="choose another name"):
            decisions.record("rename", id=id, name=name)
    decisions.record("rename", id=1, name="mug")
    drawn = {"kind": "mask", "id": 1, "mask": encode_rle(np.ones(FRAME.depth.shape, bool)), "clicks": []}
    new = drawn | {"new": True}
    for message in (new, new, drawn, {"kind": "several", "decisions": [drawn, new]}):
        apply_decision(SimpleNamespace(project=project, decisions=decisions), message)  # type: ignore[arg-type]
    assert [decision.data["id"] for decision in project.active_decisions("mask")] == [5, 6, 1, 1, 7]


def test_a_round_without_a_rollout_is_reported_and_each_request_for_a_replay_has_its_own_serial(tmp_path, log):
    project = SimpleNamespace(
        rounds=lambda: (SimpleNamespace(number=2, program=Program("", "")),),
        program_in_current_names=lambda program: program,
        folder=tmp_path,
    )
    report = SimpleNamespace(crash="NameError", violation="")
    sandbox = SimpleNamespace(run=lambda *_, **__: (report, None))
    tasks = TaskGroup(log.mark_changed)
    replay = RoundReplay(project, lambda: sandbox, Cache(tmp_path, log, tasks), log)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="no longer exists"):
        replay.show(5)
    replay.show(2, instant=1.5)
    assert replay.request and replay.request.instant == 1.5 and replay.rollout() is None
    wait_until(lambda: not tasks, "the rollout")
    assert replay.request is None and "no rollout to replay: NameError" in log.take_notices()[0]
    replay.show(2)
    replay.arrange(2)
    assert replay.request and (replay.request.serial, replay.request.arranging) == (3, True)
    replay.hide()
    assert replay.request is None and replay.rollout() is None and not replay.loading


def test_the_log_changes_when_a_call_begins_or_ends_and_not_with_its_text(tmp_path: Path, log: EventLog):
    calls = ModelCalls(tmp_path / "trace.jsonl", log)
    watched = calls.watch()
    before = log.version
    call = watched.begin("span", Question("route", {}, dict))  # type: ignore[arg-type]
    began = log.version
    call.append("text")
    assert began > before and log.version == began and calls.in_flight() == (call,)
    watched.end(call)
    assert log.version > began and calls.in_flight() == () and calls.read() == ()


@pytest.mark.parametrize(("before_m", "after_m", "kept"), [(0.0, 0.03, False), (0.03, 0.0, True), (0.0, 0.0, True)])
def test_a_refit_is_kept_unless_outline_and_depth_agree_worse_than_before(tmp_path: Path, before_m, after_m, kept):
    box = make.placement(make.box(tmp_path), "box")

    def off(metres: float):
        pos = box.world_from_object.pos + np.array([metres, 0, 0])
        return make.scene(replace(box, world_from_object=Pose(pos, box.world_from_object.quat_wxyz)))

    frame, _, segments = make.photograph(make.scene(box))
    project = Project.create(tmp_path / "project", frame)
    project.save_segments(segments)
    write_scene(off(before_m), project.folder)
    project.finish("scene", project.key("scene"), "measured", 0.0)
    project.decide("refit", id=1)
    assert pending_refit(project) is None  # back to the automatic pose: a person's wish
    project.undo()
    project.decide("refit", id=1, free=True)
    refit = pending_refit(project)
    assert refit
    write_scene(off(after_m), project.folder)
    note = undo_if_worse(project, refit)
    assert bool(project.active_decisions("refit")) == kept == (not note)
    assert kept or note.startswith("box was not fitted again: ")
