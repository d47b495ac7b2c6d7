"""`make bench ARGS="people crowd streams loads day"`: many people, pages and streams at once, and none for long.

Measure on a machine that does nothing else.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path

from bench.load import day, sessions, streams
from bench.load.crowd import beside
from bench.load.server_process import ServerProcess, Usage
from bench.load.timings import Timings
from bench.measurement import Measurement
from tests.page_client import connect, open_page

SLOWEST_MS, STREAM_P95_MS, MEMORY_MB, GROWTH_MB, GROWTH_DESCRIPTORS = 5000, 1000, 4000, 25, 20
"""What people still wait for; half of a small machine's memory; a leak of 13 kB a page load; of one in a hundred."""
WARM_UP, LOADS = 100, 2000
"""Loads before the memory is looked at: caches fill, and the last closed pages are kept."""


def people() -> list[Measurement]:
    """Measure twenty people who work at once for two minutes."""
    return _people(users=10, seconds=120)


def crowd() -> list[Measurement]:
    """Measure thirty people for ten minutes, of whom some bring frames and have policies trained."""
    return _people(users=15, seconds=600, beside=beside)


def _people(users: int, seconds: float, **more: sessions.Beside) -> list[Measurement]:
    name = f"{users * sessions.PAGES} people"
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        sessions.prepare(workspace, users)
        logins = {"GRS_AUTH": sessions.logins(users), "GRS_WORKSPACE": folder}
        with ServerProcess(workspace, "--workspaces", "own", **logins) as server:
            timings, memory = asyncio.run(sessions.run(server, seconds, users, **more))
    print(timings.table())
    return [
        Measurement(f"{name}: slowest request", 1000 * timings.slowest, budget=SLOWEST_MS),
        Measurement(f"{name}: memory of all processes", memory, "MB", MEMORY_MB),
        _errors(name, timings),
    ]


def open_streams() -> list[Measurement]:
    """Measure the requests of others while 200 pages wait for a model server that never answers."""
    with tempfile.TemporaryDirectory() as folder, streams.silent_server() as address:
        model = {"GRS_MODEL": "silent", "GRS_BASE_URL": address, "OPENAI_API_KEY": "none"}
        with ServerProcess(Path(folder), **model) as server:
            timings = asyncio.run(streams.run(server, count=200))
    print(timings.table())
    slowest = 1000 * timings.percentile(95)
    return [
        Measurement("200 waiting pages: 95 % of the slowest route", slowest, budget=STREAM_P95_MS),
        _errors("200 waiting pages", timings),
    ]


def page_loads() -> list[Measurement]:
    """Measure the memory and the descriptors that two thousand loads of one project's page leave behind."""
    with tempfile.TemporaryDirectory() as folder:
        sessions.prepare_one(Path(folder) / "one")
        with ServerProcess(Path(folder)) as server:
            before, after = asyncio.run(_load_pages(server, "one"))
    return _growth(f"{LOADS:,} page loads", before, after)


def idle_day() -> list[Measurement]:
    """Measure what a page that is open for a day leaves behind, and whether its project is open after a night."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as clock:
        shutil.copytree(sessions.prepare_one(Path(folder) / "one"), Path(folder) / "other")
        with ServerProcess(Path(folder), **day.fast_clock(Path(clock) / "first")) as server:
            before, after, cut = asyncio.run(day.stay(server, "one", "other"))
    return [*_growth("idle day", before, after), Measurement("idle day: connections that were cut", cut, "")]


def _growth(name: str, before: Usage, after: Usage) -> list[Measurement]:
    return [
        Measurement(f"{name}: growth of the server", after.memory - before.memory, "MB", GROWTH_MB),
        Measurement(f"{name}: more descriptors", after.descriptors - before.descriptors, "", GROWTH_DESCRIPTORS),
        Measurement(f"{name}: more threads", after.threads - before.threads, "", GROWTH_DESCRIPTORS),
    ]


def _errors(what: str, timings: Timings) -> Measurement:
    note = "; ".join(timings.errors[:3])
    return Measurement(f"{what}: requests that failed", len(timings.errors), "", budget=0, note=note)


async def _load_pages(server: ServerProcess, project: str) -> tuple[Usage, Usage]:
    """Return what the server uses after the warm-up and after all loads."""
    used = []
    async with connect(server.address) as http:
        for number in range(WARM_UP + LOADS):
            async with open_page(http, project):
                pass
            if (number + 1 - WARM_UP) % (LOADS // 5) == 0:
                print(f"after {number + 1 - WARM_UP} loads: {server.usage()}")
            if number + 1 in (WARM_UP, WARM_UP + LOADS):
                used.append(server.usage())
    return used[0], used[1]
