"""Measure the first proposed task of each photograph: on how many layouts robots solve it, by photograph.

    python -m bench.first_proposals PROJECT... [--robot arm arm-suction] [--seeds 8] [--out FILE.json]

Projects are folders made by `grs-studio run FRAME --out DIR --until scene`. The first task is chosen as in the app:
candidates are planned on three layouts, and those that can be planned are tried on as many until one is solved. Only
as many are planned as it takes to know the first. Its first program is then rolled out on each layout, as in the solve
check. All programs are the offline rules', so they run in this process, without a limit of time. FILE.json keeps the
results; a second call measures only what is missing there. bench.motion says how planning and penetration are measured.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np

from bench.arm import print_result, share
from bench.motion import watched
from pipeline.errors import StudioError
from pipeline.feasibility import plan_candidates
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.rehearsal import ON_ANOTHER_LAYOUT, rehearsed_layouts, run_layouts
from pipeline.router import write_program
from pipeline.run.cut_off import doubtful_objects
from pipeline.run.task_stages import PROPOSALS
from pipeline.simulation import kit
from pipeline.simulation.graspability import why_not_picked
from pipeline.simulation.program import Program, Report
from pipeline.simulation.robots import ROBOTS, robot_kind
from pipeline.simulation.run_record import SOLVED
from pipeline.simulation.sandbox.protocol import Limits
from pipeline.simulation.sandbox.runner import ProgramRunner, RunOptions
from pipeline.solving.solution import ARM_LIMITS
from pipeline.store import read_json, write_json
from pipeline.tasks import Task, ask_for_proposals


@dataclass(frozen=True)
class Layout:
    """How one layout ended."""

    reward: float
    why: str
    """Why it is not solved; empty if it is, or if it crashed."""
    crash: str
    planning: tuple[float, ...] = ()
    """Processor seconds of each pick and place."""
    deepest_mm: float = 0.0
    """Deepest contact of the robot with the scene, in a step of the physics."""
    pair: str = ""
    """Names of the two geoms."""


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
    before, runner = time.process_time(), InThisProcess()
    task = first_proposal(folder, robot, runner)
    layouts: list[Layout] = []
    if task:
        program = write_program(task, kit.Scene.load(folder), PlannerModel())
        layouts = [runner.roll_out(program, folder, seed, robot) for seed in range(seeds)]
    return {
        "task": task.instruction if task else "no proposal",
        "success": [one.reward > SOLVED for one in layouts],
        "crashes": [one.crash for one in layouts],
        "reasons": [one.why or one.crash for one in layouts],
        "planning": [seconds for one in layouts for seconds in one.planning],
        "deepest": max(((one.deepest_mm, one.pair) for one in layouts if one.reward > SOLVED), default=(0.0, "")),
        "processor_seconds": time.process_time() - before,
    }


def first_proposal(folder: Path, robot: str, runner: "InThisProcess") -> Task | None:
    """Return the task that comes first for a robot; None if it can do none."""
    failed: list[tuple[bool, Task]] = []
    for task in islice(feasible(folder, robot, runner), PROPOSALS):
        program = write_program(task, kit.Scene.load(folder), PlannerModel())
        why, _ = run_layouts(program, folder, cast(ProgramRunner, runner), rehearsed_layouts(robot), robot=robot)
        print(f"  {task.instruction}: {why or 'solved'}", flush=True)
        if not why:
            return task
        failed.append((not why.startswith(ON_ANOTHER_LAYOUT), task))
    return min(failed, key=lambda one: one[0])[1] if failed else None


def feasible(folder: Path, robot: str, runner: "InThisProcess") -> Iterator[Task]:
    """Yield the candidates that can be planned, in the order of the cards."""
    scene, project = kit.Scene.load(folder), Project.open(folder)
    candidates = ask_for_proposals(
        scene,
        PlannerModel(),
        not_picked=why_not_picked(scene, robot),
        doubtful=doubtful_objects(project, scene),
        alternatives=True,
    ).tasks
    return (
        one.task for one in plan_candidates(candidates, folder, cast(ProgramRunner, runner), robot) if not one.reason
    )


class InThisProcess:
    """Rolls out programs of the offline rules, one layout at a time, and remembers each."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, bool], Layout] = {}

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = (0,),
        limits: Limits = ARM_LIMITS,
        **options: Unpack[RunOptions],
    ) -> tuple[Report, None]:
        """Return the report of one layout, without a record."""
        one = self.roll_out(program, project_dir, seeds[0], options.get("robot", ""), not options.get("dry_run", False))
        return Report(reward=(one.reward,), crash=one.crash, evidence={"why": one.why}), None

    def roll_out(self, program: Program, folder: Path, seed: int, robot: str, moves: bool = True) -> Layout:
        """Roll a layout out; `moves=False`: plan its moves only."""
        key = (program.simulation, seed, moves)
        if key not in self._known:
            names: dict[str, Callable[..., kit.Simulation]] = {}
            exec(program.simulation.replace("import kit\n", ""), {"kit": kit}, names)  # written by the offline rules
            try:
                with watched() as motion:
                    scene = replace(kit.Scene.load(folder), robot=robot_kind(robot).make(moves))
                    run = names["build"](scene, seed).rollout()
                why = "" if run.solved else run.why
                self._known[key] = Layout(run.reward, why, "", tuple(motion.planning), *motion.deepest)
            except StudioError as error:
                self._known[key] = Layout(0.0, "", str(error))
        return self._known[key]


def summary(results: list[dict[str, Any]]) -> str:
    """Return layouts solved, photographs under half or without a proposal, seconds, and the deepest contact."""
    seeds = [success for result in results for success in result["success"]]
    tried = [result for result in results if result["success"]]
    low = sum(2 * sum(result["success"]) < len(result["success"]) for result in tried)
    planning = [seconds for result in tried for seconds in result["planning"]]
    depth, pair = max((tuple(result["deepest"]) for result in tried), default=(0.0, ""))
    return (
        f"{share(sum(seeds), len(seeds))} layouts of {len(tried)} photographs, {low} under half, "
        f"{len(results) - len(tried)} without a proposal, {sum(r['processor_seconds'] for r in results):.0f} s of "
        f"processor; planning of {len(planning)} picks p50 {np.percentile(planning or [0.0], 50):.2f} s, "
        f"p95 {np.percentile(planning or [0.0], 95):.2f} s; deepest contact in solved layouts {depth:.2f} mm ({pair})"
    )


if __name__ == "__main__":
    main()
