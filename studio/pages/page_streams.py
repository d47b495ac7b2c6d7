"""Streams of updates to pages: a page follows the work on its project in its newest stream, which holds no thread."""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakValueDictionary

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from studio.sessions.session import Session

CHECK_SECONDS = 2.0
"""How often a waiting stream looks whether its page is still open."""
VALUE_THREADS = 3
DRAW_SECONDS = 3.0
"""How long a stream waits at most for a page to draw an update."""


class PageStream:
    """The updates after one event of a page, until the page's next event."""

    def __init__(self, previous: "PageStream | None"):
        self._previous = previous
        self._next_began, self._ended, self._drawn = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.id, self._updates = secrets.token_urlsafe(6), 0
        self._loop = asyncio.get_running_loop()
        if previous:
            previous._next_began.set()

    def next_update(self) -> str:
        """Return a name for the update that is sent next, for the page to report when it has drawn it."""
        self._updates += 1
        self._drawn.clear()
        return f"{self.id} {self._updates}"

    def report_drawn(self, number: int) -> None:
        """Note that the page has drawn its update of that number. May be called from any thread."""
        if number >= self._updates:
            _call_in(self._loop, self._drawn.set)

    async def drawn(self) -> None:
        """Wait until the page has drawn the newest update, DRAW_SECONDS at most.

        Updates that a page has yet to draw would add up in a slow browser. And Gradio draws the updates of two events
        in no certain order: without this wait the end of work, sent by one event, is drawn before what the event
        before it sent of that work, and the page shows work that has long ended.
        """
        if self._updates:
            await _first_of(DRAW_SECONDS, self._drawn)

    async def previous_ended(self) -> None:
        """Wait for the end of the page's previous stream: the last update that it sends must not come after ours."""
        if self._previous:
            await self._previous._ended.wait()
            self._previous = None

    async def changes(self, session: Session, is_page_open: Callable[[], bool]) -> AsyncGenerator[None]:
        """Yield now and whenever there is something new to show, until no work runs, the page's next event begins, or
        the page is closed."""
        changed, version = asyncio.Event(), -1
        loop = asyncio.get_running_loop()
        unwatch = session.log.watch(lambda: _call_in(loop, changed.set))
        try:
            while True:
                changed.clear()
                idle, is_new, version = session.idle, session.log.version != version, session.log.version
                if is_new or idle:
                    yield
                if idle and session.idle and session.log.version == version:  # showing it may have started more work
                    return
                # Updates of one page a second
                if await _first_of(1 / 8.0, self._next_began):
                    return
                if await _first_of(CHECK_SECONDS, self._next_began, changed) is self._next_began or not is_page_open():
                    return
        finally:
            unwatch()


class PageStreams:
    """The newest stream of each page. To be used in the event loop only, but for `report_drawn`."""

    def __init__(self):
        self._newest: dict[str, PageStream] = {}
        self._by_id: WeakValueDictionary[str, PageStream] = WeakValueDictionary()
        # Followed updates that are being sent at the same time. The first update after an event does not wait for them.
        self._slots = asyncio.Semaphore(2)

    @asynccontextmanager
    async def open(self, page: str) -> AsyncIterator[PageStream]:
        """Begin a stream of that page, which tells the page's previous one to end."""
        stream = self._newest[page] = PageStream(self._newest.get(page))
        self._by_id[stream.id] = stream
        try:
            yield stream
        finally:
            stream._ended.set()
            if self._newest.get(page) is stream:
                del self._newest[page]

    def report_drawn(self, update: str) -> None:
        """Note that a page has drawn the update of that name. May be called from any thread."""
        id, _, number = update.partition(" ")
        stream = self._by_id.get(id)
        if stream and number.isdecimal():
            stream.report_drawn(int(number))

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot for an update; after it, the slot stays free for as long as the update took, so that pages
        that only follow work leave half of the time to people who ask for something."""
        async with self._slots:
            began = time.monotonic()
            yield
            await asyncio.sleep(time.monotonic() - began)

    def __len__(self) -> int:
        return len(self._newest)


class OpenedSessions:
    """What each page opened last, which is ahead of what the page knows while it opens. Forgets the oldest of many."""

    def __init__(self) -> None:
        self._tokens: dict[str, str] = {}

    def note(self, page: str, token: str) -> None:
        """Note that the page opened the session of that token, or the gallery for ""."""
        self._tokens.pop(page, None)
        self._tokens[page] = token
        # Pages that `OpenedSessions` remembers at most
        if len(self._tokens) > 10_000:
            del self._tokens[next(iter(self._tokens))]

    def token(self, page: str, known: str) -> str:
        """Return the token of what the page opened last, `known` if it is not remembered."""
        return self._tokens.get(page, known)


class LatestValues:
    """The newest values of a session, computed in a thread once for all pages that ask in the meantime."""

    def __init__(self, threads: CapacityLimiter):
        self._threads, self._lock = threads, asyncio.Lock()
        self._asked = self._began = 0
        self._values: list[Any] = []

    async def get(self, compute: Callable[[], list[Any]]) -> list[Any]:
        """Return the values as they were at this call or later."""
        self._asked = asked = self._asked + 1
        async with self._lock:
            if self._began < asked:  # what is known was begun before this call
                began = self._asked
                self._values = await run_sync(compute, limiter=self._threads)
                self._began = began
            return self._values


async def _first_of(seconds: float, *events: asyncio.Event) -> asyncio.Event | None:
    """Return the first of the events that is set, None after so many seconds."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()
    return next((event for event in events if event.is_set()), None)


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the server has ended, and its loop with it
        loop.call_soon_threadsafe(call)
