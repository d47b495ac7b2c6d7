"""What the Task and Learn pages list: failed conditions, trials, subtasks, changed lines; one training at a time."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_studio import FRAME, offline_services, wait_until

from pipeline.errors import StudioError
from pipeline.object_words import ObjectWords
from pipeline.project import Project
from pipeline.run import Progress
from pipeline.variation import Condition, Outcome, VariedStart
from pipeline.variation import variation_files as files
from studio.batch import bounded_process
from studio.learn.reward_words import subtask_title
from studio.learn.trainings import Trainings
from studio.records.text_diff import diff_rows
from studio.sessions.session import Session
from studio.sessions.watched_condition import FOLDER
from studio.task import proposals
from studio.task.failed_conditions import condition_record, watch
from studio.task.proposals import rehearse_proposals, task_cards
from studio.texts import current_language
from studio.web.errors import RequestError

COUNT, SOLVED = range(10), 5


@pytest.fixture
def studied(session: Session) -> Session:
    """A session of a project with a study of ten conditions: those with a light mug were solved."""
    folder = session.project.folder / FOLDER / "arm"
    starts = [VariedStart(Condition(f"0-000{i}", {"mug.mass": 0.1 * i, "mug.x": 0.0}), "digest") for i in COUNT]
    outcomes = {f"0-000{i}": Outcome(f"0-000{i}", i < SOLVED, 1.0 if i < SOLVED else 0.5, "dropped") for i in COUNT}
    files.write_conditions(starts, folder)
    conditions = files.read_conditions(folder)
    files.write_variation(files.summarise(conditions, outcomes, "arm"), conditions, folder)
    return session


def test_failed_conditions_are_listed_only_these_are_watched_and_a_damaged_study_is_left_out(studied: Session):
    (study,) = condition_record(studied)["studies"]
    assert [row["id"] for row in study["failures"]] == [f"0-000{i}" for i in COUNT[SOLVED:]]
    assert (study["success"]["successes"], study["success"]["count"]) == (SOLVED, len(COUNT))
    masses = [row["values"][study["factors"].index("mug.mass")] for row in study["failures"]]
    assert masses == [0.1 * i for i in COUNT[SOLVED:]]
    watch(studied, {"study": "arm", "id": "0-0007"})
    assert condition_record(studied)["watched"] == {"study": "arm", "id": "0-0007"}
    watch(studied, {})
    assert condition_record(studied)["watched"] is None
    for message in ({"study": "arm", "id": "0-0000"}, {"study": "../arm", "id": "0-0007"}, {"id": "0-0007"}):
        with pytest.raises(RequestError, match="no longer there"):
            watch(studied, message)
        assert studied.watched is None
    for content in ("{", "[]", "{}", '{"robot": "arm", "success": {}, "effects": [], "failures": [{}]}'):
        (studied.project.folder / FOLDER / "arm" / "variation.json").write_text(content)
        assert condition_record(studied)["studies"] == []
        assert "variations/arm cannot be read" in studied.log.lines[-1].text


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of a project without a twin."""
    session = Session(Project.create(tmp_path / "project", FRAME), offline_services())
    yield session
    session.close()


def offer(session: Session) -> str:
    return task_cards(session)["offer"]


def test_trials_are_offered_anew_when_other_work_has_ended_and_for_another_robot(session: Session):
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
    first = offer(session)
    session.project.decide("robot", name="arm")
    assert offer(session) not in ("", first)


@pytest.mark.parametrize("error", [None, StudioError("The sandbox does not start.")])
def test_trials_that_end_are_offered_anew_but_not_those_that_end_with_an_error(session, monkeypatch, error):
    untried = [SimpleNamespace(instruction="Lift the mug.")]
    monkeypatch.setattr(proposals, "_untried", lambda _: list(untried))
    monkeypatch.setattr(proposals, "rehearse", Mock(side_effect=error or (lambda *_: untried.clear())))
    first = offer(session)
    rehearse_proposals(session)
    wait_until(lambda: not session.rehearsing, "the end of the trials")
    assert (offer(session) == first) is bool(error)


WORDS = ObjectWords({"cube": "red cube", "mug": "mug"}, {"mug": "Grandma's mug"})


def test_a_title_begins_with_the_verb_and_calls_the_object_as_people_do():
    titles = {"reach_cube": "Reach the red cube", "pick_mug": "Pick Grandma's mug", "stir": "Stir"}
    titles |= {"open_left_drawer": "Open left drawer", "turn_cube": "Turn the red cube"}
    assert {name: subtask_title(name, WORDS) for name in titles} == titles
    current_language.set("de")
    assert subtask_title("push_mug", WORDS) == "Schieben: Grandma's mug"


LINES = st.lists(st.sampled_from(["a = 1", "b = 2", "", "return c"]), max_size=12)


@given(LINES, LINES)
def test_a_diff_with_full_context_contains_both_texts(left: list[str], right: list[str]):
    rows = [row for row in diff_rows(left, right, context=99) if row[0] != "gap"]
    if left != right:
        assert [row[2] for row in rows if row[1] is not None] == left
        assert [row[4] for row in rows if row[3] is not None] == right


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
    script.chmod(0o755)
    monkeypatch.setattr(bounded_process, "sys", SimpleNamespace(executable=str(script)))
    return tmp_path


def test_a_training_tells_how_far_it_is_and_others_wait_for_it_and_can_be_stopped(folder: Path):
    trainings = Trainings()
    first = trainings.start(folder / "a", "train", [], "reach", limit=30, workspace=Path("/w"))
    wait_until(lambda: bool(first.message), "the first line")
    assert (first.progress["steps"], first.seconds_left, first.message) == (10, 4.0, "reach: /w, 1 thread")
    with pytest.raises(RequestError, match="at work on that already"):
        trainings.start(folder / "a", "evaluate", [])
    second = trainings.start(folder / "b", "train", [])
    second.stop()
    wait_until(lambda: not second.is_active, "the end of the second")
    assert (second.state, second.message, second.progress) == ("stopped", "", {}) and first.state == "running"
    first.stop()
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
