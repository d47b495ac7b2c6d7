"""`grs-studio repair` runs the router on a program from a folder: rounds as files, the outcome as JSON."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tabletop

from pipeline.frame import Frame, Intrinsics
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import read_rounds, write_program
from pipeline.simulation.kit import Scene
from pipeline.tasks import understand_instruction

COMMAND = Path(sys.executable).with_name("grs-studio")
WORDS = "put the green cube on the blue cube"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A project with a twin in "table", and a program whose checks name an attribute that does not exist."""
    folder = tmp_path_factory.mktemp("repair")
    camera = Intrinsics(32, 24, 40, 40, 16, 12)
    frame = Frame(np.zeros((24, 32, 3), np.uint8), np.ones((24, 32), np.float32), camera)
    tabletop.write(Project.create(folder / "table", frame).folder)
    scene = Scene.load(folder / "table")
    program = write_program(understand_instruction(WORDS, scene, PlannerModel()), scene, PlannerModel())
    (folder / "program").mkdir()
    (folder / "program" / "simulation.py").write_text(program.simulation)
    (folder / "program" / "checks.py").write_text(program.checks.replace("run.reward", "run.rewards"))
    return folder


def repair(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GRS_", "OPENAI_"))}
    command = [COMMAND, "repair", folder / "program", "--scene", folder / "table", "--task", WORDS, *arguments]
    return subprocess.run([*map(str, command)], capture_output=True, text=True, env=environment, timeout=300)


def test_a_program_is_repaired_on_the_side_that_is_broken_and_every_round_is_a_file(folder, tmp_path):
    before = {file: file.read_bytes() for file in (folder / "table").rglob("*") if file.is_file()}
    done = repair(folder, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    outcome, rounds = json.loads(done.stdout), read_rounds(tmp_path)
    assert outcome == {"route": "done", "rounds": len(rounds), "first_route": "fix_checks"} and len(rounds) > 1
    assert rounds[-1].report.clean and "rewards" not in rounds[-1].program.checks
    assert (tmp_path / "trace.jsonl").exists()
    assert before == {file: file.read_bytes() for file in before}, "the project stays as it was"


def test_without_repairs_there_is_one_round(folder, tmp_path):
    done = repair(folder, "--out", tmp_path, "--mode", "none")
    assert json.loads(done.stdout) == {"route": "give_up", "rounds": 1, "first_route": "give_up"}


def test_a_folder_without_a_program_or_a_twin_is_refused_in_one_line(folder, tmp_path):
    empty = shutil.copytree(folder, tmp_path / "copy")
    (empty / "program" / "checks.py").unlink()
    done = repair(empty, "--out", tmp_path / "out")
    assert done.returncode == 2 and "has no checks.py" in done.stderr and len(done.stderr.strip().splitlines()) == 1
