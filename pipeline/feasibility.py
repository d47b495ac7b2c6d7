"""Which proposed tasks the robot in use can do: each is planned on three layouts, without physics of the arm.

Grasp, reach, posture and place of every move are planned as in a rollout (PlanningHand).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.geometry import Pose
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.rehearsal import (
    ON_ANOTHER_LAYOUT,
    SavedResult,
    body_poses,
    final_state,
    read_rehearsal,
    read_result,
    run_layouts,
)
from pipeline.router import ProgramRunner, write_program
from pipeline.simulation import kit
from pipeline.simulation.robots import robot_kind
from pipeline.store import digest, write_json
from pipeline.tasks import Task

LAYOUTS = (0, 1, 2)
"""Seeds of a plan: the photographed layout, and two drawn ones."""


@dataclass(frozen=True, eq=False)
class DryRun:
    """Result of a dry run."""

    reason: str
    """Why the robot cannot do the task; empty if it can, or if nothing is known."""
    poses: Mapping[str, Pose]
    """Layout that it ends in, world_from_object by name; empty if there is none."""


@dataclass(frozen=True)
class Feasibility:
    """Whether the robot can do a task."""

    task: Task
    reason: str
    """Why the robot cannot do it; empty if it can, or if it floats."""


def why_not_feasible(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str) -> str:
    """Return why a robot of robots.ROBOTS cannot do a task, by a dry run of the planner's first program; else empty.

    Empty for a robot that floats, and where the planner writes no program: nothing is known then. The result is saved
    in the project as tasks/<key>.json. Raises SandboxError.
    """
    saved = read_feasibility(task, project_dir, robot)
    return dry_run(task, project_dir, sandbox, robot).reason if saved is None else saved


def dry_run(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str) -> DryRun:
    """Run the planner's first program for a task: an arm's moves are planned only, a floating gripper makes them.

    The result is saved as that of `why_not_feasible`. Raises SandboxError.
    """
    file = feasibility_file(task, project_dir, robot)
    saved = read_result(file, SavedResult)
    if saved and saved.poses is not None:
        return DryRun(saved.why, saved.final_poses())
    result = _dry_run(task, Path(project_dir), sandbox, robot)
    poses = {name: {"pos": pose.pos, "quat_wxyz": pose.quat_wxyz} for name, pose in result.poses.items()}
    write_json(file, {"why": result.reason, "poses": poses})
    return result


def read_feasibility(task: Task, project_dir: Path, robot: str) -> str | None:
    """Return the saved result of `why_not_feasible`; None if there is none for the present scene, or a damaged one."""
    if robot_kind(robot).floats:
        return ""
    saved = read_result(feasibility_file(task, project_dir, robot), SavedResult)
    return None if saved is None else saved.why


def feasible_first(tasks: Sequence[Task], project_dir: Path, robot: str) -> tuple[Task, ...]:
    """Return tasks in their order: after the others those that failed when they were tried, last those refused.

    Of those that failed, first what was solved on the photographed layout.
    """

    def rank(task: Task) -> tuple[bool, bool, bool]:
        tried = read_rehearsal(task, project_dir, robot)
        refused = bool(read_feasibility(task, project_dir, robot))
        failed = tried if tried and tried.solved is False else None
        return refused, failed is not None, failed is not None and not failed.reason.startswith(ON_ANOTHER_LAYOUT)

    return tuple(sorted(tasks, key=rank))


def plan_candidates(
    candidates: Sequence[Task], project_dir: Path, sandbox: ProgramRunner, robot: str
) -> Iterator[Feasibility]:
    """Plan candidates one after the other: of each kind until one is feasible, then others while too few are.

    Raises SandboxError.
    """
    able = 0
    spare: list[Task] = []
    for of_kind in _by_kind(candidates).values():
        for number, task in enumerate(of_kind, 1):
            result = Feasibility(task, why_not_feasible(task, project_dir, sandbox, robot))
            yield result
            if not result.reason:
                able += 1
                spare += of_kind[number:]
                break
    for task in spare:
        # Feasible tasks to look for among further candidates of the same kinds
        if able >= 5:
            return
        result = Feasibility(task, why_not_feasible(task, project_dir, sandbox, robot))
        able += not result.reason
        yield result


def best_first(results: Sequence[Feasibility], count: int) -> tuple[Feasibility, ...]:
    """Return at most `count` planned tasks: the feasible ones, then one of each kind that has none.

    Of these, what can be done on the photographed layout alone comes first.
    """
    able = [result for result in results if not result.reason]
    done = {_kind(result.task) for result in able}
    partly_first = sorted(results, key=lambda result: not result.reason.startswith(ON_ANOTHER_LAYOUT))
    unable = {_kind(result.task): result for result in reversed(partly_first) if _kind(result.task) not in done}
    return (*able, *reversed(unable.values()))[:count]


def _by_kind(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    kinds: dict[str, list[Task]] = {}
    for task in tasks:
        kinds.setdefault(_kind(task), []).append(task)
    return kinds


def _kind(task: Task) -> str:
    return task.kind or task.name


def _dry_run(task: Task, project_dir: Path, sandbox: ProgramRunner, robot: str) -> DryRun:
    try:
        program = write_program(task, kit.Scene.load(project_dir), PlannerModel())
    except ModelError:
        return DryRun("", {})
    layouts = LAYOUTS[:1] if robot_kind(robot).floats else LAYOUTS
    reason, record = run_layouts(program, project_dir, sandbox, layouts, robot=robot, dry_run=True)
    name = feasibility_file(task, project_dir, robot).stem
    end = final_state(record, project_dir, name) if record else None
    return DryRun(_cause(reason), body_poses(*end) if end else {})


def _cause(reason: str) -> str:
    """Return a reason without the goal that is missed: cards have little room."""
    elsewhere = ON_ANOTHER_LAYOUT if reason.startswith(ON_ANOTHER_LAYOUT) else ""
    return elsewhere + re.sub(r"^.* is missed by [\d.]+ cm: ", "", reason.removeprefix(elsewhere))


def feasibility_file(task: Task, project_dir: Path, robot: str) -> Path:
    """Return where the result for a task and the present scene is saved, as {"why", "poses"}."""
    scene = (Path(project_dir) / "scene.json").read_text("utf-8")
    key = digest("dry run", LAYOUTS, scene, task.instruction, task.objects, task.goals, robot)
    return Path(project_dir) / "tasks" / f"{key}.json"
