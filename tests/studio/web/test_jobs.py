"""Jobs: how each ends, that those with one turn run one after another, and that a stop ends what waits."""

import threading
from collections.abc import Callable

import pytest
from offline_studio import wait_until

from pipeline.errors import StudioError
from studio.web.jobs import Job


def made(job: Job[int]) -> None:
    job.result = 3


def fails(job: Job[int]) -> None:
    raise StudioError("The file\nis empty.")


def breaks(job: Job[int]) -> None:
    raise KeyError("secret")


def waits_for_the_stop(job: Job[int]) -> None:
    job.stop_event.wait(10)


def fails_when_it_is_stopped(job: Job[int]) -> None:
    job.stop_event.wait(10)
    raise StudioError("It was interrupted.")


def is_done_before_it_ends(job: Job[int]) -> None:
    job.state = "done"
    job.stop_event.wait(10)


@pytest.mark.parametrize(
    ("work", "stops", "state", "message"),
    [
        (made, False, "done", "first"),
        (fails, False, "failed", "The file is empty."),
        (breaks, False, "failed", "Something went wrong on our side (KeyError)."),
        (waits_for_the_stop, True, "stopped", "first"),
        (fails_when_it_is_stopped, True, "stopped", "first"),
        (is_done_before_it_ends, True, "done", "first"),
    ],
)
def test_a_job_ends_in_one_state_with_one_line_and_tells_then(
    work: Callable[[Job[int]], None], stops: bool, state: str, message: str
):
    seen: list[tuple[str, str, int | None]] = []
    job = Job[int]("job", work, on_end=lambda one: seen.append((one.state, one.message, one.result)), message="first")
    assert job.state == "waiting" and job.is_active
    job.start()
    if stops:
        job.stop()
    job.join(20)
    assert [(ended, line.startswith(message), result) for ended, line, result in seen] == [
        (state, True, 3 if work is made else None)
    ]
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
