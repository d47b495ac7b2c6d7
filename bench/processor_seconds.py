"""Processor seconds of each test file and fixture, descendants included; files run in that order, the longest first.

As a plugin, `pytest -p bench.processor_seconds`, it measures them and writes docs/results/test_seconds.json.
"""

import json
import os
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

FILE = Path(__file__).resolve().parents[1] / "docs" / "results" / "test_seconds.json"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
SHORTEST = 0.5
"""Seconds; files and fixtures that take less are left out."""


def sort_longest_first(items: list[pytest.Item]) -> None:
    seconds: dict[str, float] = json.loads(FILE.read_text(encoding="utf-8"))["files"] if FILE.exists() else {}
    root = FILE.parents[2]
    of_file = {path: seconds.get(path.relative_to(root).as_posix(), 0.0) for path in {item.path for item in items}}
    items.sort(key=lambda item: -of_file[item.path])


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(ProcessorSeconds())


class ProcessorSeconds:
    """Measures one test process; under xdist the first process adds up what the others measured."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.fixtures: Counter[str] = Counter()
        self._counted = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        before = seconds_of_descendants()
        result = yield
        self.fixtures[f"{fixturedef.baseid or 'tests'}: {fixturedef.argname}"] += seconds_of_descendants() - before
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        now = seconds_of_descendants()
        self.files[item.nodeid.partition("::")[0]] += now - self._counted
        self._counted = now
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["processor_seconds"] = [dict(self.files), dict(self.fixtures)]
            return
        for name, measured in (("files", self.files), ("fixtures", self.fixtures)):
            kept = {key: round(value, 1) for key, value in measured.most_common() if value >= SHORTEST}
            setattr(self, name, kept)
        total = round(sum(self.files.values()))
        FILE.write_text(json.dumps({"total": total, "files": self.files, "fixtures": self.fixtures}, indent=1) + "\n")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        files, fixtures = node.workeroutput["processor_seconds"]
        self.files.update(files)
        self.fixtures.update(fixtures)


def seconds_of_descendants() -> float:
    """Return the processor seconds that this process and all below it have used so far, ended ones included."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        children.setdefault(int(fields[1]), []).append(int(entry.name))
        ticks[int(entry.name)] = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: see man 5 proc
    todo, total = [os.getpid()], 0
    while todo:
        process = todo.pop()
        total += ticks.get(process, 0)
        todo += children.get(process, ())
    return total / TICKS_PER_SECOND
