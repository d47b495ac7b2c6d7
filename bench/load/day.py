"""One page that is open for a day while nobody does anything, with a studio whose clock runs faster."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx
import websockets

from bench.load.server_process import ROOT, ServerProcess, Usage
from tests.page_client import PageClient, connect, open_page

SPEED, HOURS = 144, 24
"""A day in ten minutes. Pings of 20 s come every 0.14 s, so a busy machine cuts connections, as a bad network does."""
CLOCK = f"""
import selectors, threading, time
def faster(true):
    begun = true()
    return lambda: begun + (true() - begun) * {SPEED}
def sooner(wait):
    return lambda it, timeout=None: wait(it, timeout / {SPEED} if timeout and timeout > 0 else timeout)
sleep = time.sleep
time.time, time.monotonic, time.sleep = faster(time.time), faster(time.monotonic), lambda s: sleep(s / {SPEED})
threading.Condition.wait = sooner(threading.Condition.wait)
selectors.EpollSelector.select = sooner(selectors.EpollSelector.select)
"""
"""Python that the studio's process runs first: each wait (asyncio, threads, sleep) ends so much sooner.

libfaketime (0.9.10) cannot do it: a wait of Python's threads with a timeout never ends under it.
"""


def fast_clock(folder: Path) -> dict[str, str]:
    """Return the environment of a process whose clock is SPEED times as fast, by a module that is written there."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK)
    return {"PYTHONPATH": f"{folder}:{ROOT}"}


async def stay(server: ServerProcess, project: str, other: str) -> tuple[Usage, Usage, int]:
    """Return what the server uses after the first and the last hour, and how often the page had to connect again.

    After the night another project is opened, and the page acts once more.
    """
    used = []
    async with connect(server.address) as http, _connected(http, project) as (page, cuts):
        for hour in range(1, HOURS + 1):
            await asyncio.sleep(3600 / SPEED)
            print(f"after hour {hour}: {server.usage()}, {len(cuts)} connections were cut")
            if hour in (1, HOURS):
                used.append(server.usage())
        async with _connected(http, other):
            await _act(page)
    return used[0], used[1], len(cuts)


@asynccontextmanager
async def _connected(http: httpx.AsyncClient, project: str) -> AsyncIterator[tuple[PageClient, list[float]]]:
    """Give an open page that connects again when its connection is cut, as a browser's does, and when it was."""
    cuts: list[float] = []
    async with open_page(http, project, wait=False) as page:

        async def follow() -> None:
            while True:
                with suppress(OSError, websockets.WebSocketException):
                    await page.follow()
                cuts.append(time.monotonic())

        followed = asyncio.ensure_future(follow())
        await page.wait(lambda: page.update["shows"])
        yield page, cuts
        followed.cancel()


async def _act(page: PageClient) -> None:
    """Decide something, and see that the project has it."""
    decided = page.values["top-bar"]["decided"]
    await page.act("mask-canvas", "decide", {"kind": "display_name", "id": 1, "name": "after a night"})
    await page.wait(lambda: page.values["top-bar"]["decided"] == decided + 1)
