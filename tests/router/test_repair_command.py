"""`grs-studio repair` runs the router on a program from a folder: rounds as files, the outcome as JSON."""

import json
from pathlib import Path

import pytest
import tabletop

from pipeline.planner import PlannerModel
from pipeline.router import read_rounds, write_program
from pipeline.simulation.kit import Scene
from pipeline.tasks import understand_instruction
from studio.__main__ import main

WORDS = "put the green cube on the blue cube"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A project with a twin in "table", and a program whose checks name an attribute that does not exist."""
    folder = tmp_path_factory.mktemp("repair")
    scene = Scene.load(tabletop.project(folder / "table").folder)
    program = write_program(understand_instruction(WORDS, scene, PlannerModel()), scene, PlannerModel())
    (folder / "program").mkdir()
    (folder / "program" / "simulation.py").write_text(program.simulation)
    (folder / "program" / "checks.py").write_text(program.checks.replace("run.reward", "run.rewards"))
    return folder


@pytest.fixture
def repair(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a function that runs the command and returns its exit code, output and errors."""
    monkeypatch.setenv("GRS_WORKSPACE", str(tmp_path / "workspace"))

    def run(*arguments: object, program: Path = folder / "program") -> tuple[int, str, str]:
        command = ["repair", program, "--scene", folder / "table", "--task", WORDS, "--out", tmp_path / "out"]
        return main([*map(str, [*command, *arguments])]), *capsys.readouterr()

    return run


def test_a_program_is_repaired_on_the_side_that_is_broken_and_every_round_is_a_file(folder, repair, tmp_path):
    before = {file: file.read_bytes() for file in (folder / "table").rglob("*") if file.is_file()}
    code, out, error = repair()
    assert code == 0, error
    outcome, rounds = json.loads(out), read_rounds(tmp_path / "out")
    assert outcome == {"route": "done", "rounds": len(rounds), "first_route": "fix_checks"} and len(rounds) > 1
    assert rounds[-1].report.clean and "rewards" not in rounds[-1].program.checks
    assert (tmp_path / "out" / "trace.jsonl").exists()
    assert before == {file: file.read_bytes() for file in before}, "the project stays as it was"


def test_without_repairs_there_is_one_round_and_without_a_program_one_line(repair, folder, tmp_path):
    _, out, _ = repair("--mode", "none")
    assert json.loads(out) == {"route": "give_up", "rounds": 1, "first_route": "give_up"}
    (tmp_path / "simulation.py").write_text((folder / "program" / "simulation.py").read_text())
    code, _, error = repair(program=tmp_path)
    assert code == 2 and "has no checks.py" in error and error.count("\n") == 1
