"""When the Task page may start to try the proposed tasks."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from offline_studio import FRAME, offline_services, wait_until

from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.run import Progress
from studio.sessions.session import Session
from studio.task import proposals
from studio.task.proposals import rehearse_proposals, task_cards


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of a project without a twin."""
    session = Session(Project.create(tmp_path / "project", FRAME), offline_services())
    yield session
    session.close()


def offer(session: Session) -> str:
    return task_cards(session)["offer"]


def test_trials_are_offered_anew_when_other_work_has_ended_and_not_while_it_runs(session: Session):
    def steps(stop: threading.Event) -> Iterator[Progress]:
        stop.wait(10)
        yield Progress("scene", "placing")

    first = offer(session)
    session.runner.start(steps, "scene")
    assert first and offer(session) == ""
    rehearse_proposals(session)  # a page asked before it knew of the work: refused, and offered again afterwards
    assert not session.rehearsing
    session.runner.stop()
    wait_until(lambda: session.runner.current is None, "the end of the work")
    assert offer(session) not in ("", first)


@pytest.mark.parametrize("error", [None, StudioError("The sandbox does not start.")])
def test_trials_that_end_are_offered_anew_but_not_those_that_end_with_an_error(session, monkeypatch, error):
    task = SimpleNamespace(instruction="Lift the mug.")
    untried = [task]

    def rehearse(*_: object) -> None:
        if error:
            raise error
        untried.clear()

    monkeypatch.setattr(proposals, "_untried", lambda _: list(untried))
    monkeypatch.setattr(proposals, "rehearse", rehearse)
    first = offer(session)
    rehearse_proposals(session)
    wait_until(lambda: not session.rehearsing, "the end of the trials")
    assert (offer(session) == first) is bool(error)


def test_another_robot_is_a_new_offer(session: Session):
    first = offer(session)
    session.project.decide("robot", name="arm")
    assert offer(session) not in ("", first)
