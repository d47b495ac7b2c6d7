"""Background threads and jobs: how each ends, that those with one turn run one after another, and what a stop ends."""

import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from offline_studio import wait_until

from pipeline.errors import StudioError
from studio.accounts.roles import Role, RoleError, current_role
from studio.web import background
from studio.web.background import BackgroundTask, TaskGroup
from studio.web.jobs import LIST, Job, Listing


def test_an_error_reaches_the_handler_and_a_stop_wakes_the_work_and_ends_it():
    errors: list[Exception] = []
    task = background.start("failing", lambda _: 1 / 0, errors.append)
    task.join(10)
    assert not task.running and [type(error) for error in errors] == [ZeroDivisionError]
    wake = threading.Event()
    task = BackgroundTask("waiting", lambda _: wake.wait(), wake=wake.set).start()
    assert task.running and not task.stopping
    task.stop()
    task.join(10)
    assert task.stopping and not task.running


def test_closing_stops_and_joins_every_thread_but_waits_no_longer_than_its_timeout():
    tasks = [background.start("patient", lambda stop: stop.wait()) for _ in range(3)]
    background.close_all(timeout=10)
    assert not any(task.running for task in tasks)
    release = threading.Event()
    task = background.start("stubborn", lambda _: release.wait())
    background.close_all(timeout=0.01)
    assert task.running and task.stopping
    release.set()
    task.join(10)


def test_a_task_that_joins_itself_does_not_wait():
    joined, made = threading.Event(), threading.Event()
    task = BackgroundTask("itself", lambda _: [made.wait(10), task.join(), joined.set()]).start()
    made.set()
    assert joined.wait(10)


def test_a_group_starts_a_name_once_or_several_times_and_tells_when_it_has_ended():
    release, ended = threading.Event(), threading.Event()
    group, work = TaskGroup(ended.set), Mock(side_effect=release.wait)
    for _ in range(3):
        group.start_once("same", work, background.log_error)
    assert group and group.is_running("same")
    release.set()
    assert ended.wait(10) and work.call_count == 1 and not group
    both = threading.Barrier(2, timeout=10)
    errors: list[Exception] = []
    group = TaskGroup(lambda: None)
    for _ in range(2):
        group.start("same", both.wait, errors.append)
    wait_until(lambda: not group, "the end of both")
    assert not errors


ENDS: dict[str, tuple[Exception | None, bool, str, str]] = {
    "done": (None, False, "done", "first"),
    "failed": (StudioError("The file\nis empty."), False, "failed", "The file is empty."),
    "broken": (KeyError("secret"), False, "failed", "Something went wrong on our side (KeyError)."),
    "stopped": (None, True, "stopped", "first"),
    "fails when it is stopped": (StudioError("It was interrupted."), True, "stopped", "first"),
    "done before it is stopped": (None, True, "done", "first"),
}
"""What a job's work raises, whether it waits for a stop before, its last state, and how its line begins."""


@pytest.mark.parametrize("end", ENDS)
def test_a_job_ends_in_one_state_with_one_line_and_tells_then(end: str):
    error, stops, state, message = ENDS[end]
    seen: list[tuple[str, bool, int | None]] = []

    def work(job: Job[int]) -> None:
        job.state, job.result = "done" if end == "done before it is stopped" else job.state, 3
        if stops:
            job.stop_event.wait(10)
        if error:
            raise error

    tell = lambda one: seen.append((one.state, one.message.startswith(message), one.result))  # noqa: E731
    job = Job[int]("job", work, on_end=tell, message="first")
    assert job.state == "waiting" and job.is_active
    job.start()
    if stops:
        job.stop()
    job.join(20)
    assert seen == [(state, True, 3)]
    assert not job.is_active and "secret" not in job.message and "\n" not in job.message


def test_one_job_of_a_turn_runs_at_a_time_and_one_that_waits_can_be_stopped():
    turn, runs = threading.Lock(), list[str]()

    def wait(job: Job[None]) -> None:
        runs.append(job.name)
        job.stop_event.wait(10)

    first, second, third = (Job[None](name, wait, turn) for name in ("first", "second", "third"))
    first.start()
    wait_until(lambda: first.state == "running", "the first job")
    second.start()
    third.start()
    second.stop()
    wait_until(lambda: second.state == "stopped", "the end of the second")
    assert third.state == "waiting" and runs == ["first"]
    first.stop()
    wait_until(lambda: third.state == "running", "the third job")
    third.stop()
    third.join(20)
    assert runs == ["first", "third"] and not turn.locked()


def test_the_list_shows_who_may_see_a_job_how_far_it_is_and_how_it_ended_and_stops_it_for_those_who_may(tmp_path: Path):
    told = Mock()
    forget, sees = LIST.watch(told), lambda folder: folder == tmp_path
    job = Job[None]("job", lambda job: job.stop_event.wait(10), listing=Listing("test", lambda: "Test", tmp_path))
    listed = lambda sees=sees: [one for one in LIST.records(sees) if one["id"] == job.id]  # noqa: E731
    assert listed() == []
    job.start()
    job.done, job.of = 1, 2
    [record] = listed()
    assert not LIST.is_empty and (record["title"], record["project"], record["done"]) == ("Test", tmp_path.name, 1)
    assert listed(lambda folder: folder is None) == []
    LIST.stop(job.id, lambda folder: False)
    token = current_role.set(Role.LOOK)
    with pytest.raises(RoleError):
        LIST.stop(job.id, sees)
    current_role.reset(token)
    assert not job.stopping
    LIST.stop(job.id, sees)
    job.join(20)
    assert [(one["state"], one["stopping"]) for one in listed()] == [("stopped", True)]
    count = told.call_count
    forget()
    LIST.tell()
    assert told.call_count == count >= 3
