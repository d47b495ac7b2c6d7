"""The road between a page and the studio: the newest values go out by a WebSocket, actions come in by requests.

A page names itself when it is loaded. Its socket sends it whatever of the values that it shows is new, an update only
when it has drawn the one before: a slow page gets the newest state and no queue. Its actions are numbered; each acts
once and in their order, also if the page sends one again because the answer was lost.
"""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import orjson
from anyio import CapacityLimiter, create_task_group
from anyio.to_thread import run_sync
from fastapi import WebSocket, WebSocketDisconnect

from studio.sessions.session import Session
from studio.texts import translated
from studio.web.errors import error_message
from studio.web.jobs import LIST, Sees

CHECK_SECONDS = 2.0
"""How often a waiting socket looks whether the person who edits has left, which nothing announces."""
DRAW_SECONDS = 3.0
"""How long an update waits at most for a page to draw the one before."""
UPDATE_SECONDS = 1 / 8
"""Least time between two updates of a page that does nothing itself."""
JOBS_SECONDS = 0.5
"""Time between two looks how far the jobs are, while there are any; the page's bars need no more."""
PAGES_PER_LOGIN, PAGES_PER_LINK = 400, 40
"""Sockets at the same time, of one login (of a studio without logins, of all) and of one link's visitors."""
KEPT_PAGES = 500
"""Pages that are remembered after their socket has closed."""
VALUE_THREADS = 3
STUDIO = secrets.token_urlsafe(6)
"""Another one after each start of the studio. A page that gets another one counts its actions anew."""


class ChannelPage:
    """One loaded page. To be used in the event loop only."""

    def __init__(self, id: str, user: str):
        self.id, self.user, self._loop = id, user, asyncio.get_running_loop()
        self.session: Session | None = None
        self.is_opened = False
        """Whether it is known what the page shows."""
        self.shows: frozenset[str] = frozenset()
        """Ids of the components that are in the page."""
        self.version = -1
        """Of the open project, as the newest values have it; -1 in the gallery."""
        self.lock = asyncio.Lock()
        self.acted = 0
        """Number of the last action that acted."""
        self.notices: list[str] = []
        """Every notice that the page was sent since it was loaded, in English."""
        self.widgets: list[Any] = []
        """Newest values of Gradio's own components."""
        self.widgets_set: list[Any] = []
        """The values that they were set to last."""
        self.widgets_number = self.opened_number = 0
        """Counts their changes; and the change by which something else was opened."""
        self.followers: set[Follower] = set()
        """One for each socket; more than one while a connection that broke is not known to have ended."""

    @property
    def project(self) -> str:
        """Name of the project that the page shows; empty in the gallery."""
        return self.session.project.folder.name if self.session else ""

    def open(self, session: Session | None) -> None:
        """Show a session from now on, None for the gallery."""
        self.session, self.is_opened = session, True
        self.widgets_number += 1
        self.opened_number = self.widgets_number
        self.widgets = []
        self.mark()

    def mark(self, acted: int = 0) -> None:
        """Let the page's sockets send what is new; `acted` is the number of the action that acted, if one did."""
        self.acted = acted or self.acted
        for follower in self.followers:
            follower.mark(bool(acted))

    def tell_from_thread(self, error: Exception) -> None:
        """Show an error in the page. May be called from any thread."""
        _call_in(self._loop, partial(self.tell, error_message(error)))

    def tell(self, text: str) -> None:
        """Show a notice in the page."""
        self.notices.append(text)
        self.mark()


class ChannelPages:
    """The loaded pages. To be used in the event loop only."""

    def __init__(self) -> None:
        self._pages: dict[str, ChannelPage] = {}
        self.sockets: Counter[str] = Counter()
        """Open ones by login."""

    def find(self, id: object, user: str) -> ChannelPage | None:
        """Return a page of that person; None for one that is unknown, or another person's."""
        page = self._pages.get(id) if isinstance(id, str) else None
        return page if page and page.user == user else None

    def add(self, id: str, user: str) -> ChannelPage | None:
        """Return the page, and make it if it is unknown. Return None if it is another person's."""
        page = self._pages.get(id) or ChannelPage(id, user)
        if page.user != user or len(id) > 64:
            return None
        self._pages.pop(id, None)
        self._pages[id] = page
        if page.session:
            page.session.touch()
        for one in self._pages.values():
            if one.session and one.session.is_closed and not one.followers:  # if it comes back, it opens it again
                one.session, one.is_opened = None, False
        closed = [one for one, other in self._pages.items() if not other.followers and other is not page]
        for one in closed[:-KEPT_PAGES]:
            del self._pages[one]
        return page

    def __len__(self) -> int:
        return len(self._pages)


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


class Turns:
    """Turns of pages that only follow work: they leave half of the time to people who ask for something."""

    def __init__(self) -> None:
        # Followed updates that are being sent at the same time
        self._slots = asyncio.Semaphore(2)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a slot for an update; after it, the slot stays free for as long as the update took."""
        async with self._slots:
            began = time.monotonic()
            yield
            await asyncio.sleep(time.monotonic() - began)


class Follower:
    """Sends one page, over one socket, what is new, until the socket closes."""

    def __init__(
        self,
        socket: WebSocket,
        page: ChannelPage,
        turns: Turns,
        take_update: Any,
        sees: Sees,
        told: int,
        scripts: str,
    ):
        """
        Args:
            take_update: of the page, returns its newest values by component's id, each as the text that is sent.
            sees: whether the person sees what belongs to a project's folder.
            told: number of the page's notices that it has.
            scripts: changes with what only a page that is loaded again gets.
        """
        self._socket, self._page, self._turns, self._take_update = socket, page, turns, take_update
        self._sees, self._told, self._scripts = sees, min(max(told, 0), len(page.notices)), scripts
        self._number = self._shows = 0
        self._drawn, self._changed, self._acted_now = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._watched: Session | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def mark(self, acts: bool) -> None:
        """Send what is new; at once if the page has done something."""
        if acts:
            self._acted_now.set()
        self._changed.set()

    async def run(self) -> None:
        """Follow until the socket closes."""
        self._page.followers.add(self)
        forget = LIST.watch(partial(_call_in, self._loop, self._changed.set))
        try:
            await self._exchange()
        finally:
            forget()
            self._page.followers.discard(self)
            self._unwatch()

    def _watch(self, session: Session | None) -> None:
        """Be told of every change of this session, and of no other any more."""
        if session is self._watched:
            return
        self._unwatch()
        changed = partial(_call_in, self._loop, self._changed.set)
        self._watched, self._unwatch = session, session.log.watch(changed) if session else lambda: None

    async def _exchange(self) -> None:
        async with create_task_group() as group:

            async def until_closed(exchange: Any) -> None:
                with suppress(WebSocketDisconnect, RuntimeError):  # of a socket that closed while it was written to
                    await exchange
                group.cancel_scope.cancel()

            group.start_soon(until_closed, self._send())
            group.start_soon(until_closed, self._receive())

    async def _send(self) -> None:
        page, known, editor = self._page, {}, ""
        while True:
            self._changed.clear()
            self._watch(page.session)
            if page.session:
                page.session.touch()  # what a page shows is not closed for room, however long nobody acts
            is_followed = not self._acted_now.is_set()
            self._acted_now.clear()
            acted, shows = page.acted, self._shows
            async with self._turns.turn() if is_followed and self._number else nullcontext():
                values = await self._take_update(page)
                changes = {id: text for id, text in values.items() if known.get(id) != text}
                self._number += 1
                self._drawn.clear()
                notices, self._told = list(map(translated, page.notices[self._told :])), len(page.notices)
                numbers = {"widgets": page.widgets_number, "opened": page.opened_number, "told": self._told}
                jobs = LIST.records(self._sees)
                numbers |= {"version": page.version, "shows": shows, "jobs": jobs, "notices": notices}
                numbers |= {"scripts": self._scripts, "project": page.project}
                update = {"studio": STUDIO, "number": self._number, "acted": acted, "values": changes, **numbers}
                await self._socket.send_text(orjson.dumps(update).decode())
            known |= changes
            editor = page.session.editor.name if page.session else ""
            await _first_of(DRAW_SECONDS, self._drawn)
            await _first_of(UPDATE_SECONDS, self._acted_now)
            while not self._changed.is_set():
                await _first_of(CHECK_SECONDS if LIST.is_empty else JOBS_SECONDS, self._changed)
                if page.session:
                    page.session.touch()
                if not LIST.is_empty and (newest := LIST.records(self._sees)) != jobs:
                    jobs = newest
                    await self._socket.send_text(orjson.dumps({"jobs": jobs}).decode())
                if page.session and page.session.editor.name != editor:
                    self._changed.set()

    async def _receive(self) -> None:
        """Note which update the page has drawn, and which components it shows."""
        while True:
            kind, *words = (await self._socket.receive_text()).split()[:200] or [""]
            if kind == "drawn" and words == [str(self._number)]:
                self._drawn.set()
            if kind == "shows" and words and words[0].isdecimal():
                self._page.shows, self._shows = frozenset(words[1:]), int(words[0][:9])
                self.mark(True)


async def _first_of(seconds: float, event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _call_in(loop: asyncio.AbstractEventLoop, call: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # the server has ended, and its loop with it
        loop.call_soon_threadsafe(call)
