"""A project that is solved, for the tests of formats that hold demonstrations."""

import shutil
from pathlib import Path

from pipeline.router import Round, write_round
from pipeline.simulation import CheckResult, Program, Report
from pipeline.solving import Solution, solve, write_solution
from pipeline.store import write_json
from pipeline.tasks import Task, task_to_json

PROGRAM = """import kit


def build(scene, seed):
    sim = kit.Simulation(scene, seed)
    sim.scatter("red_cube", "blue_cube")
    sim.goal(kit.on("red_cube", "blue_cube"))
    sim.goal(kit.opened("cabinet", "top_drawer"))
    return sim
"""
SEEDS = (0, 3)


def write(unsolved: Path, folder: Path, sandbox) -> Path:
    """Copy a project that has a twin, and solve a task there; return its folder."""
    shutil.copytree(unsolved, folder)
    task = Task("stack_and_open", "Put the red cube on the blue one, then open the drawer.", ("red_cube",), ("on",))
    write_json(folder / "task.json", task_to_json(task))
    program = Program(PROGRAM, "")
    report = Report((CheckResult("a", True, ""),), (1.0,))
    write_round(Round(0, None, program, report, "done", "", 0.0), folder)
    for step in solve(program, folder, sandbox, SEEDS):
        if isinstance(step, Solution):
            assert all(step.success), step.reasons
            files = write_solution(step, folder)
            next(files)  # everything but the video
            files.close()  # type: ignore[attr-defined]
    return folder
