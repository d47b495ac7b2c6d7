"""The law of roles and of requests: nothing runs for a person whose role does not permit it, people who look change
nothing, and whatever a page sends is answered in one line and reaches nothing but what is listed.
"""

import itertools
import json
import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import gradio as gr
import httpx
import mujoco
import pytest
from async_calls import run_async
from fastapi.routing import APIWebSocketRoute
from page_client import open_page
from people import FRAME, PASSWORD, PEOPLE, content, logged_in, open_view, view_socket
from websockets.exceptions import ConnectionClosed

from components.component import Component
from pipeline.errors import StudioError
from pipeline.project import Project
from studio.accounts.roles import Role, RoleError, current_role
from studio.board.batches import Batches
from studio.board.board import Board
from studio.sessions.session_registry import SessionRegistry
from studio.viewer import ViewSession, commands
from studio.web.account_routes import refusals
from studio.web.endpoints import Endpoint
from studio.web.page_guard import needed_role


async def test_who_works_after_a_looker_has_the_project_prepared(studio: SimpleNamespace):
    async with logged_in(studio, "lou") as lou, logged_in(studio, "wanda") as wanda, open_page(lou, "two"):
        assert not (studio.workspace / "two" / "segments").exists()
        async with open_page(wanda, "two") as page:
            await page.wait(lambda: (studio.workspace / "two" / "segments" / "masks.png").exists())


def test_behind_the_page_nothing_is_changed_for_a_looker_either(studio: SimpleNamespace):
    app_sessions = SessionRegistry(studio.workspace, SimpleNamespace(segmenter=None, model=None, send="ask"))  # type: ignore[arg-type]
    current_role.set(Role.LOOK)
    session = app_sessions.open("one")
    changes = (
        lambda: session.decisions.record("accept", stage="segments"),
        session.decisions.undo,
        session.decisions.redo,
        lambda: session.solve("gripper"),
        lambda: session.pin(0),
        lambda: app_sessions.create(lambda folder: Project.create(folder, FRAME), "new"),
        lambda: Batches(app_sessions).start([], "frame", ""),
        lambda: Board(app_sessions).delete(["one"]),
        lambda: Board(app_sessions).judge(["one"], "accepted", ""),
        lambda: Board(app_sessions).duplicate(["one"]),
        lambda: Board(app_sessions).rename("one", "x"),
    )
    before = sorted(path.name for path in studio.workspace.iterdir())
    for change in changes:
        with pytest.raises(StudioError) as raised:
            change()
        assert isinstance(raised.value, RoleError) or "no program" in str(raised.value)
    assert sorted(path.name for path in studio.workspace.iterdir()) == before


async def test_roles_and_logins_that_are_taken_away_end_at_once_and_a_wrong_name_is_as_a_wrong_password(studio):
    upload, kept = {"files": ("a.png", b"x")}, studio.users.path.read_text()
    studio.users.add("temp", "work", PASSWORD)
    async with logged_in(studio, "temp") as http:
        assert (await http.post("/gradio_api/upload", files=upload)).status_code == 200
        studio.users.path.write_text(studio.users.path.read_text().replace('"role": "work"', '"role": "look"'))
        assert (await http.post("/gradio_api/upload", files=upload)).status_code == 403
        studio.users.remove("temp")
        assert (await http.get("/config")).status_code == 401
        studio.users.add("temp", "look", PASSWORD)
        assert (await http.get("/config")).status_code == 401, "an old cookie is not of the new user"
        for name in ("ada", "eve", "link:1", "../ada"):
            answer = await http.post("/login", data={"username": name, "password": "wrong password"})
            assert (answer.status_code, answer.json()) == (400, {"detail": "Incorrect credentials."})
    studio.users.path.write_text(kept)


async def test_an_open_socket_ends_with_its_login(studio: SimpleNamespace):
    view = open_view(studio, "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    studio.users.add("temp", "look", PASSWORD)
    async with logged_in(studio, "temp") as http, view_socket(studio, http, view) as socket:
        await socket.recv()
        await socket.send('{"op": "push", "body": 1, "point": [0, 0, 0], "target": [1, 0, 0]}')
        while "this needs the role" not in str(await socket.recv()):
            pass
        studio.users.remove("temp")
        await socket.send('{"op": "play"}')
        with pytest.raises(ConnectionClosed):
            while True:
                await socket.recv()


BELOW_WORK = {
    # they open, follow or draw what is there
    ("widgets", "refresh"), ("widgets", "translate"), ("top-bar", "home"), ("gallery", "open"),
    ("review-queue", "home"),
    ("mask-canvas", "changed"), ("library", "changed"), ("models-panel", "changed"), ("trace-view", "changed"),
    ("learn", "changed"),
    ("round-timeline", "play"), ("round-timeline", "close_replay"), ("round-timeline", "compare"),
    ("condition-table", "watch"), ("round-timeline", "autoplay"),
    ("round-timeline", "chart"), ("round-timeline", "edit"), ("", "click"),
    ("run-edited", "click"),  # hides the editor; what runs it is an action of the role work
}  # fmt: skip
"""Events that people may send who only look, by elem_id and name. Extend it only by what changes no project."""
ADMINISTRATORS = {("status-bar", "agree")}
REQUESTS_BELOW_WORK = {
    "adjuster": {"fit"}, "compare": {"status", "pictures"}, "mask-canvas": {"compare", "status", "export"},
    "learn": {"status", "episodes", "play"},
    "evaluate": {"status", "play", "differences"},
    "gallery": {"find", "sets", "set_export", "bin", "batches"}, "results": {"links", "reach"},
    "library": {"find", "thumbnails", "asset", "preview", "jobs", "packs"},
    "matcher-bar": {"plan", "state", "download"}, "models-panel": {"findings", "prompt"},
    "object-cards": {"compare", "search"}, "task-builder": {"read"},
    "trace-view": {"call", "live", "snippet", "compare"},
}  # fmt: skip
"""Kinds of requests that people may send who only look, by elem_id. Extend it only by what changes nothing."""
REQUESTS_OF_ADMINISTRATORS = {
    "library": {"install", "objaverse"}, "mask-canvas": {"install"},
    "models-panel": {"use", "forget key", "test", "save prompt", "reset prompt"},
}  # fmt: skip
READING_METHODS = {"GET", "HEAD", "OPTIONS"}


def events(studio: SimpleNamespace) -> dict[int, Any]:
    return {number: f for number, f in studio.app.state.page.fns.items() if f.fn is not None}


def name_of(studio: SimpleNamespace, function: Any) -> tuple[str, str]:
    blocks = studio.app.state.page.blocks
    target, name = function.targets[0]
    block = blocks.get(target)
    tabs = block if block is None or block.elem_id or not isinstance(block, gr.Tab) else block.parent
    return (getattr(tabs, "elem_id", None) or "", name)


def actions(studio: SimpleNamespace) -> dict[tuple[str, str], Any]:
    return studio.app.state.page.actions


def endpoints(studio: SimpleNamespace) -> dict[int, Any]:
    blocks = studio.app.state.page.blocks
    return {id: b for id, b in blocks.items() if isinstance(b, Component) and b.answer is not None}


def test_the_events_and_requests_below_the_role_work_are_those_that_are_known_to_change_nothing(studio):
    roles: dict[Role, set[tuple[str, str]]] = {}
    for function in events(studio).values():
        roles.setdefault(needed_role(function.fn), set()).add(name_of(studio, function))
    for names, action in actions(studio).items():
        roles.setdefault(action.role, set()).add(names)
    assert roles[Role.VISIT] | roles[Role.LOOK] == BELOW_WORK
    assert roles[Role.ADMINISTER] == ADMINISTRATORS
    assert len(roles[Role.WORK]) > 20
    plain = {block.elem_id for block in endpoints(studio).values() if not isinstance(block.answer, Endpoint)}
    assert plain == set()
    blocks = studio.app.state.page.blocks
    other = [b for b in blocks.values() if not isinstance(b, Component) and getattr(b, "server_fns", None)]
    assert other == [] and len(endpoints(studio)) > 8

    def kinds(wanted: Any) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for block in endpoints(studio).values():
            for kind in block.answer.handlers if isinstance(block.answer, Endpoint) else ():
                if wanted(block.answer.needed_role(kind)):
                    found.setdefault(block.elem_id, set()).add(kind)
        return found

    assert kinds(lambda role: role < Role.WORK) == REQUESTS_BELOW_WORK
    assert kinds(lambda role: role is Role.ADMINISTER) == REQUESTS_OF_ADMINISTRATORS


@pytest.mark.parametrize("user", ["lou", "wanda", "ada"])
async def test_an_event_runs_only_for_those_whose_role_permits_it(user: str, studio: SimpleNamespace, monkeypatch):
    ran: list[tuple[str, str]] = []
    for names, action in actions(studio).items():
        begin = lambda sent, names=names: ran.append(names) or sent.session  # noqa: E731
        monkeypatch.setitem(actions(studio), names, replace(action, begin=begin))
    async with logged_in(studio, user) as http, open_page(http, "one") as page:
        for names, action in actions(studio).items():
            told = page.update["told"]
            await page.act(*names)
            permitted = PEOPLE[user] >= action.role
            assert ran == ([names] if permitted else []), (user, names)
            assert page.update["told"] == told + (not permitted)
            ran.clear()


def test_no_event_runs_for_a_login_that_has_ended_or_in_another_persons_page(studio: SimpleNamespace, monkeypatch):
    page = studio.app.state.page
    number, function = next((n, f) for n, f in events(studio).items() if needed_role(f.fn) is Role.VISIT)
    ran: list[int] = []

    async def answer(_: Any, function: Any, *__: Any, **___: Any) -> dict[str, Any]:
        ran.append(number) if function is page.fns[number] else None
        return {}

    monkeypatch.setattr(gr.Blocks, "process_api", answer)
    request = SimpleNamespace(username="nobody")
    for role in (Role.VISIT, None):
        monkeypatch.setattr(page, "act_for", lambda _, role=role: current_role.set(Role.VISIT) and role)
        with pytest.raises(gr.Error) if role is None else nullcontext():
            run_async(page.process_api(function, [], None, request))
    assert ran == [number], "once, for the login that holds"
    ran.clear()
    monkeypatch.setattr(page, "act_for", lambda _: current_role.set(Role.WORK) and Role.WORK)
    for user in ("wanda", "will", "wanda"):
        with pytest.raises(gr.Error) if user == "will" else nullcontext():
            run_async(page.process_api(function, [], None, SimpleNamespace(username=user, session_hash="of wanda")))
    assert ran == [number, number], "twice, for the person whose page it is"


async def ask(http: httpx.AsyncClient, id: int, data: Any) -> Any:
    """Send a request to a component as its page does, and return the answer."""
    body = {"data": data, "component_id": id, "fn_name": "ask", "session_hash": "x"}
    answer = await http.post("/gradio_api/component_server", content=json.dumps(body))
    assert answer.status_code == 200, (data, answer.text[:300])
    return answer.json()


async def test_events_have_no_other_address_and_a_request_of_no_kind_needs_the_role_of_its_answer(studio):
    async with logged_in(studio, "lou") as http:
        for path in ("run/predict", "api/predict", "call/predict", "run/0", "predict"):
            for prefix in ("/gradio_api/", "/gradio_api//", "/"):
                answer = await http.post(f"{prefix}{path}", json={"data": [], "fn_index": 0})
                assert answer.status_code in (403, 404, 405), (prefix, path, answer.status_code)
        for id, block in endpoints(studio).items():
            if isinstance(block.answer, Endpoint) and block.answer.needed_role(block.answer.default_kind) > Role.LOOK:
                for data in ({}, {"kind": "nothing"}, {"kind": None}, {"kind": ["find"]}):
                    assert "error" in await ask(http, id, data), (block.elem_id, data)


@pytest.mark.parametrize("user", ["lou", "wanda", "ada"])
async def test_a_request_is_answered_only_for_those_whose_role_permits_it(user: str, studio: SimpleNamespace):
    async with logged_in(studio, user) as http:
        for id, block in endpoints(studio).items():
            for kind in block.answer.handlers if isinstance(block.answer, Endpoint) else ():
                answer = await ask(http, id, {"kind": kind})
                refused = "this needs the role" in answer.get("error", "")
                assert refused == (PEOPLE[user] < block.answer.needed_role(kind)), (block.elem_id, kind, answer)


async def test_routes_that_do_more_than_read_are_gradios_and_need_a_role_of_their_own(studio: SimpleNamespace):
    own = [r.path for r in studio.app.routes if set(getattr(r, "methods", None) or ()) - READING_METHODS]
    assert own == ["/login", "/act"]
    sockets = [route.path for route in studio.app.routes if isinstance(route, APIWebSocketRoute)]
    assert sockets == ["/viewer/{token}/ws", "/channel/{id}"]
    for user, role in PEOPLE.items():
        async with logged_in(studio, user) as http:
            for path in ("/gradio_api/upload", "/gradio_api/upload/"):
                answer = await http.post(path, files={"files": ("a.png", b"x")})
                assert (answer.status_code == 403) == (role < Role.WORK), (user, path, answer.status_code)


def test_every_command_of_the_viewer_that_moves_a_body_needs_the_role_work(monkeypatch):
    examples = {
        "step": {"count": 1}, "speed": {"value": 1.0}, "seek": {"time": 0.0}, "contacts": {"on": True},
        "push": {"body": 1, "point": [0.0] * 3, "target": [0.0] * 3}, "joint": {"number": 0, "value": 0.0},
    }  # fmt: skip
    ops = [op for one in get_args(get_args(commands.Command)[0]) for op in get_args(one.model_fields["op"].annotation)]
    view = ViewSession(mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"))
    current_role.set(Role.VISIT)
    refused = set()
    for op in ops:
        try:
            view.enqueue({"op": op, **examples.get(op, {})})
        except RoleError:
            refused.add(op)
    assert refused == {"push", "joint"} and len(ops) >= 10
    view.close()


STATIC = Path(__file__).parents[3] / "static"
MARK = re.compile(r"data-sends(?:\": \"|=\")([^\"]+)\"")
"""A control of a script, or the element around several, with the name of what it sends."""


def test_controls_say_what_the_server_refuses_to_lookers_and_while_another_edits(studio: SimpleNamespace):
    scripts = [path.read_text() for path in STATIC.rglob("*.js") if "vendor" not in path.parts]
    marks = {name for script in scripts for name in MARK.findall(script)}
    told = {role: refusals(studio.app.state.page, role) for role in Role}
    assert len(marks) > 40 and not marks - set(told[Role.VISIT]["refused"])
    refused = set(told[Role.LOOK]["refused"])
    components = {name.partition(".")[0] for name in refused if not name.startswith("#")}
    marked = {name.partition(".")[0] for name in marks}
    assert components - marked == {"top-bar"}, "its undo and redo have states of their own"
    assert {"#generate", "#task-text", "#drop", "#run-edited"} <= refused
    for role in (Role.LOOK, Role.WORK, Role.ADMINISTER):
        refused = told[role]["refused"]
        assert ("inspector.decide" in refused) == (role < Role.WORK) and "top-bar.home" not in refused
        assert ("models-panel.use" in refused) == (role < Role.ADMINISTER)
    editors = set(told[Role.WORK]["editors"])
    assert {"inspector.decide", "#generate", "mask-canvas.import", "results.share"} <= editors
    assert not editors & {"top-bar.take_over", "gallery.judge", "library.import", "#drop", "results.links"}


KEYS = {
    key
    for file in (Path(__file__).parents[3] / "studio").rglob("*.py")
    for key in re.findall(r"request(?:\.get\(|\[)\"(\w+)\"", file.read_text(encoding="utf-8"))
} - {"kind", "token", "page_token"}
"""Every key that the studio reads of a request."""
HOSTILE: list[Any] = [
    *("..", "../precious", "/", "", "é" * 300, "a\0b"),
    *(10**400, -1, [".."], {"..": 1}, [{"path": "/etc/passwd"}], None),
]


async def test_no_request_reaches_beyond_what_is_listed_or_is_answered_with_more_than_a_line(studio: SimpleNamespace):
    precious = studio.workspace.parent / "precious"
    for folder in (precious, precious / "batch", studio.workspace):  # each could be taken for a batch, or a project
        folder.mkdir(exist_ok=True)
        (folder / "batch.json").write_text("{}")
        (folder / "project.json").write_text("{}")
    (studio.workspace / ".batches").mkdir()
    before = content(precious)
    async with logged_in(studio, "ada") as http, open_page(http, "") as home, open_page(http, "one") as page:
        values = {name: value for name, value in (home.values | page.values).items() if value}
        values["gallery"] = home.values["gallery"]
        for id, block in endpoints(studio).items():
            if not isinstance(block.answer, Endpoint):
                continue
            guessed = [{"kind": kind, "token": "x", "page_token": "x"} for kind in block.answer.handlers]
            for data in ([], "text", 7, None, {"seq": 10**400}, *guessed):
                assert "error" in await ask(http, id, data), (block.elem_id, data)
            own = {"token": values["mask-canvas"]["token"]} | values.get(block.elem_id, {})
            own = {key: own.get(key, "") for key in ("token", "page_token")}
            for kind, value in itertools.product(block.answer.handlers, HOSTILE):
                error = (await ask(http, id, {**dict.fromkeys(KEYS, value), **own, "kind": kind})).get("error", "")
                assert "\n" not in error and "on our side" not in error, (block.elem_id, kind, value)
    assert content(precious) == before and (studio.workspace / "two" / "project.json").is_file()
