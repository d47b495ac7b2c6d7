"""Connections to the web server: how many there may be, and how long one may take to say what it wants."""

import asyncio
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

MAX_MESSAGE = 8192
"""Bytes of a message on a WebSocket; a larger one closes it."""
REQUEST_SECONDS = 20.0
"""Time in which a new connection has to send the head of its first request. uvicorn itself waits forever."""
OPEN_FILES = 8192
"""Each page holds two or three connections; the usual limit is 1024 open files."""


class PromptProtocol(AutoHTTPProtocol):  # type: ignore[valid-type, misc]
    """uvicorn's HTTP protocol, which closes connections that do not get to their first request."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        asyncio.get_running_loop().call_later(REQUEST_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None and self in self.connections:  # no request, and no change to a WebSocket
            self.transport.close()


def allow_open_files() -> None:
    """Raise this process's limit of open files as far as it may."""
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
