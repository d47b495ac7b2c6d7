"""People on one project, who edit one after the other, and visitors by a link, who see that project and no other."""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from offline_studio import FRAME, offline_services, wait_until
from page_client import connect, open_page
from people import content, logged_in, open_view, studio_with_people, view_socket
from websockets.exceptions import InvalidStatus

from pipeline.decisions import UNNAMED, read_log
from pipeline.errors import StudioError
from pipeline.project import Project
from pipeline.run import Progress
from studio.accounts.current_user import current_user
from studio.accounts.links import LONGEST_DAYS, LinkError, Links
from studio.accounts.presence import GRACE_SECONDS, Presence
from studio.board.board import Board
from studio.review.results_record import _decision_records, results_record
from studio.sessions.editor import Editor
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.web.access import Access
from studio.web.errors import RequestError


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
        actions = studio.app.state.page.actions
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


def test_what_a_person_starts_is_theirs_in_its_threads_and_without_logins_a_decision_is_of_a_human(tmp_path: Path):
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
    current_user.set("")
    project = Project.create(tmp_path / "two", FRAME)
    project.decide("accept", stage="segments")
    assert json.loads((project.folder / "decisions.jsonl").read_text())["by"] == UNNAMED
    (record,) = _decision_records(SimpleNamespace(project=project))  # type: ignore[arg-type]
    assert record["by"] == "not logged in" and results_record(None) == {}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    workspace = tmp_path_factory.mktemp("workspace")
    with studio_with_people(workspace, links=Links(workspace)) as running:
        running.links = Links(workspace)
        yield running


async def test_a_person_who_works_makes_a_link_and_a_visitor_sees_that_project(studio: SimpleNamespace):
    async with logged_in(studio, "wanda") as wanda, open_page(wanda, "one") as page:
        request = {"token": page.values["results"]["token"], "kind": "share", "days": 7}
        made = await page.ask("results", request)
        assert page.values["results"]["shares"] and [link["by"] for link in made["links"]] == ["wanda"]
        assert made["token"] not in (studio.workspace / ".links.json").read_text()
        await page.wait(lambda: not page.values["status-bar"]["running"])
        before = content(studio.workspace / "one")
        async with connect(studio.address) as http:
            answer = await http.get(f"/link/{made['token']}")
            assert answer.status_code == 303 and answer.headers["location"] == "../?project=one"
            cookies = answer.headers.get_list("set-cookie")
            assert cookies and all("HttpOnly" in one and "SameSite=lax" in one for one in cookies)
            async with open_page(http, "one") as visitor:
                assert visitor.values["top-bar"]["project"] == "one"
                assert (await http.get("/account.json")).json()["role"] == "visit"
                token = visitor.values["mask-canvas"]["token"]
                for name in ("colour.jpg", "depth.bin", "cloud.bin", "export/zip"):
                    assert (await http.get(f"/project/{token}/{name}")).status_code == 200, name
                assert (await http.get("/thumbnail/project/one")).status_code == 200
        assert content(studio.workspace / "one") == before


async def test_a_visitor_reaches_nothing_of_another_project_and_a_person_with_a_login_keeps_it(studio: SimpleNamespace):
    _, token = studio.links.create(studio.workspace / "one", 1, "wanda")
    async with logged_in(studio, "wanda") as wanda, open_page(wanda, "two") as page, connect(studio.address) as http:
        other = page.values["mask-canvas"]["token"]
        assert (await http.get(f"/link/{token}", follow_redirects=True)).status_code == 200
        for path in (
            f"/project/{other}/colour.jpg", "/thumbnail/project/two",
            "/thumbnail/sample/blocks", "/library/x.jpg", "/thumbnail/project/..", "/gradio_api/file=/etc/passwd",
            f"/gradio_api/file={studio.workspace}/two/frame/rgb.png", "/gradio_api/upload_progress?upload_id=x",
        ):  # fmt: skip
            assert (await http.get(path)).status_code in (403, 404), path
        for address in ("two", "", "..", "one/../two"):
            async with open_page(http, address) as visitor:
                assert visitor.values["top-bar"]["project"] == "one", address
                text = json.dumps(visitor.values)
                assert other not in text and '"two"' not in text
                assert not visitor.values.get("gallery") and not visitor.values.get("models-panel")
                answer = await visitor.ask("mask-canvas", {"token": other, "kind": "status"})
                assert "no longer open" in answer["error"]
                answer = await visitor.ask("gallery", {"token": other, "kind": "find"})
                assert "needs the role" in answer["error"]
        await page.set_widgets()  # by which the stream becomes hers
        stream = f"/gradio_api/queue/data?session_hash={page.session_hash}"
        assert (await http.get(stream)).status_code == 403
    async with logged_in(studio, "will") as http:
        await http.get(f"/link/{token}", follow_redirects=True)
        account = (await http.get("/account.json")).json()
        assert (account["user"], account["role"]) == ("will", "work")


async def test_visitors_who_watch_in_many_pages_keep_nobody_from_the_viewer(studio: SimpleNamespace):
    view = open_view(studio, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    _, token = studio.links.create(studio.workspace / "one", 1, "wanda")

    async with connect(studio.address) as visitor, logged_in(studio, "wanda") as wanda, AsyncExitStack() as sockets:
        await visitor.get(f"/link/{token}", follow_redirects=True)

        async def watches(http: httpx.AsyncClient) -> bool:
            try:
                await sockets.enter_async_context(view_socket(studio, http, view))
            except InvalidStatus:
                return False
            return True

        assert [await watches(visitor) for _ in range(9)] == [True] * 4 + [False] * 5
        assert [await watches(wanda) for _ in range(9)] == [True] * 8 + [False]


@pytest.mark.parametrize("end", ["moved away", "deleted and restored", "duplicated"])
def test_a_link_shows_its_own_project_and_no_other_that_has_its_folder(end: str, tmp_path: Path):
    links, folder = Links(tmp_path), tmp_path / "one"
    Project.create(folder, FRAME).close()
    _, token = links.create(folder, 1, "wanda")
    board = Board(SessionRegistry(tmp_path, offline_services()), links)
    if end == "moved away":
        folder.rename(tmp_path / "other")
        Project.create(folder, FRAME).close()
    elif end == "deleted and restored":
        id, _ = board.delete(["one"])
        assert links.find(token) is None
        board.undo(id)
    else:
        copy = board.duplicate(["one"])[1].names[0]
        assert links.find(token), "the original's link holds"
        folder.rename(tmp_path / "other")
        (tmp_path / copy).rename(folder)
    assert folder.is_dir() and links.find(token) is None and links.of_project(folder) == []


@pytest.mark.parametrize("end", ["revoked", "expired", "file damaged"])
async def test_a_link_that_ended_ends_its_visits_at_once(end: str, studio: SimpleNamespace):
    links = studio.links
    link, token = links.create(studio.workspace / "one", 1, "wanda")
    kept = links._file.path.read_text()
    async with connect(studio.address) as http, connect(studio.address) as late:
        assert (await http.get(f"/link/{token}", follow_redirects=True)).status_code == 200
        assert (await http.get("/config")).status_code == 200
        if end == "revoked":
            links.revoke(link.id, studio.workspace / "one")
        else:
            changed = json.loads(kept)
            changed["links"][-1]["expires"] = time.time() - 1
            links._file.path.write_text(json.dumps(changed) if end == "expired" else "{")
        assert (await http.get("/config")).status_code == 401
        page = (await http.get("/", params={"project": "one"}, follow_redirects=True)).text
        assert 'name="password"' in page and "has expired or was revoked" in page
        first = (await late.get("/", follow_redirects=True)).text
        assert 'name="password"' in first and "was revoked" not in first
        answer = await late.get(f"/link/{token}")
        assert answer.status_code == 404 and "expired" in answer.text and "set-cookie" not in answer.headers
        links._file.path.write_text(kept)


@pytest.mark.parametrize("guess", ["", "x", "link:1", "../account.json", "a" * 3000, "%00", "é"])
async def test_a_guessed_link_opens_nothing(guess: str, studio: SimpleNamespace):
    async with connect(studio.address) as http:
        answer = await http.get(f"/link/{guess}")
        assert answer.status_code in (401, 403, 404) and "set-cookie" not in answer.headers
        login = await http.post("/login", data={"username": "link:1", "password": "password"})
        assert login.status_code in (400, 429)


def test_only_links_that_hold_are_listed_and_they_survive_a_restart(tmp_path: Path):
    for folder in ("a", "users/ada/b"):
        Project.create(tmp_path / folder, FRAME).close()
    now = [1000.0]
    links = Links(tmp_path, lambda: now[0])
    for days in (0, -1, LONGEST_DAYS + 1, float("nan")):
        with pytest.raises(LinkError, match="up to"):
            links.create(tmp_path / "a", days, "ada")
    short, _ = links.create(tmp_path / "a", 1, "ada")
    long, token = links.create(tmp_path / "a", 30, "ada")
    other, _ = links.create(tmp_path / "users" / "ada" / "b", 30, "ada")
    assert [one.id for one in links.of_project(tmp_path / "a")] == [short.id, long.id]
    now[0] += 2 * 86400
    again = Links(tmp_path, lambda: now[0])
    assert again.of_project(tmp_path / "a") == [long] and again.find(token) == long
    assert again.of_visitor(f"link:{short.id}") is None and again.of_visitor(long.id) is None
    with pytest.raises(LinkError):
        again.revoke(other.id, tmp_path / "a")
    assert again.folder(other) == tmp_path / "users" / "ada" / "b"
    access = Access({"ada": "secret"})
    assert access.role_of(f"link:{secrets.token_hex(6)}") is None


@pytest.mark.parametrize("project", ["..", "../x", "/etc", "a/../..", "", "."])
def test_a_damaged_file_of_links_opens_nothing(project: str, tmp_path: Path):
    links = Links(tmp_path)
    Project.create(tmp_path / "a", FRAME).close()
    link, token = links.create(tmp_path / "a", 1, "ada")
    path = tmp_path / ".links.json"
    path.write_text(path.read_text().replace('"project": "a"', f'"project": "{project}"'))
    assert links.find(token) is None and links.of_visitor(f"link:{link.id}") is None
    with pytest.raises(StudioError):
        links.of_project(tmp_path / "a")
