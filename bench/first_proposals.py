"""Measure the first proposed task of each photograph: on how many layouts robots solve it, by photograph.

    python -m bench.first_proposals PROJECT... [--robot arm arm-suction] [--seeds 8] [--out FILE.json]

Projects are folders made by `grs-studio run FRAME --out DIR --until scene`. The first task is chosen as in the app:
candidates are planned on three layouts, and up to four that can be planned are tried on two until one is solved. Only
as many are planned as it takes to know the first. Its first program then runs in the sandbox as in the solve check.
FILE.json keeps the results; a second call measures only what is missing there. Processor seconds include all child
processes.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.arm import measure, print_result, share
from bench.processor_seconds import seconds_of_descendants
from pipeline.feasibility import plan_candidates
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.rehearsal import rehearse
from pipeline.run.cut_off import doubtful_objects
from pipeline.run.task_stages import TRIED
from pipeline.simulation import kit
from pipeline.simulation.graspability import why_not_picked
from pipeline.simulation.robots import ROBOTS
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.store import read_json, write_json
from pipeline.tasks import Task, ask_for_proposals


def main() -> None:
    parser = argparse.ArgumentParser(description="First proposals of photographs solved by robots.")
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--robot", choices=tuple(ROBOTS), nargs="+", default=["arm", "arm-suction"])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--out", type=Path, help="JSON file that keeps the results")
    arguments = parser.parse_args()
    kept: dict[str, Any] = (read_json(arguments.out) if arguments.out else None) or {}
    results: dict[str, list[dict[str, Any]]] = {robot: [] for robot in arguments.robot}
    for folder in arguments.projects:
        for robot in arguments.robot:
            key = f"{robot} {folder.name}"
            if key not in kept:
                kept[key] = first_solved(folder, robot, arguments.seeds)
                if arguments.out:
                    write_json(arguments.out, kept)
            results[robot].append(kept[key])
            print_result(key, kept[key]["task"], kept[key])
    for robot, of_robot in results.items():
        print(f"{robot}: {summary(of_robot)}")


def first_solved(folder: Path, robot: str, seeds: int) -> dict[str, Any]:
    """Return {task, success, crashes, reasons, processor_seconds}: one entry a seed, none without a proposal."""
    before = seconds_of_descendants()
    result: dict[str, Any] = {"success": [], "crashes": [], "reasons": []}
    with Sandbox() as sandbox:
        task = first_proposal(folder, robot, sandbox)
        if task:
            result = measure(task, folder, sandbox, seeds, robot)
    instruction = task.instruction if task else "no proposal"
    return {"task": instruction, **result, "processor_seconds": seconds_of_descendants() - before}


def first_proposal(folder: Path, robot: str, sandbox: Sandbox) -> Task | None:
    """Return the task that comes first for a robot; None if it can do none. Raises SandboxError."""
    tried: list[Task] = []
    for task in feasible(folder, robot, sandbox):
        if len(tried) == TRIED:
            return task  # what was not tried comes before what failed
        tried.append(task)
        if rehearse(task, folder, sandbox, robot).solved:
            return task
    return tried[0] if tried else None


def feasible(folder: Path, robot: str, sandbox: Sandbox) -> Iterator[Task]:
    """Yield the candidates that can be planned, in the order of the cards. Raises SandboxError."""
    scene, project = kit.Scene.load(folder), Project.open(folder)
    candidates = ask_for_proposals(
        scene, PlannerModel(), not_picked=why_not_picked(scene, robot), doubtful=doubtful_objects(project, scene),
        alternatives=True,
    ).tasks  # fmt: skip
    return (one.task for one in plan_candidates(candidates, folder, sandbox, robot) if not one.reason)


def summary(results: list[dict[str, Any]]) -> str:
    """Return layouts solved, photographs under half, those without a proposal, and processor seconds."""
    seeds = [success for result in results for success in result["success"]]
    tried = [result for result in results if result["success"]]
    low = sum(2 * sum(result["success"]) < len(result["success"]) for result in tried)
    seconds = sum(result["processor_seconds"] for result in results)
    return (
        f"{share(sum(seeds), len(seeds))} layouts of {len(tried)} photographs, {low} under half, "
        f"{len(results) - len(tried)} without a proposal, {seconds:.0f} s of processor"
    )


if __name__ == "__main__":
    main()
