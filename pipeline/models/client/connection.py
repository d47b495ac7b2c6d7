"""Calls of servers (models, image-to-3D services, policies): one event loop, bounded replies, cancellable calls.

Calls run as asyncio tasks because cancelling a task closes its connection immediately, so the server stops working. A
blocked thread could only be abandoned.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Coroutine
from functools import cache
from typing import Any, TypeVar

import httpx2

from pipeline.models.in_flight import InFlightCall

T = TypeVar("T")
POLL_SECONDS = 0.05
"""Seconds between checks for cancellation."""


MAX_LINE_BYTES = 2_000_000
"""Longest line of a reply, and so the longest JSON value in a stream. Parsed, it takes some 30 times its bytes."""
SENT_HEADERS = {
    "host", "connection", "content-length", "content-type", "transfer-encoding", "accept", "accept-encoding",
    "authorization", "user-agent",
}  # fmt: skip
"""The only headers that a server gets. Clients add others: the operating system, OPENAI_CUSTOM_HEADERS."""
OPENAI_HEADERS = {"openai-organization", "openai-project"}
"""Headers that OpenAI's own server gets besides."""


class ReplyTooLong(Exception):
    """A reply longer than the limit; the rest is not read."""


class ReplyEncoded(Exception):
    """A compressed reply, which was not asked for: its true size would show only after it is unpacked."""


def run_call(work: Coroutine[Any, Any, T], call: InFlightCall) -> T:
    """Run a coroutine on the event loop and return its result.

    Closes the connection and raises CallCancelled or StageCancelled when the call is cancelled.
    """
    future = asyncio.run_coroutine_threadsafe(work, event_loop())
    try:
        while not future.done():
            call.check()
            concurrent.futures.wait([future], POLL_SECONDS)
        return future.result()
    finally:
        future.cancel()


@cache
def event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all calls of this process; it runs in its own thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="calls").start()
    return loop


class BoundedTransport(httpx2.AsyncHTTPTransport):
    """HTTP transport that sends known headers only, stops reading a long reply, and reads no compressed one."""

    def __init__(self, max_bytes: int, max_line_bytes: int | None = None):
        """Limit each reply to `max_bytes`, and each of its lines to `max_line_bytes`; None for lines of any length."""
        super().__init__()
        self._max_bytes, self._max_line_bytes = max_bytes, max_line_bytes or max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        allowed = SENT_HEADERS | (OPENAI_HEADERS if request.url.host.endswith(".openai.com") else set())
        headers = [(name, value) for name, value in request.headers.raw if name.decode().lower() in allowed]
        sent = httpx2.Request(
            request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
        )
        sent.headers["Accept-Encoding"] = "identity"
        response = await super().handle_async_request(sent)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_plain = response.headers.get("Content-Encoding", "").strip().lower() in ("", "identity")
        limits = (self._max_bytes, self._max_line_bytes) if is_plain else None
        response.stream = _BoundedStream(response.stream, limits)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, limits: tuple[int, int] | None):
        """`limits` are the most bytes of all and of one line; None for a compressed reply, which is not read."""
        self._stream, self._limits = stream, limits

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._limits is None:
            raise ReplyEncoded
        (max_bytes, max_line_bytes), count, line = self._limits, 0, 0
        async for chunk in self._stream:
            count += len(chunk)
            if count > max_bytes:
                raise ReplyTooLong(f"more than {max_bytes / 1e6:.0f} MB")
            *complete, rest = chunk.split(b"\n")
            longest = max([line + len(complete[0]), *map(len, complete[1:])]) if complete else 0
            line = len(rest) + (0 if complete else line)
            if max(longest, line) > max_line_bytes:
                raise ReplyTooLong(f"more than {max_line_bytes / 1e6:.0f} MB in one line")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
