"""Trainings: each a process that is followed, stopped and says why it failed; one at a time, one for a project."""

import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from offline_studio import wait_until

from studio.batch import bounded_process
from studio.learn.trainings import Trainings
from studio.web.errors import RequestError

CHILD = """#!/bin/bash
echo '{"subtask": "reach", "steps": 10, "seconds": 2.0}'
echo "reach: $GRS_WORKSPACE, $OMP_NUM_THREADS thread"
while [ ! -e "%(folder)s/end" ]; do sleep 0.02; done
echo '{"doing": "measure"}'
[ ! -e "%(folder)s/broken" ] || { echo "grs-studio: the task has no goals" >&2; echo '{"doing": "seams"}'; exit 2; }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which "end" ends the trainings, and "broken" lets them fail."""
    script = tmp_path / "child"
    script.write_text(CHILD % {"folder": tmp_path})
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(bounded_process, "sys", SimpleNamespace(executable=str(script)))
    return tmp_path


def test_a_training_tells_how_far_it_is_and_others_wait_for_it_and_can_be_stopped(folder: Path):
    trainings = Trainings()
    first = trainings.start(folder / "a", "train", [], "reach", limit=30, workspace=Path("/w"))
    wait_until(lambda: bool(first.message), "the first line")
    assert (first.progress["steps"], first.seconds_left, first.message) == (10, 4.0, "reach: /w, 1 thread")
    with pytest.raises(RequestError, match="being trained"):
        trainings.start(folder / "a", "evaluate", [])
    second = trainings.start(folder / "b", "train", [])
    trainings.stop(folder / "b")
    wait_until(lambda: not second.is_active, "the end of the second")
    assert (second.state, second.message, second.progress) == ("stopped", "", {}) and first.state == "running"
    trainings.stop(folder / "a")
    wait_until(lambda: not first.is_active, "the end of the first")
    assert (first.state, first.message) == ("stopped", "")


@pytest.mark.parametrize(("broken", "ended"), [(False, ("done", "")), (True, ("failed", "the task has no goals"))])
def test_a_training_that_ends_says_why_if_it_failed(folder: Path, broken: bool, ended: tuple[str, str]):
    for name in ("end", "broken")[: 1 + broken]:
        (folder / name).touch()
    trainings = Trainings()
    training = trainings.start(folder / "a", "train", [])
    wait_until(lambda: not training.is_active, "the end")
    assert (training.state, training.message) == ended and trainings.of(folder / "a") is training
    assert training.progress["doing"] == ("seams" if broken else "measure")
