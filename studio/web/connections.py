"""Connections to the web server: how many there may be, and how long one may take to say what it wants."""

import asyncio
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MAX_MESSAGE = 8192
"""Bytes of a message on a WebSocket; a larger one closes it."""
REQUEST_SECONDS = 20.0
"""Time in which a connection has to send the head of its first request, and of each one after an answer. uvicorn itself
waits forever once a byte of it came."""
OPEN_FILES = 8192
"""Each page holds two or three connections; the usual limit is 1024 open files."""


class PromptProtocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """uvicorn's HTTP protocol, which closes connections that do not get to their next request."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_a_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._limit.cancel()
        self._wait_for_a_head()

    def _wait_for_a_head(self) -> None:
        self._limit = asyncio.get_running_loop().call_later(REQUEST_SECONDS, self._close_if_silent, self.cycle)

    def _close_if_silent(self, last: Any) -> None:
        is_answered = last is None or last.response_complete
        if self.cycle is last and is_answered and self in self.connections:  # no request, and no change to a WebSocket
            self.transport.close()


def allow_open_files() -> None:
    """Raise this process's limit of open files as far as it may."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
