"""People on one project: one edits, the others look until they take over, and each decision keeps its author."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from offline_studio import offline_services, wait_until
from page_client import open_page
from people import FRAME, logged_in

from pipeline.decisions import UNNAMED, read_log
from pipeline.project import Project
from pipeline.run import Progress
from studio.accounts.current_user import current_user
from studio.accounts.presence import GRACE_SECONDS, Presence
from studio.review.results_record import _decision_records, results_record
from studio.sessions.editor import Editor
from studio.sessions.session import Session
from studio.web.errors import RequestError
from studio.web.gradio_internals import gradio_app


def rename(name: str) -> dict:
    return {"kind": "display_name", "id": 1, "name": name}


def decided(folder: Path) -> list[tuple[str, str]]:
    log = read_log(folder / "decisions.jsonl")
    return [(decision.by, decision.data["name"]) for decision in log if decision.kind == "display_name"]


async def test_the_first_who_works_edits_and_the_second_sees_it_and_takes_over(studio: SimpleNamespace):
    folder = studio.workspace / "one"
    clients = logged_in(studio, "wanda"), logged_in(studio, "will")
    async with clients[0] as w, clients[1] as b, open_page(w, "one") as wanda, open_page(b, "one") as will:
        assert will.values["top-bar"]["editor"] == "wanda"
        await wanda.act("mask-canvas", "decide", rename("cup"))
        await will.act("mask-canvas", "decide", rename("mug"))
        assert decided(folder) == [("wanda", "cup")]
        canvas = {"token": will.values["mask-canvas"]["token"], "kind": "import", "data": "{}"}
        assert "wanda is editing" in (await will.ask("mask-canvas", canvas))["error"]
        await will.act("top-bar", "take_over")
        assert will.values["top-bar"]["editor"] == "will"
        await will.act("mask-canvas", "decide", rename("mug"))
        await wanda.act("mask-canvas", "decide", rename("glass"))
        assert decided(folder) == [("wanda", "cup"), ("will", "mug")]
        assert wanda.values["top-bar"]["editor"] == "will"
        await will.act("top-bar", "home")
        await wanda.act("mask-canvas", "decide", rename("glass"))
        assert decided(folder)[-1] == ("wanda", "glass"), "who leaves lets the others edit"


async def test_every_event_that_edits_is_refused_while_another_person_edits(studio: SimpleNamespace, monkeypatch):
    asked: list[str] = []

    def refuse(_: Editor) -> None:
        asked.append("")
        raise RequestError("wanda is editing this project.")

    async with logged_in(studio, "will") as http, open_page(http, "two") as will:
        actions = gradio_app(studio.app).get_blocks().actions
        events = [names for names, action in actions.items() if action.edits]
        assert len(events) > 20
        monkeypatch.setattr(Editor, "require", refuse)
        for names in events:
            asked.clear()
            await will.send(*names)
            assert asked, names


def test_two_pages_of_one_person_both_edit_until_they_are_closed_and_without_logins_every_page_does():
    editor = Editor()
    for _ in range(2):
        current_user.set("ada")
        editor.require()
    current_user.set("bob")
    with pytest.raises(RequestError, match="ada is editing"):
        editor.require()
    current_user.set("")
    editor = Editor()
    editor.require()
    assert editor.name == ""
    now = [0.0]
    presence = Presence(lambda: now[0])
    editor = Editor(presence.is_present)
    presence.enter("ada")
    presence.enter("ada")
    current_user.set("ada")
    editor.require()
    presence.leave("ada")
    assert editor.name == "ada", "another page of hers is open"
    presence.leave("ada")
    assert editor.name == "ada", "she may be loading the page again"
    now[0] += GRACE_SECONDS
    assert editor.name == ""
    current_user.set("bob")
    editor.require()
    presence.enter("bob")
    assert editor.name == "bob"
    assert not presence.is_present("nobody")


def authors(folder: Path) -> list[tuple[str, str]]:
    return [(decision.kind, decision.by) for decision in read_log(folder / "decisions.jsonl")]


async def test_every_decision_undo_and_redo_names_its_person(studio: SimpleNamespace):
    for user, name, event in (
        ("wanda", "mask-canvas", "decide"), ("ada", "top-bar", "undo"), ("will", "top-bar", "redo"),
    ):  # fmt: skip
        async with logged_in(studio, user) as http, open_page(http, "two") as page:
            await page.act("top-bar", "take_over")
            await page.act(name, event, rename("cup"))
            decided = lambda page=page: page.values["results"].get("decisions", ())  # noqa: E731
            await page.wait(lambda decided=decided, user=user: [one["by"] for one in decided()[:1]] == [user])
            assert any(line["by"] == user for line in page.values["status-bar"]["log"])
    assert authors(studio.workspace / "two") == [("display_name", "wanda"), ("undo", "ada"), ("redo", "will")]


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
