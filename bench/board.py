"""`python -m bench.board`, or `make bench ARGS=board`: the project board with 10,000 projects.

The projects are planted: folders with the files that the index reads. A page of the gallery is made as for a browser,
which gets it as JSON.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import orjson

from bench.measurement import Measurement, clock, lines, ms
from bench.planted_projects import plant_projects
from studio.board.board_requests import MAX_AT_ONCE, project_record
from studio.board.project_index import FIRST_SECONDS, BoardQuery, ProjectIndex

COUNT, TIMES = 10_000, 20
QUERIES = {
    "words": BoardQuery("red mug"),
    "a state": BoardQuery(state="solved"),
    "a verdict": BoardQuery(verdict="rejected"),
    "a tag, sorted by confidence": BoardQuery(tag="kitchen", sort="confidence", descending=False),
    "words, state and verdict": BoardQuery("bowl", state="twin", verdict="none", sort="seconds"),
    "nothing, grouped by verdict": BoardQuery(group="verdict"),
    "nothing, the last page by title": BoardQuery(sort="title", offset=COUNT - 60),
}


def board() -> list[Measurement]:
    """Measure the first screen and each kind of filter."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder)
        plant_projects(workspace, COUNT)
        rows = [
            _row("first screen without an index", _first_screens(workspace, fresh=True, times=3), 1000),
            _row("the whole index, made anew", _rebuilds(workspace), None),
            _row("first screen of a started studio", _first_screens(workspace, fresh=False, times=TIMES), 1000),
        ]
        index = ProjectIndex(workspace)
        index.refresh()
        rows.append(_row("all folders looked at, after the first screen", clock(index.refresh, TIMES), None))
        rows += [_row(f"filter by {what}", _filter(index, query), 100) for what, query in QUERIES.items()]
        index.close()
        return rows


def _row(what: str, seconds: list[float], budget: float | None) -> Measurement:
    note = f"95th percentile of {len(seconds)}, median {ms(seconds):.0f} ms"
    return Measurement(f"{COUNT:,} projects: {what} ", ms(seconds, 95), budget=budget, note=note)


def _first_screen(index: ProjectIndex, seconds: float = FIRST_SECONDS) -> bytes:
    if index.known() <= MAX_AT_ONCE:
        index.refresh(seconds)
    return _page(index, BoardQuery())


def _page(index: ProjectIndex, query: BoardQuery) -> bytes:
    found = index.find(query)
    rows = [project_record(name, facts) for name, facts in found.rows]
    return orjson.dumps({"projects": rows, "facets": found.facets})


def _first_screens(workspace: Path, fresh: bool, times: int) -> list[float]:
    seconds: list[float] = []
    for _ in range(times):
        if fresh:
            (workspace / ".index.sqlite").unlink(missing_ok=True)
        index = ProjectIndex(workspace)
        seconds += clock(lambda index=index: _first_screen(index))
        index.close()
    return seconds


def _rebuilds(workspace: Path) -> list[float]:
    (workspace / ".index.sqlite").unlink(missing_ok=True)
    index = ProjectIndex(workspace)
    seconds = clock(lambda: index.refresh())
    index.close()
    return seconds


def _filter(index: ProjectIndex, query: BoardQuery) -> list[float]:
    work: Callable[[], object] = lambda: _page(index, query)  # noqa: E731
    return clock(work, TIMES)


if __name__ == "__main__":
    print(*lines(board()), sep="\n")
    sys.exit(0)
