"""Each decision is kept and shown with the login of the person who made it."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from offline_studio import offline_services, wait_until
from page_client import open_page
from people import FRAME, logged_in

from pipeline.decisions import UNNAMED, read_log
from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.run import Progress
from studio.accounts.user_file import UserFile
from studio.server.current_user import current_user
from studio.sessions.session import Session
from studio.task.results_record import _decision_records, results_record

NAMED = {"kind": "display_name", "id": 1, "name": "cup"}


def authors(folder: Path) -> list[tuple[str, str]]:
    return [(decision.kind, decision.by) for decision in read_log(folder / "decisions.jsonl")]


async def test_every_decision_undo_and_redo_names_its_person(studio: SimpleNamespace):
    for user, name, event in (
        ("wanda", "mask-canvas", "decide"), ("ada", "top-bar", "undo"), ("will", "top-bar", "redo"),
    ):  # fmt: skip
        async with logged_in(studio, user) as http, open_page(http, "one") as page:
            for sent in (await page.send("top-bar", "take_over"), await page.send(name, event, NAMED)):
                await page.wait(lambda page=page, sent=sent: sent in page.completed)
            provenance = page.values["results"]["decisions"]
            assert provenance[0]["by"] == user
            assert any(line["by"] == user for line in page.values["status-bar"]["log"])
    assert authors(studio.workspace / "one") == [("display_name", "wanda"), ("undo", "ada"), ("redo", "will")]


def test_what_a_person_starts_is_theirs_in_the_threads_that_do_it(tmp_path: Path):
    project = Project.create(tmp_path / "one", FRAME)
    session = Session(project, offline_services())
    current_user.set("ada")

    def work(_: object) -> Iterator[Progress]:
        project.decide("accept", stage="segments")
        yield Progress("segments", "decided", 1, 1)

    session._start(work, "segments")
    current_user.set("someone else")
    wait_until(lambda: session.idle, "the end of the work")
    assert authors(project.folder) == [("accept", "ada")]


def test_without_logins_a_decision_is_of_a_human_and_provenance_says_so(tmp_path: Path):
    project = Project.create(tmp_path / "one", FRAME)
    project.decide("accept", stage="segments")
    assert json.loads((project.folder / "decisions.jsonl").read_text())["by"] == UNNAMED
    session = SimpleNamespace(project=project)
    (record,) = _decision_records(session)  # type: ignore[arg-type]
    assert record["by"] == "not logged in" and results_record(None) == {}


def test_no_user_can_be_called_what_unnamed_people_are(tmp_path: Path):
    for name in (UNNAMED, UNNAMED.upper()):
        with pytest.raises(StudioError, match="cannot name"):
            UserFile(tmp_path / "users.json").add(name, "work", "a long sentence")
