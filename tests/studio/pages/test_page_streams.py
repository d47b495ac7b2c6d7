"""Events of a page act in the order in which it sent them; a page has one stream of updates, which holds no thread."""

import asyncio
import itertools
import random
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anyio import CapacityLimiter
from offline_studio import FRAME, offline_services
from page_client import PageClient, connect, open_page
from served_studio import served

from pipeline.project import Project
from studio.pages import event_order, page_streams
from studio.pages.event_order import EventOrder
from studio.pages.page_streams import LatestValues, PageStreams
from studio.sessions.event_log import EventLog


async def run(order: EventOrder, arrivals: list[tuple[float, str, object]]) -> list[object]:
    """Return what was sent in the order of acting; `arrivals` are (when it comes, page, what it says of its order)."""
    acted: list[object] = []

    async def event(delay: float, page: str, sent: object) -> None:
        await asyncio.sleep(delay)
        async with order.turn(page, sent):
            await asyncio.sleep(random.uniform(0, 0.003))
            acted.append(sent)

    async with asyncio.timeout(60):
        await asyncio.gather(*(event(*each) for each in arrivals))
    return acted


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for as long as a busy machine takes."""
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 1e6)


@pytest.mark.parametrize("seed", range(5))
async def test_events_that_arrive_in_any_order_act_in_the_order_they_were_sent(seed: int):
    rng = random.Random(seed)
    sent = [{"number": number, "seconds_after": 0.01} for number in range(1, 9)]
    assert await run(EventOrder(), [(rng.uniform(0, 0.1), "page", each) for each in sent]) == sent


async def test_an_event_waits_for_no_other_page_and_not_long_for_a_lost_one(monkeypatch: pytest.MonkeyPatch):
    first, second = ({"number": number, "seconds_after": 0.01} for number in (1, 2))
    assert await run(EventOrder(), [(0, "one", first), (0, "two", first), (0, "two", second), (0, "one", second)])
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 0.2)
    assert await run(EventOrder(), [(0, "page", {"number": 7, "seconds_after": 0.1})])
    monkeypatch.setattr(event_order, "WAIT_SECONDS", 1e6)
    click = {"number": 7, "seconds_after": 1e6}
    assert await run(EventOrder(), [(0, "page", click)]), "a person's next click never waits"


async def test_an_event_without_a_readable_number_acts_at_once():
    wrong = [{"number": -1, "seconds_after": 0}, {"number": 2.5, "seconds_after": 0}]
    seconds = (float("nan"), float("inf"), None, "1", True)
    for sent in (None, 3, "x", [], {}, *wrong, *({"number": 2, "seconds_after": each} for each in seconds)):
        order = EventOrder()
        assert await run(order, [(0, "page", sent)]) == [sent] and len(order) == 0


async def test_an_event_that_fails_lets_the_next_one_act_and_is_forgotten_after_a_while(monkeypatch):
    order = EventOrder()
    with pytest.raises(ValueError):
        async with order.turn("page", {"number": 1, "seconds_after": 0.0}):
            raise ValueError
    for number in range(2, 5):
        async with order.turn("page", {"number": number, "seconds_after": 0.01}):
            pass
    assert len(order) == 4
    monkeypatch.setattr(event_order, "KEEP_SECONDS", 0.01)
    order = EventOrder()
    await run(order, [(0, "page", {"number": 1, "seconds_after": 0.01})])
    while order:
        await asyncio.sleep(0.01)


async def test_the_studio_records_decisions_in_the_order_they_were_sent_though_they_arrive_in_another(tmp_path: Path):
    project = Project.create(tmp_path / "one", FRAME, "one")
    with served(offline_services(), tmp_path) as studio:
        async with connect(studio.address) as http, open_page(http, "one") as page:
            events = []
            for number in (1, 3, 2, 5, 4):
                message = {"project": "one", "id": None, "verdict": "rejected", "reason": str(number)}
                message["sent"] = {"number": number, "seconds_after": 0.01}
                events.append(await page.send("review-queue", "review", message))
            await page.wait(lambda: page.completed >= set(events))
    recorded = [each.data for each in Project.open(project.folder).active_decisions("review")]
    assert [each["reason"] for each in recorded] == [*"12345"]
    assert all("sent" not in each for each in recorded)


THREADS = 40
"""Threads that anyio has for all requests together, and events that Gradio answers at the same time by default."""


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
