"""Load tests: `make load`, or `make load ARGS="sessions streams pages"` for some; prints tables in Markdown.

LOAD_SECONDS, LOAD_STREAMS and LOAD_PAGES in the environment change how long, and how many.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.load import page_loads, sessions, streams
from tests.load.server_process import ServerProcess

SLOWEST, MEMORY_MB, STREAM_P95, GROWTH_MB = 5.0, 4000.0, 1.0, 25.0
"""Bars: seconds of any request, MB of all processes, seconds of the slowest route's 95 %, MB over all page loads."""


def measure_sessions(workspace: Path) -> Iterator[str]:
    sessions.prepare(workspace)
    seconds = float(os.environ.get("LOAD_SECONDS", 120))
    logins = {"GRS_AUTH": sessions.logins(), "GRS_WORKSPACE": str(workspace)}
    with ServerProcess(workspace, "--workspaces", "own", **logins) as server:
        timings, memory = asyncio.run(sessions.run(server, seconds))
    yield timings.table()
    yield f"\nLargest memory of all processes: {memory:.0f} MB."
    yield from timings.errors[:20]
    if timings.errors or timings.slowest > SLOWEST or memory > MEMORY_MB:
        yield f"OVER: {len(timings.errors)} errors, slowest {timings.slowest:.1f} s, {memory:.0f} MB"


def measure_streams(workspace: Path) -> Iterator[str]:
    count = int(os.environ.get("LOAD_STREAMS", 200))
    with streams.silent_server() as address:
        model = {"GRS_MODEL": "silent", "GRS_BASE_URL": address, "OPENAI_API_KEY": "none"}
        with ServerProcess(workspace, **model) as server:
            timings = asyncio.run(streams.run(server, count))
    yield timings.table()
    yield from timings.errors[:20]
    if timings.errors or timings.percentile(95) > STREAM_P95:
        yield f"OVER: {len(timings.errors)} errors, 95 % of the slowest route {timings.percentile(95):.2f} s"


def measure_pages(workspace: Path) -> Iterator[str]:
    count = int(os.environ.get("LOAD_PAGES", 1000))
    sessions.prepare_one(workspace / "one")
    with ServerProcess(workspace) as server:
        memory = asyncio.run(page_loads.run(server, "one", count))
    yield "| page loads | " + " | ".join(str(loads) for loads, _ in memory) + " |"
    yield "|---" * (len(memory) + 1) + "|"
    yield "| MB | " + " | ".join(f"{value:.0f}" for _, value in memory) + " |"
    growth = memory[-1][1] - memory[0][1]
    if growth > GROWTH_MB:
        yield f"OVER: {growth:.0f} MB more after {count} page loads"


MEASUREMENTS = {"sessions": measure_sessions, "streams": measure_streams, "pages": measure_pages}


@contextmanager
def temporary_workspace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def main(names: list[str]) -> int:
    """Measure what is named, or everything; return 1 if a bar is not met."""
    over = False
    for name in names or MEASUREMENTS:
        print(f"\n### {name}\n", flush=True)
        with temporary_workspace() as workspace:
            for line in MEASUREMENTS[name](workspace):
                print(line, flush=True)
                over |= line.startswith("OVER")
    return int(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
