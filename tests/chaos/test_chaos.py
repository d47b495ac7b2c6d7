"""Whatever kills it, fills its disk or cuts off its files: nothing confirmed is lost, and every project opens again."""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from pipeline.decisions import read_log
from pipeline.models.trace.recorder import read_trace
from pipeline.project import Project, is_free
from pipeline.router import next_round_number

FIRST = int(os.environ.get("SOAK_SEED", "0"))
SEEDS = [*range(10), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(FIRST + 10, FIRST + 310))]
CUT = (
    "decisions.jsonl", "project.json", "descriptions.json", "matches.json", "scene.json", "tasks.json", "task.json",
    "segments/coco.json", "segments/automatic/coco.json", "segments/masks.png", "trace.jsonl", "rounds.jsonl",
    "rounds/000/report.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def parent() -> Iterator[subprocess.Popen[str]]:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | one_thread | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command, pipe = [sys.executable, str(Path(__file__).with_name("lives.py"))], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield process
        process.kill()


class Known:
    def __init__(self) -> None:
        self.decisions: list[Any] = []
        self.asked: set[float] = set()
        self.rounds = 0

    def take(self, line: dict[str, Any]) -> None:
        if "decisions" in line:
            assert line["at"] == len(self.decisions), f"a decision that was not confirmed came between: {line}"
            self.decisions += line["decisions"]
        if "asked" in line:
            self.asked.add(line["asked"])
        if "round" in line:
            self.rounds = max(self.rounds, line["round"] + 1)


def kill_a_life(parent: subprocess.Popen[str], folder: Path, chance: random.Random, known: Known) -> None:
    """Let a process work on the project, and kill it after some acts, in the middle of the next."""
    wanted = {"folder": str(folder), "seed": chance.randrange(10**9), "disk_fills": chance.random() < 0.4}
    assert parent.stdin and parent.stdout
    parent.stdin.write(json.dumps(wanted) + "\n")
    parent.stdin.flush()
    until, lines = chance.choice((1, 1, 2, 4, 9, 21)), []
    while not lines or "ended" not in lines[-1]:
        lines.append(json.loads(parent.stdout.readline()))
        if len(lines) == until:
            time.sleep(chance.random() ** 2 * 0.03)  # some way into the next act
            with suppress(ProcessLookupError):
                os.kill(lines[0]["pid"], 9)
    assert not [line["fault"] for line in lines if "fault" in line]
    for line in lines:
        known.take(line)


def check(folder: Path, known: Known) -> None:
    if not (folder / "project.json").exists():
        assert not known.decisions and (not folder.exists() or is_free(folder)), "killed while it was made"
        return
    project = Project.open(folder)
    found = [[one.kind, json.loads(json.dumps(one.data))] for one in project.decisions]
    assert found[: len(known.decisions)] == known.decisions
    assert len(found) <= len(known.decisions) + 3, "at most the act in flight is there without being confirmed"
    known.decisions = found
    assert next_round_number(folder) >= known.rounds
    recorded = {json.loads(one["input.value"])["n"] for one in read_trace(folder / "trace.jsonl") if "name" in one}
    assert known.asked <= recorded
    project.stages()
    project.close()


def cut_a_file(folder: Path, chance: random.Random, known: Known) -> None:
    """Take the end of a file, and what was in it from what is known."""
    path = folder / chance.choice(CUT)
    if not path.is_file() or not (folder / "project.json").exists():
        return
    os.truncate(path, chance.randint(0, path.stat().st_size))
    if path.name == "decisions.jsonl":
        known.decisions = known.decisions[: len(read_log(path))]
    if path.name == "trace.jsonl":
        known.asked = set()


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_confirmed_is_lost_and_the_project_opens_again(parent, tmp_path, seed):
    chance, known, folder = random.Random(seed), Known(), tmp_path / "project"
    for _ in range(3):
        kill_a_life(parent, folder, chance, known)
        check(folder, known)
        if chance.random() < 0.5:
            cut_a_file(folder, chance, known)
            check(folder, known)
    if not (folder / "project.json").exists():
        return
    project = Project.open(folder)
    project.begin_writing()
    assert not list(folder.rglob(".*.part")), "what the killed left is gone"
    project.segments(), project.tasks(), project.task(), project.rounds(), project.solution()
    before = len(project.decisions)
    project.decide("not_object", id=1, value=True)
    project.undo()
    assert len(Project.open(folder).decisions) == before + 2
    project.close()
