"""How many proposed tasks the arm solves, and why not: `python -m tests.bench.arm PROJECT... [--seeds 8]`.

Projects are folders made by `grs-studio run FRAME --out DIR --until task`. Each proposed task gets the offline rules'
first program, which runs in the sandbox as in the solve check.
"""

import argparse
from pathlib import Path

from pipeline.models.rules import RulesModel
from pipeline.project import Project
from pipeline.router import write
from pipeline.simulation import kit
from pipeline.simulation.sandbox import Sandbox
from pipeline.solving import Solution, solve


def main() -> None:
    told = argparse.ArgumentParser(description="Proposed tasks solved by the arm.")
    told.add_argument("projects", type=Path, nargs="+")
    told.add_argument("--seeds", type=int, default=8)
    told.add_argument("--robot", choices=("arm", "gripper"), default="arm")
    given = told.parse_args()
    solved, seeds, tasks = 0, [], 0
    with Sandbox() as sandbox:
        for folder in given.projects:
            for task in Project.open(folder).tasks() or ():
                program = write(task, kit.Scene.load(folder), RulesModel())
                *_, end = solve(program, folder, sandbox, range(given.seeds), given.robot)
                assert isinstance(end, Solution)
                tasks, solved, seeds = tasks + 1, solved + end.solved, [*seeds, *end.success]
                why = next((reason for reason in end.why if reason), "")
                print(f"{folder.name:20} {task.name:32} {sum(end.success)}/{given.seeds} {why}", flush=True)
    print(f"{solved} of {tasks} tasks ({solved / max(tasks, 1):.0%}), {sum(seeds)} of {len(seeds)} seeds")


if __name__ == "__main__":
    main()
