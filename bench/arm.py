"""Measure how many proposed tasks a robot solves, and why others fail.

    python -m bench.arm PROJECT... [--robot arm arm-suction] [--first 5] [--seeds 8] [--out FILE.json]

Projects are folders made by `grs-studio run FRAME --out DIR --until scene`. The offline planner proposes tasks for the
robot, as in the app: those that a dry run finds feasible; --kept takes the project's own. Each of the first ones gets
the planner's first program, which runs in the sandbox as in the solve check. FILE.json keeps each result, and a second
call measures only what is missing there. A task counts as solved from half of the seeds on; a crash is a failed seed.
Layout 0 is the photographed one, for which the dry run chose the proposals. Results are summed by robot and by the
folder that holds the projects (samples/kitchen, reference/uoc_0).
"""

import argparse
import re
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from scipy.stats import binomtest

from pipeline.feasibility import best_first, plan_candidates
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.run.cut_off import doubtful_objects
from pipeline.simulation import kit
from pipeline.simulation.graspability import why_not_picked
from pipeline.simulation.robots import ROBOTS
from pipeline.simulation.sandbox.sandbox import Sandbox
from pipeline.solving import Solution, solve
from pipeline.store import read_json, write_json
from pipeline.tasks import Task, ask_for_proposals


def main() -> None:
    parser = argparse.ArgumentParser(description="Proposed tasks solved by a robot.")
    parser.add_argument("projects", type=Path, nargs="+")
    parser.add_argument("--first", type=int, default=5, help="proposals of each project (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--robot", choices=tuple(ROBOTS), nargs="+", default=["arm"])
    parser.add_argument("--kept", action="store_true", help="measure the proposals that the project keeps")
    parser.add_argument("--out", type=Path, help="JSON file that keeps the results")
    arguments = parser.parse_args()
    kept: dict[str, Any] = (read_json(arguments.out) if arguments.out else None) or {}
    measured: list[Measured] = []
    with Sandbox() as sandbox:
        for folder, robot in product(arguments.projects, arguments.robot):
            if arguments.kept:
                proposed, refused = Project.open(folder).tasks() or (), 0
            else:
                proposed, refused = proposals_for(folder, robot, sandbox)
            print(f"{folder.name:20} {robot:11} {len(proposed)} proposals, {refused} more are not for it", flush=True)
            for task in proposed[: arguments.first]:
                key = f"{robot}: {folder.name}: {task.instruction}"
                if key not in kept:
                    kept[key] = measure(task, folder, sandbox, arguments.seeds, robot)
                    if arguments.out:
                        write_json(arguments.out, kept)
                measured.append(Measured(robot, folder.absolute().parent.name, folder.name, kept[key]))
                print_result(folder.name, task.name, kept[key])
    for robot in arguments.robot:
        print_summary(robot, [m for m in measured if m.robot == robot])


@dataclass(frozen=True)
class Measured:
    """Result of one proposed task."""

    robot: str
    source: str
    """Name of the folder that holds the project."""
    scene: str
    result: dict[str, Any]
    """See `measure`."""


def proposals_for(folder: Path, robot: str, sandbox: Sandbox) -> tuple[tuple[Task, ...], int]:
    """Return the planner's proposals that the robot can do by the dry run, and how many it cannot: as the app does."""
    scene, project = kit.Scene.load(folder), Project.open(folder)
    candidates = ask_for_proposals(
        scene,
        PlannerModel(),
        not_picked=why_not_picked(scene, robot),
        doubtful=doubtful_objects(project, scene),
        alternatives=True,
    ).tasks
    results = best_first(list(plan_candidates(candidates, folder, sandbox, robot)), 12)
    able = tuple(result.task for result in results if not result.reason)
    return able, len(results) - len(able)


def measure(task: Task, folder: Path, sandbox: Sandbox, seeds: int, robot: str) -> dict[str, Any]:
    """Return {success, crashes, reasons}: one entry a seed. Raises SandboxError."""
    try:
        program = write_program(task, kit.Scene.load(folder), PlannerModel())
    except ModelError as error:
        return {"success": [False] * seeds, "crashes": [""] * seeds, "reasons": [f"no program: {error}"] * seeds}
    *_, solution = solve(program, folder, sandbox, range(seeds), robot)
    assert isinstance(solution, Solution)
    return {
        "success": list(solution.success),
        "crashes": list(solution.crashes),
        "reasons": list(solution.reasons),
    }


def print_result(scene: str, task: str, result: dict[str, Any]) -> None:
    """Print one line: scene, task, seeds solved and the first reason."""
    reason = next(filter(None, result["reasons"]), "")
    print(f"{scene:20} {task:32} {sum(result['success'])}/{len(result['success'])} {reason}", flush=True)


def print_summary(robot: str, measured: list[Measured]) -> None:
    """Print tasks and seeds solved of one robot by source, crashes, layouts, and the commonest reasons."""
    for source in (*sorted({m.source for m in measured}), "all"):
        part = [m for m in measured if source in (m.source, "all")]
        seeds = [success for m in part for success in m.result["success"]]
        crashes = sum(bool(crash) for m in part for crash in m.result["crashes"])
        solved = sum(2 * sum(m.result["success"]) >= len(m.result["success"]) for m in part)
        scenes = len({m.scene for m in part})
        tasks, layouts = share(solved, len(part)), share(sum(seeds), len(seeds))
        print(f"{robot:11} {source:10} {scenes} scenes, {tasks} tasks, {layouts} layouts, {crashes} crashed")
    for layout in range(max((len(m.result["success"]) for m in measured), default=0)):
        results = [m.result["success"][layout] for m in measured]
        print(f"{robot:11} layout {layout}: {share(sum(results), len(results))}")
    reasons = Counter(re.sub(r"\d+\.\d+", "#", reason) for m in measured for reason in m.result["reasons"] if reason)
    for reason, count in reasons.most_common(12):
        print(f"  {count:4} {reason[:110]}")


def share(count: int, total: int) -> str:
    """Return "9 of 10 (90 %, 60 to 98 %)" with Wilson's interval of 95 %."""
    if not total:
        return "0 of 0"
    low, high = binomtest(count, total).proportion_ci(method="wilson")
    return f"{count} of {total} ({count / total:.0%}, {low:.0%} to {high:.0%})"


if __name__ == "__main__":
    main()
