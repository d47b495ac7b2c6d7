"""A page's actions act once and in their order; it gets the newest of what it shows, as fast as it draws.

Of the protocol between the page's scripts and Python, each side names only what the other one knows.
"""

import asyncio
import gc
import itertools
import random
import re
import threading
import weakref
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from anyio import CapacityLimiter
from offline_studio import FRAME, offline_services, wait_until
from page_client import TIMEOUT, PageClient, connect, open_page
from served_studio import served

from components.component import STATIC, Component
from pipeline.decisions import DECISION_DATA
from pipeline.project import Project
from studio.pages.page_channel import LatestValues
from studio.sessions import session_registry
from studio.sessions.session import Session
from studio.web.endpoints import Endpoint
from studio.web.jobs import Listing

THREADS = 40
"""Threads that anyio has for all requests together."""


@pytest.fixture(scope="module")
def busy_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A studio with projects "one" and "two", on which work goes on for as long as the test runs."""
    workspace, end = tmp_path_factory.mktemp("workspace"), threading.Event()
    for name in ("one", "two"):
        Project.create(workspace / name, FRAME, name)
    silent = SimpleNamespace(name="silent", open=lambda _: end.wait())
    with served(offline_services(segmenter=silent), workspace) as studio:
        yield studio
        end.set()


def verdict(reason: str) -> dict[str, object]:
    return {"project": "one", "id": None, "verdict": "rejected", "reason": reason}


@pytest.mark.parametrize("count", [20, pytest.param(500, marks=pytest.mark.soak)])
async def test_actions_whose_answers_are_lost_and_sockets_that_are_cut_lose_double_and_reorder_nothing(
    count: int, tmp_path: Path
):
    project, rng = Project.create(tmp_path / "one", FRAME, "one"), random.Random(3)

    async def act(page: PageClient, tab: str, stack: AsyncExitStack) -> None:
        for number in range(1, count + 1):
            if rng.random() < 0.05:
                await page.cut()
                stack.callback(asyncio.ensure_future(page.follow()).cancel)
            answers = rng.randint(1, 3)  # of which only the last one arrives
            message = verdict(f"{tab} {number}")
            await asyncio.gather(*(page.send("review-queue", "review", message, number=number) for _ in range(answers)))
        await page.wait(lambda: page.update["acted"] == count)

    with served(offline_services(), tmp_path) as studio:
        async with connect(studio.address) as http, AsyncExitStack() as stack:
            pages = [await stack.enter_async_context(open_page(http, "one")) for _ in range(2)]
            await asyncio.gather(*(act(page, tab, stack) for page, tab in zip(pages, "ab", strict=True)))
            for page in pages:
                await page.wait(lambda page=page: page.values["review-queue"]["frame_reviews"] == 2 * count)
    recorded = [each.data["reason"] for each in Project.open(project.folder).active_decisions("review")]
    for tab in "ab":
        assert [one for one in recorded if one[0] == tab] == [f"{tab} {number}" for number in range(1, count + 1)]
    assert len(recorded) == 2 * count


async def test_what_is_no_action_of_a_page_of_ones_own_is_refused_in_one_line(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, open_page(http, "one") as page:
        good = {"studio": page.studio, "page": page.id, "number": 1, "component": "top-bar", "event": "undo"}
        wrong = [
            *([], 7, None, {}, good | {"component": None}, good | {"number": 0}, good | {"number": "1"}),
            *(good | {"number": 10**400}, good | {"message": [1]}, good | {"message": {"id": 10**400}}),
            *(
                good | {"values": {"a": 1}},
                good | {"page": "another"},
                good | {"page": [1]},
                good | {"studio": "former"},
            ),
        ]
        for body in wrong:
            answer = await http.post("/act", json=body)
            assert answer.status_code in (400, 409) and len(answer.json()["error"].splitlines()) == 1, body
        assert (await http.post("/act", content=b"\xff{[[")).status_code == 400
        assert (await http.post("/act", json=good)).status_code == 200


async def test_more_pages_than_threads_follow_work_while_routes_and_stop_answer(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, AsyncExitStack() as stack:
        pages: list[PageClient] = []
        for _ in range(THREADS + 5):
            pages.append(await stack.enter_async_context(open_page(http, "one")))
        assert all(page.values["status-bar"]["running"] for page in pages)
        for path in ("/", "/config", "/thumbnail/project/one", "/static/studio/loading.js"):
            assert (await http.get(path)).status_code == 200
        await pages[-1].send("status-bar", "stop")
        for page in pages:
            await page.wait(lambda page=page: page.values["status-bar"].get("stopping"))


async def test_a_page_gets_what_it_shows_and_of_the_project_that_it_opened_last(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, open_page(http, "one") as page:
        assert {"top-bar", "mask-canvas", "review-queue"} <= page.values.keys()
        await page.cut()
        page.id, page.shows, page.values = f"{page.id}2", ["top-bar"], {}  # another page, of a single component
        followed = asyncio.ensure_future(page.follow())
        await page.wait(lambda: page.values.get("top-bar"))
        await page.send("review-queue", "open", {"kind": "project", "name": "two"})
        await page.act("status-bar", "stop")
        await page.wait(lambda: page.values["top-bar"]["project"] == "two")
        assert page.values.keys() == {"top-bar"}
        followed.cancel()
    async with connect(busy_studio.address) as http, open_page(http, "not_there") as page:
        assert page.values["top-bar"]["project"] is None and page.update["told"] == 1


async def test_a_project_that_a_page_shows_is_in_use_however_long_nobody_acts(busy_studio, monkeypatch):
    used = threading.Event()
    monkeypatch.setattr("studio.pages.page_channel.CHECK_SECONDS", 0.05)
    async with connect(busy_studio.address) as http, open_page(http, "one"):
        monkeypatch.setattr("studio.sessions.session.Session.touch", lambda _: used.set())
        assert await asyncio.to_thread(used.wait, TIMEOUT)


async def test_a_project_that_no_page_shows_gives_way_and_a_page_that_comes_back_opens_it_again(tmp_path, monkeypatch):
    made: weakref.WeakSet[Session] = weakref.WeakSet()
    projects: weakref.WeakSet[Project] = weakref.WeakSet()

    def note(session: Session, project: Project, *more: Any) -> None:
        made.add(session)
        projects.add(project)
        begin(session, project, *more)

    begin = Session.__init__
    monkeypatch.setattr(Session, "__init__", note)
    monkeypatch.setattr(session_registry, "KEPT_UNUSED", 0)
    monkeypatch.setattr(session_registry, "UNUSED_SECONDS", -1.0)
    for name in ("one", "two", "three"):
        Project.create(tmp_path / name, FRAME, name)
    with served(offline_services(), tmp_path) as studio:
        async with connect(studio.address) as http:
            async with open_page(http, "one") as page:
                left = page.token
            wait_until(lambda: next(iter(made)).idle, "the end of its work")
            for name in ("two", "three"):
                async with open_page(http, name):
                    pass
            gc.collect()
            held = {one.project.name for one in made} | {one.name for one in projects}
            assert "one" not in held, "something holds what was closed"
            followed = asyncio.ensure_future(page.follow())
            await page.wait(lambda: page.token not in ("", left))
            await page.act("review-queue", "review", verdict("back"))
            followed.cancel()
    assert [each.data["reason"] for each in Project.open(tmp_path / "one").active_decisions("review")] == ["back"]


async def test_a_slow_page_gets_an_update_only_when_it_has_drawn_the_one_before(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, open_page(http, "one") as page:
        page.drawing_seconds = 0.2
        for _ in range(4):
            await page.act("mask-canvas", "changed")
        pairs = list(zip(page.history[::2], page.history[1::2], strict=False))
        assert len(pairs) > 3 and set(pairs) == {("sent", "drawn")}


async def test_values_are_computed_once_for_all_who_ask_in_the_meantime_and_never_before_they_asked():
    begun, go_on, count = threading.Event(), threading.Event(), itertools.count()
    compute = lambda: [next(count), begun.set() or go_on.wait()][:1]  # noqa: E731
    latest = LatestValues(CapacityLimiter(1))
    first = asyncio.ensure_future(latest.get(compute))
    while not begun.is_set():
        await asyncio.sleep(0)
    others = [asyncio.ensure_future(latest.get(compute)) for _ in range(5)]
    await asyncio.sleep(0)
    go_on.set()
    assert await first == [0] and await asyncio.gather(*others) == [[1]] * 5


ROOT = Path(__file__).parents[3]
SENT = re.compile(r"\bsend\(\s*\"(\w+)\"")
KIND = re.compile(r"\bkind: \"([\w ]+)\"")
REQUEST = re.compile(r"\{\s*kind: \"([\w ]+)\"([^{}]*)\}")
FIELD = re.compile(r"(?:^|,)\s*(\w+)\s*(?=[,:]|$)")
JOBS = re.compile(r"\bonJobs\([\w.]+, \"(\w+)\"")
OTHER_KINDS = {"make", "several", "primary", "project"}
"""Kinds of what is no request: candidates, questions and buttons of the pages, and what is opened."""


@pytest.fixture(scope="module")
def components(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Component]:
    """The components of the studio's page, by their folder below static/."""
    with served(offline_services(), tmp_path_factory.mktemp("workspace")) as studio:
        blocks = studio.app.state.page.blocks.values()
        return {block.folder: block for block in blocks if isinstance(block, Component)}


def scripts(folder: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in sorted((STATIC / folder).rglob("*.js"))}


def kinds_of(component: Component) -> set[str]:
    return set(component.answer.handlers) if isinstance(component.answer, Endpoint) else set()


def test_scripts_send_the_events_and_requests_that_python_handles_and_python_handles_no_others(components):
    for folder, component in components.items():
        text = "\n".join(scripts(folder).values())
        events, kinds = set(component.event_names), kinds_of(component)
        assert set(SENT.findall(text)) <= events | kinds, folder
        assert set(KIND.findall(text)) <= kinds | OTHER_KINDS | set(DECISION_DATA), folder
        if folder != "widgets":  # the channel's own script sends its event
            named = (events | kinds) - {getattr(component.answer, "default_kind", "")}
            assert {name for name in named if f'"{name}"' not in text} == set(), folder


def test_the_fields_of_requests_and_the_kinds_of_jobs_are_those_of_python(components):
    python = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "studio").rglob("*.py"))
    named = {
        (path.name, kind, field)
        for folder, component in components.items()
        for path, text in scripts(folder).items()
        for kind, fields in REQUEST.findall(text)
        for field in FIELD.findall(fields)
        if kind in kinds_of(component)
    }
    followed = JOBS.findall("\n".join(text for folder in components for text in scripts(folder).values()))
    assert len(followed) > 5 and set(followed) <= set(get_args(Listing.__annotations__["kind"]))
    assert len(named) > 50
    assert {(file, kind, field) for file, kind, field in named if f'"{field}"' not in python} == set()
