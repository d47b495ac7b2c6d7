"""`make bench ARGS="people streams loads"`: many people, pages and streams at once.

Measure on a machine that does nothing else.
"""

import asyncio
import tempfile
from pathlib import Path

from bench.load import sessions, streams
from bench.load.server_process import ServerProcess
from bench.load.timings import Timings
from bench.measurement import Measurement
from tests.page_client import connect, open_page

SLOWEST_MS, STREAM_P95_MS, MEMORY_MB, GROWTH_MB = 5000, 1000, 4000, 25
"""What people still wait for; half of a small machine's memory; a leak of 25 kB a page load."""
WARM_UP, LOADS = 100, 1000
"""Loads before the memory is looked at: caches fill, and the last closed pages are kept."""


def people() -> list[Measurement]:
    """Measure twenty people who work at once for two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        sessions.prepare(workspace)
        logins = {"GRS_AUTH": sessions.logins(), "GRS_WORKSPACE": folder}
        with ServerProcess(workspace, "--workspaces", "own", **logins) as server:
            timings, memory = asyncio.run(sessions.run(server, seconds=120))
    print(timings.table())
    return [
        Measurement("20 people: slowest request", 1000 * timings.slowest, budget=SLOWEST_MS),
        Measurement("20 people: memory of all processes", memory, "MB", MEMORY_MB),
        _errors("20 people", timings),
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
    """Measure the memory that a thousand loads of one project's page leave behind."""
    with tempfile.TemporaryDirectory() as folder:
        sessions.prepare_one(Path(folder) / "one")
        with ServerProcess(Path(folder)) as server:
            memory = asyncio.run(_load_pages(server, "one"))
    return [Measurement(f"{LOADS:,} page loads: growth of the server", memory[1] - memory[0], "MB", GROWTH_MB)]


def _errors(what: str, timings: Timings) -> Measurement:
    note = "; ".join(timings.errors[:3])
    return Measurement(f"{what}: requests that failed", len(timings.errors), "", budget=0, note=note)


async def _load_pages(server: ServerProcess, project: str) -> tuple[float, float]:
    """Return the resident MB after the warm-up and after all loads."""
    memory = []
    async with connect(server.address) as http:
        for number in range(WARM_UP + LOADS):
            async with open_page(http, project):
                pass
            if number + 1 in (WARM_UP, WARM_UP + LOADS):
                memory.append(server.own_memory())
    return memory[0], memory[1]
