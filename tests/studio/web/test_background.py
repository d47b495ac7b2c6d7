"""Background threads: errors reach a handler, a stop ends the work, and closing joins all threads."""

import threading

from offline_studio import wait_until

from studio.web import background
from studio.web.background import BackgroundTask, TaskGroup


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
    joined = threading.Event()
    tasks: list[BackgroundTask] = []

    def work(_: threading.Event) -> None:
        wait_until(lambda: bool(tasks), "the task")
        tasks[0].join()
        joined.set()

    tasks.append(BackgroundTask("itself", work).start())
    assert joined.wait(10)


def test_a_group_starts_a_name_once_or_several_times_and_tells_when_it_has_ended():
    release, ended = threading.Event(), threading.Event()
    runs: list[int] = []
    group = TaskGroup(ended.set)

    def work() -> None:
        runs.append(1)
        release.wait()

    for _ in range(3):
        group.start_once("same", work, background.log_error)
    assert group and group.is_running("same")
    release.set()
    assert ended.wait(10) and runs == [1] and not group
    both = threading.Barrier(2, timeout=10)
    errors: list[Exception] = []
    group = TaskGroup(lambda: None)
    for _ in range(2):
        group.start("same", both.wait, errors.append)
    wait_until(lambda: not group, "the end of both")
    assert not errors
