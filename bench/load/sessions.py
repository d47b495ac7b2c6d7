"""Twenty people at work: ten users, a project and two pages each, clicks, a moving twin, a task generating."""

import asyncio
import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import websockets

from bench.load.server_process import ROOT, ServerProcess
from bench.load.timings import TimedTransport, Timings
from tests.page_client import PageClient, connect, open_page

SCENE, SIZE = "blocks", (640, 480)
USERS, PAGES = 10, 2
SECONDS_BETWEEN_CLICKS = 1.0
PLAY_SECONDS, PAUSE_SECONDS = 5.0, 10.0
Beside = Callable[[httpx.AsyncClient, int, float, Timings], Iterable[Coroutine[None, None, None]]]
ARRIVAL_SECONDS = 45.0
"""In which everyone opens their pages, on a server that has opened none of the projects before."""


def prepare(workspace: Path, users: int = USERS) -> None:
    first = prepare_one(workspace / "users" / "user0" / f"{SCENE}_0")
    for number in range(1, users):
        shutil.copytree(first, workspace / "users" / f"user{number}" / f"{SCENE}_{number}")


def prepare_one(folder: Path) -> Path:
    command = [sys.executable, "-m", "studio", "run", f"sample_scenes/{SCENE}", "--out", str(folder), "--until", "task"]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return folder


def logins(users: int = USERS) -> str:
    return "\n".join(f"user{number}:password{number}" for number in range(users))


async def run(
    server: ServerProcess, seconds: float, users: int = USERS, beside: Beside = lambda *_: ()
) -> tuple[Timings, float]:
    """Let everyone work for so many seconds; return the times and the largest memory in MB.

    `beside` gives what a user does in further pages, by its client, its number, the end, and where times are noted.
    """
    timings, largest, end = Timings(), 0.0, time.monotonic() + seconds

    async def watch_memory() -> None:
        nonlocal largest
        while True:
            largest = max(largest, await asyncio.to_thread(server.memory))
            await asyncio.sleep(1)

    watcher = asyncio.ensure_future(watch_memory())
    async with AsyncExitStack() as stack:
        people = []
        for number in range(users):
            http = await stack.enter_async_context(connect(server.address, TimedTransport(timings)))
            await http.post("/login", data={"username": f"user{number}", "password": f"password{number}"})
            people += [_person(http, number, page, end, timings) for page in range(PAGES)]
            people += beside(http, number, end, timings)
        for outcome in await asyncio.gather(*people, return_exceptions=True):
            if isinstance(outcome, BaseException):
                timings.errors.append(f"{type(outcome).__name__}: {outcome}"[:300])
    watcher.cancel()
    return timings, largest


async def _person(http: httpx.AsyncClient, number: int, page_number: int, end: float, timings: Timings) -> None:
    chance = random.Random(10 * number + page_number)
    await asyncio.sleep(chance.uniform(0, ARRIVAL_SECONDS))
    began = time.perf_counter()
    async with open_page(http, f"{SCENE}_{number}") as page:
        timings.add("page opened, until its project is shown", time.perf_counter() - began)
        token = page.values["mask-canvas"]["token"]
        async with _twin(http, page, timings):
            if page_number == 0:
                task = page.values["task-cards"]["tasks"][0]["instruction"]
                await _shown(page, timings, "Generate", "generate", "click", inputs=(task, "route"))
            click = "first click of a page, until its mask is there"
            while time.monotonic() < end:
                await _click(page, token, chance, timings, click)
                click = "click, until its mask is there"
                await http.get(f"/project/{token}/colour.jpg")
                if chance.random() < 0.2:
                    await _shown(page, timings, "masks refreshed", "mask-canvas", "changed")
                await asyncio.sleep(chance.uniform(0.5, 1.5) * SECONDS_BETWEEN_CLICKS)
            if page_number == 0:
                await _shown(page, timings, "Stop", "status-bar", "stop")
    await _see_only_ones_own(http, number)


async def _shown(page: PageClient, timings: Timings, name: str, *event: Any, **more: Any) -> None:
    """Send an event of the page and wait until its answer is shown."""
    began = time.perf_counter()
    await page.act(*event, **more)
    timings.add(f"{name}, until it is shown", time.perf_counter() - began)


async def _click(page: PageClient, token: str, chance: random.Random, timings: Timings, name: str) -> None:
    point = [chance.uniform(0.2, 0.8) * SIZE[0], chance.uniform(0.3, 0.8) * SIZE[1]]
    began = time.perf_counter()
    answer = await page.ask("mask-canvas", {"token": token, "kind": "prompt", "points": [point], "labels": [1]})
    timings.add(name, time.perf_counter() - began)
    if "error" in answer and "nothing" not in answer["error"].lower():
        timings.errors.append(f"click: {answer['error']}")


@asynccontextmanager
async def _twin(http: httpx.AsyncClient, page: PageClient, timings: Timings) -> AsyncIterator[None]:
    view = page.values["twin"]["token"]
    await http.get(f"/viewer/{view}/geometry")
    await http.get(f"/viewer/{view}/photo.png")
    address = f"ws{str(http.base_url).removeprefix('http').rstrip('/')}/viewer/{view}/ws"
    cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    began = time.perf_counter()
    origin, headers = websockets.Origin(http.headers["origin"]), {"cookie": cookies}
    async with websockets.connect(address, additional_headers=headers, origin=origin) as socket:
        await socket.recv()
        timings.add("twin, until its first picture", time.perf_counter() - began)

        async def watch() -> None:
            async for _ in socket:
                pass

        async def play() -> None:
            while True:
                for command, seconds in (("play", PLAY_SECONDS), ("pause", PAUSE_SECONDS)):
                    await socket.send(json.dumps({"op": command}))
                    await asyncio.sleep(seconds)

        tasks = [asyncio.ensure_future(watch()), asyncio.ensure_future(play())]
        yield
        for task in tasks:
            task.cancel()


async def _see_only_ones_own(http: httpx.AsyncClient, number: int) -> None:
    async with open_page(http) as page:
        names = {project["name"] for project in page.values["gallery"]["projects"]}
        others = {name for name in names if name.startswith(SCENE)} - {f"{SCENE}_{number}"}
        assert f"{SCENE}_{number}" in names and not others, f"user{number} sees {names}"
