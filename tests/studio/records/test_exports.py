"""Exports for download: one for equal requests, few at once, and none goes on that nobody waits for."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

from pipeline.errors import StudioError
from studio.batch import bounded_process
from studio.records import exports
from studio.records.exports import AT_ONCE, WAITING, Exports

CHILD = """#!/bin/bash
for argument in "$@"; do case $argument in --out=*) out=${argument#--out=} ;; esac; done
echo $$ >> "%(folder)s/started"
until [ -e "%(folder)s/go" ]; do sleep 0.02; done
[ ! -e "%(folder)s/broken" ] || { echo "left out: a" >&2; echo "grs-studio: no twin yet" >&2; exit 2; }
echo x > "$out"
"""


@pytest.fixture
def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which each child leaves its process id in "started", and ends once there is "go"."""
    script = tmp_path / "child"
    script.write_text(CHILD % {"folder": tmp_path})
    script.chmod(0o755)
    (tmp_path / "started").touch()
    monkeypatch.setattr(bounded_process, "sys", SimpleNamespace(executable=str(script)))
    monkeypatch.setattr(exports, "LOOK_SECONDS", 0.02)
    return tmp_path


def started(child: Path) -> list[int]:
    return [int(line) for line in (child / "started").read_text().split()]


def is_alive(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and ") Z" not in stat.read_text()


waits = AsyncMock(return_value=False)
"""Says of a page that it waits."""


async def until(condition: Any) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def session(version: int = 0) -> Any:
    return SimpleNamespace(project=SimpleNamespace(folder=Path("/lab/one")), log=SimpleNamespace(version=version))


async def leave(response: Any) -> None:
    """Send a response to a page that has left already."""
    receive = AsyncMock(return_value={"type": "http.disconnect"})
    await response({"type": "http", "method": "GET", "headers": []}, receive, AsyncMock())


async def test_equal_requests_share_one_export_which_is_removed_with_the_last_of_them(child: Path):
    all = Exports()
    answers = [asyncio.create_task(all.answer(session(), "zip", waits)) for _ in range(44)]
    await until(lambda: started(child))
    (child / "go").touch()
    responses = await asyncio.gather(*answers)
    (path,) = {response.path for response in responses}
    assert len(started(child)) == 1 and Path(path).read_text() == "x\n"
    for response in responses:
        assert Path(path).exists()
        await leave(response)
    await until(lambda: not Path(path).exists())
    other = await all.answer(session(version=1), "zip", waits)
    assert len(started(child)) == 2, "the project has changed"
    await leave(other)


async def test_few_exports_are_written_at_once_and_those_that_nobody_waits_for_end(child: Path):
    gone: set[int] = set()
    all, most = Exports(), AT_ONCE + WAITING
    leaves = [AsyncMock(side_effect=lambda n=n: n in gone) for n in range(most)]
    answers = [asyncio.create_task(all.answer(session(n), "zip", leaves[n])) for n in range(most)]
    await until(lambda: len(started(child)) == AT_ONCE)
    with pytest.raises(StudioError, match="try again in a minute"):
        await all.answer(session(most), "zip", waits)
    gone.add(0)
    with pytest.raises(StudioError):
        await answers[0]
    await until(lambda: len(started(child)) == AT_ONCE + 1)
    assert sum(map(is_alive, started(child))) == AT_ONCE and is_alive(started(child)[-1])
    waiting = range(AT_ONCE + 1, most)  # they leave first: a place that is free is the next one's
    for numbers in (waiting, range(most)):
        gone.update(numbers)
        results = await asyncio.gather(*(answers[n] for n in numbers), return_exceptions=True)
        assert not [one for one in results if not isinstance(one, StudioError)]
    await until(lambda: not any(map(is_alive, started(child))))
    assert len(started(child)) == AT_ONCE + 1, "those that only waited never began"


async def test_an_export_that_fails_is_told_in_the_line_that_its_command_prints(child: Path):
    for name in ("go", "broken"):
        (child / name).touch()
    with pytest.raises(StudioError, match=r"^no twin yet$"):
        await Exports().answer(session(), "zip", waits)
