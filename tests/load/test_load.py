"""Many people, pages and streams at once: the bars of docs/results/load.md hold (`make soak ARGS="tests/load -s"`)."""

from pathlib import Path

import pytest
from async_calls import run_async

from tests.load import sessions, streams
from tests.load.server_process import ServerProcess
from tests.page_client import connect, open_page

WARM_UP = 100
"""Loads before the memory is looked at: caches fill, and the last closed pages are kept."""


async def load_pages(server: ServerProcess, project: str, count: int) -> list[tuple[int, float]]:
    """Load the project's page so often; return numbers of loads with the resident MB after them, ten times."""
    memory: list[tuple[int, float]] = []
    async with connect(server.address) as http:
        for number in range(WARM_UP + count + 1):
            if number >= WARM_UP and (number - WARM_UP) % max(1, count // 10) == 0:
                memory.append((number - WARM_UP, server.own_memory()))
            async with open_page(http, project):
                pass
    return memory


SLOWEST_S, MEMORY_MB, STREAM_P95_S, GROWTH_MB = 5.0, 4000.0, 1.0, 25.0


@pytest.mark.soak
def test_twenty_people_work_at_once(tmp_path: Path):
    sessions.prepare(tmp_path)
    logins = {"GRS_AUTH": sessions.logins(), "GRS_WORKSPACE": str(tmp_path)}
    with ServerProcess(tmp_path, "--workspaces", "own", **logins) as server:
        timings, memory = run_async(sessions.run(server, seconds=120))
    print(timings.table(), f"Largest memory of all processes: {memory:.0f} MB.", sep="\n\n")
    assert not timings.errors and timings.slowest <= SLOWEST_S and memory <= MEMORY_MB


@pytest.mark.soak
def test_two_hundred_pages_that_wait_for_a_silent_model_stop_nobody(tmp_path: Path):
    with streams.silent_server() as address:
        model = {"GRS_MODEL": "silent", "GRS_BASE_URL": address, "OPENAI_API_KEY": "none"}
        with ServerProcess(tmp_path, **model) as server:
            timings = run_async(streams.run(server, count=200))
    print(timings.table())
    assert not timings.errors and timings.percentile(95) <= STREAM_P95_S


@pytest.mark.soak
def test_a_thousand_page_loads_leave_the_memory_as_it_is(tmp_path: Path):
    sessions.prepare_one(tmp_path / "one")
    with ServerProcess(tmp_path) as server:
        memory = run_async(load_pages(server, "one", count=1000))
    print("| page loads | " + " | ".join(str(loads) for loads, _ in memory) + " |")
    print("| MB | " + " | ".join(f"{value:.0f}" for _, value in memory) + " |")
    assert memory[-1][1] - memory[0][1] <= GROWTH_MB
