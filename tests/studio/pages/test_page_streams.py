"""Streams of updates: one a page, none of which holds a thread while it waits."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import CapacityLimiter
from offline_studio import FRAME, offline_services
from page_client import PageClient, connect, open_page
from served_studio import served

from pipeline.frame import Frame
from pipeline.project import Project
from studio.pages import page_streams
from studio.pages.page_streams import LatestValues, PageStreams
from studio.sessions.event_log import EventLog

THREADS = 40
"""Threads that anyio has for all requests together, and events that Gradio answers at the same time by default."""


class SilentSegmenter:
    """Work that does not get on, as with a model server that never answers."""

    name = "silent"

    def __init__(self):
        self.answer = threading.Event()

    def open(self, frame: Frame) -> None:
        self.answer.wait()
        raise RuntimeError("never asked in earnest")


@pytest.fixture(scope="module")
def busy_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """A studio with projects "one" and "two", on which work goes on for as long as the test runs."""
    workspace, segmenter = tmp_path_factory.mktemp("workspace"), SilentSegmenter()
    for name in ("one", "two"):
        Project.create(workspace / name, FRAME, name)
    services = offline_services(segmenter=segmenter)
    with served(services, workspace) as studio:
        yield studio
        segmenter.answer.set()


async def test_more_pages_than_threads_follow_work_while_routes_and_stop_answer(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, AsyncExitStack() as stack:
        pages: list[PageClient] = []
        for _ in range(THREADS + 5):
            pages.append(await stack.enter_async_context(open_page(http, "one")))
        assert all(not page.completed for page in pages), "each follows the work"
        for path in ("/", "/config", "/thumbnail/project/one", "/static/studio/loading.js"):
            assert (await http.get(path)).status_code == 200
        await pages[-1].send("status-bar", "stop")
        await pages[-1].wait(lambda: pages[-1].values["status-bar"].get("stopping"))


async def test_what_a_page_sends_while_it_opens_a_project_does_not_lead_it_back(busy_studio: SimpleNamespace):
    async with connect(busy_studio.address) as http, open_page(http, "one") as page:
        await page.send("review-queue", "open", {"kind": "project", "name": "two"})
        refresh = await page.send("top-bar", "refresh")
        await page.wait(lambda: page.updates.get(refresh))
        assert page.values["top-bar"]["project"] == "two"


async def test_a_slow_page_gets_an_update_only_when_it_has_drawn_the_one_before_even_of_another_event(busy_studio):
    async with connect(busy_studio.address) as http, open_page(http, "one") as page:
        page.drawing_seconds = 0.2
        events = [await page.send("top-bar", "refresh") for _ in range(4)]
        await page.wait(lambda: page.updates.get(events[-1]))
        pairs = list(zip(page.history[::2], page.history[1::2], strict=False))
        assert len(pairs) > 1 and set(pairs) == {("sent", "drawn")}


async def test_a_pages_next_event_ends_its_earlier_stream_and_the_last_update_shows_the_end_of_work():
    order: list[str] = []

    async def follow(streams: PageStreams, name: str, session: SimpleNamespace) -> None:
        async with streams.open("page") as stream:
            await stream.previous_ended()
            async for _ in stream.changes(session, lambda: True):  # type: ignore[arg-type]
                order.append(name)
        order.append(f"{name} ended")

    streams, session = PageStreams(), SimpleNamespace(log=EventLog(), idle=False)
    tasks = []
    for name in ("first", "second"):
        tasks.append(asyncio.ensure_future(follow(streams, name, session)))
        while name not in order:
            await asyncio.sleep(0)
    session.idle = True
    session.log.mark_changed()
    await asyncio.gather(*tasks)
    assert len(streams) == 0 and not session.log._watchers
    assert order[:3] == ["first", "first ended", "second"]
    session, shown = SimpleNamespace(log=EventLog(), idle=True), []
    async with PageStreams().open("page") as stream:
        async for _ in stream.changes(session, lambda: True):  # type: ignore[arg-type]
            shown.append(session.log.version)
            if len(shown) == 1:
                session.log.mark_changed()  # work begins while the values are computed ...
                session.log.mark_changed()  # ... and has ended when they are shown
    assert shown == [0, session.log.version]


async def test_a_stream_waits_for_a_page_that_draws_and_ends_with_it(monkeypatch: pytest.MonkeyPatch):
    streams = PageStreams()
    async with streams.open("page") as stream:
        await asyncio.wait_for(stream.drawn(), 1)  # nothing was sent
        first, second = stream.next_update(), stream.next_update()
        waiting = asyncio.ensure_future(stream.drawn())
        for report in (first, "unknown 3", "", "x"):
            streams.report_drawn(report)
            await asyncio.sleep(0)
        assert not waiting.done()
        streams.report_drawn(second)
        await waiting
        monkeypatch.setattr(page_streams, "DRAW_SECONDS", 0.01)
        stream.next_update()
        await stream.drawn()
    monkeypatch.setattr(page_streams, "CHECK_SECONDS", 0.01)
    session: Any = SimpleNamespace(log=EventLog(), idle=False)
    async with PageStreams().open("page") as stream:
        seen = [None async for _ in stream.changes(session, lambda: False)]
    assert len(seen) == 1


async def test_values_are_computed_once_for_all_who_ask_in_the_meantime_and_never_before_they_asked():
    computed: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def compute() -> list[int]:
        computed.append(len(computed))
        begun.set()
        go_on.wait()
        return [computed[-1]]

    latest = LatestValues(CapacityLimiter(1))
    first = asyncio.ensure_future(latest.get(compute))
    while not begun.is_set():
        await asyncio.sleep(0)
    others = [asyncio.ensure_future(latest.get(compute)) for _ in range(5)]
    await asyncio.sleep(0)
    go_on.set()
    assert await first == [0] and await asyncio.gather(*others) == [[1]] * 5
