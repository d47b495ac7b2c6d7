"""Which failed conditions the Task page lists, and which of them can be watched."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from offline_studio import FRAME, offline_services

from pipeline.project import Project
from pipeline.variation import Condition, Outcome, Start
from pipeline.variation import variation_files as files
from studio.server.errors import RequestError
from studio.sessions.session import Session
from studio.sessions.watched_condition import FOLDER
from studio.task.failed_conditions import condition_record, watch

COUNT, SOLVED = range(10), 5
DAMAGED = ["{", "[]", "{}", '{"robot": "arm", "success": {}, "effects": [], "failures": [{}]}']


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A session of a project with a study of ten conditions: those with a light mug were solved."""
    session = Session(Project.create(tmp_path / "project", FRAME), offline_services())
    folder = session.project.folder / FOLDER / "arm"
    starts = [Start(Condition(f"0-000{i}", {"mug.mass": 0.1 * i, "mug.x": 0.0}), "digest") for i in COUNT]
    outcomes = {f"0-000{i}": Outcome(f"0-000{i}", i < SOLVED, 1.0 if i < SOLVED else 0.5, "dropped") for i in COUNT}
    files.write_conditions(starts, folder)
    conditions = files.read_conditions(folder)
    files.write_variation(files.summarise(conditions, outcomes, "arm"), conditions, folder)
    yield session
    session.close()


def test_the_conditions_that_failed_are_listed_with_what_they_were(session: Session):
    (study,) = condition_record(session)["studies"]
    assert [row["id"] for row in study["failures"]] == [f"0-000{i}" for i in COUNT[SOLVED:]]
    assert (study["success"]["successes"], study["success"]["count"]) == (SOLVED, len(COUNT))
    masses = [row["values"][study["factors"].index("mug.mass")] for row in study["failures"]]
    assert masses == [0.1 * i for i in COUNT[SOLVED:]]


def test_only_a_listed_condition_is_watched(session: Session):
    watch(session, {"study": "arm", "id": "0-0007"})
    assert condition_record(session)["watched"] == {"study": "arm", "id": "0-0007"}
    watch(session, {})
    assert condition_record(session)["watched"] is None
    for message in ({"study": "arm", "id": "0-0000"}, {"study": "../arm", "id": "0-0007"}, {"id": "0-0007"}):
        with pytest.raises(RequestError, match="no longer there"):
            watch(session, message)
        assert session.watched is None


@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_study_is_left_out_and_named(session: Session, content: str):
    (session.project.folder / FOLDER / "arm" / "variation.json").write_text(content)
    assert condition_record(session)["studies"] == []
    assert "variations/arm cannot be read" in session.log.lines[-1].text
