"""Measure how many proposed tasks the arm solves, and why others fail.

    python -m tests.bench.arm PROJECT... [--seeds 8]

Projects are folders made by `grs-studio run FRAME --out DIR --until task`. Each proposed task gets the planner's first
program, which runs in the sandbox as in the solve check.
"""

import argparse
from pathlib import Path

from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.simulation import kit
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.solving import Solution, solve


def main() -> None:
    parser = argparse.ArgumentParser(description="Proposed tasks solved by the arm.")
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--robot", choices=("arm", "gripper"), default="arm")
    arguments = parser.parse_args()
    solved, seeds, tasks = 0, [], 0
    with Sandbox() as sandbox:
        for folder in arguments.projects:
            for task in Project.open(folder).tasks() or ():
                program = write_program(task, kit.Scene.load(folder), PlannerModel())
                *_, solution = solve(program, folder, sandbox, range(arguments.seeds), arguments.robot)
                assert isinstance(solution, Solution)
                tasks, solved, seeds = tasks + 1, solved + solution.solved, [*seeds, *solution.success]
                reason = next(filter(None, solution.reasons), "")
                print(f"{folder.name:20} {task.name:32} {sum(solution.success)}/{arguments.seeds} {reason}", flush=True)
    print(f"{solved} of {tasks} tasks ({solved / max(tasks, 1):.0%}), {sum(seeds)} of {len(seeds)} seeds")


if __name__ == "__main__":
    main()
