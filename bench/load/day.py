"""One page that is open for a day while nobody does anything, with the studio's clock run faster by libfaketime."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import websockets

from bench.load.server_process import ServerProcess, Usage
from bench.measurement import NotMeasured
from tests.page_client import PageClient, connect, open_page

SPEED, HOURS = 144, 24
"""A day in ten minutes. Pings of 20 s come every 0.14 s, so a busy machine cuts connections, as a bad network does."""
LIBRARIES = ("/usr/lib", "/usr/local/lib")


def fast_clock() -> dict[str, str]:
    """Return the environment of a process whose clock is SPEED times as fast. Raises NotMeasured."""
    given = os.environ.get("LIBFAKETIME")
    found = [given] if given else [str(one) for top in LIBRARIES for one in Path(top).rglob("libfaketimeMT.so.1")]
    if not found:
        raise NotMeasured("libfaketime is not installed (apt-get install libfaketime, or LIBFAKETIME=FILE)")
    return {"LD_PRELOAD": found[0], "FAKETIME": f"+0 x{SPEED}", "FAKETIME_DONT_RESET": "1"}


async def stay(server: ServerProcess, project: str, other: str) -> tuple[Usage, Usage, int]:
    """Return what the server uses after the first and the last hour, and how often the page had to connect again.

    After the night another project is opened, and the page acts once more.
    """
    again, used = 0, []
    async with connect(server.address) as http, open_page(http, project) as page:

        async def follow() -> None:
            nonlocal again
            while True:
                again += 1
                with suppress(OSError, websockets.WebSocketException):
                    await page.follow()

        followed = asyncio.ensure_future(follow())
        for hour in range(1, HOURS + 1):
            await asyncio.sleep(3600 / SPEED)
            if hour % 6 in (0, 1):
                print(f"after hour {hour}: {server.usage()}, {again - 1} connections were cut")
            if hour in (1, HOURS):
                used.append(server.usage())
        async with open_page(http, other):
            await _act(page)
        followed.cancel()
    return used[0], used[1], again - 1


async def _act(page: PageClient) -> None:
    """Decide something, and see that the project has it."""
    decided = page.values["top-bar"]["decided"]
    await page.act("mask-canvas", "decide", {"kind": "display_name", "id": 1, "name": "after a night"})
    await page.wait(lambda: page.values["top-bar"]["decided"] == decided + 1)
