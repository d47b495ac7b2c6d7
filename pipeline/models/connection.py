"""The network under the client: one thread for all calls, replies no longer than agreed, calls that can be stopped.

Calls run as asyncio tasks because cancelling a task closes its connection at once, wherever it stands: the server sees
it and stops working. A blocked thread could only be abandoned.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Coroutine
from functools import cache
from typing import Any, TypeVar

import httpx2

from pipeline.models.live import Flight

T = TypeVar("T")
LOOK = 0.05
"""Seconds between looks whether a person stopped the call."""


class TooLong(Exception):
    """A reply longer than agreed; the rest is not read."""


def run(work: Coroutine[Any, Any, T], flight: Flight) -> T:
    """What the coroutine returns; a cancelled flight's connection is closed. Raises CallCancelled, Stopped."""
    future = asyncio.run_coroutine_threadsafe(work, loop())
    try:
        while not future.done():
            flight.check()
            concurrent.futures.wait([future], LOOK)
        return future.result()
    finally:
        future.cancel()


@cache
def loop() -> asyncio.AbstractEventLoop:
    """The one that all calls of this process run in, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True, name="models").start()
    return loop


class Bounded(httpx2.AsyncHTTPTransport):
    """The usual transport, which stops reading a reply that goes on for too long."""

    def __init__(self, most: int):
        """`most`: bytes of one reply."""
        super().__init__()
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Counted(response.stream, self._most)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int):
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        count = 0
        async for piece in self._stream:
            count += len(piece)
            if count > self._most:
                raise TooLong(f"more than {self._most / 1e6:.0f} MB")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()
