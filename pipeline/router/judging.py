"""Judge a program: inspect it, run it, and check whether it matches its task."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.router.intent_check import find_contradiction, planned_goals, task_checks
from pipeline.router.simplification import changes, simplifications
from pipeline.simulation import CheckResult, Program, Report, kit
from pipeline.simulation.mutations import DISPLACED, MUTATIONS
from pipeline.simulation.run_record import SOLVED, RunRecord
from pipeline.simulation.sandbox.guard import guard
from pipeline.simulation.sandbox.runner import ProgramRunner, RunOptions
from pipeline.simulation.sandbox.sandbox import Limits
from pipeline.tasks import Task

SEEDS = (0, 1, 2)
"""Layouts of each round; the first is as photographed."""
MAX_TOLERANCE_M = 0.12
"""Largest tolerance of a goal that is still meaningful."""
MUTATION_KINDS = (*MUTATIONS, DISPLACED)
"""Mutations that the checks of a passing program must catch."""


def judge(
    program: Program,
    task: Task,
    scene: kit.Scene,
    project_dir: Path,
    sandbox: ProgramRunner,
    limits: Limits | None = None,
    on_rollout: Callable[[RunRecord], None] | None = None,
) -> Report:
    """Return the report of guard and sandbox, plus checks of the program against the task. Raises SandboxError.

    `on_rollout` is called with each layout's rollout as soon as it is recorded, from another thread.
    """
    options = RunOptions(mutations=MUTATION_KINDS, record_goals=True, on_rollout=on_rollout)
    options["photographed"] = [one.name for one in scene.objects]
    options["reference"] = task_checks(task, scene)
    report = _run(program, project_dir, sandbox, limits, options)
    found = report.evidence.get("photograph") or {}
    easier = "; ".join(simplifications(task, scene, planned_goals(task, scene), found)) if found else ""
    checks = (*report.checks, *_task_checks(program, task, scene, report))
    if easier:
        checks = (*checks, CheckResult("meaning photograph", False, easier))
    evidence = {key: value for key, value in report.evidence.items() if key != "photograph"}
    return replace(report, checks=checks, evidence=evidence | {"changes": list(changes(found))})


def check_program(program: Program, project_dir: Path, sandbox: ProgramRunner, limits: Limits | None = None) -> Report:
    """Return the report of guard and sandbox, as `grs-studio check` prints it. Raises SandboxError."""
    return _run(program, project_dir, sandbox, limits, {})


def _run(
    program: Program, project_dir: Path, sandbox: ProgramRunner, limits: Limits | None, options: RunOptions
) -> Report:
    if findings := guard(program):
        unreadable = next((f.message for f in findings if "cannot be read" in f.message), None)
        return Report(checks=findings, crash=unreadable, violation=None if unreadable else findings[0].message)
    return sandbox.run(program, project_dir, seeds=SEEDS, limits=limits or Limits(), **options)[0]


def _task_checks(program: Program, task: Task, scene: kit.Scene, report: Report) -> Iterator[CheckResult]:
    """Yield failed checks of what a program's own checks cannot be trusted with: its relation to the task."""
    if not report.reward:
        return
    goal_names = " ".join(str(goal.get("name")) for goal in report.evidence.get("goals", ()))
    mentioned = set(goal_names.replace(",", " ").replace(":", " ").replace(";", " ").split())
    missing = [name for name in task.objects if name not in mentioned and not is_left_out(program, task, name)]
    if goal_names and missing:
        message = f"the task names {', '.join(missing)}, no goal of the simulation does"
        yield CheckResult("meaning objects", False, message)
    if contradiction := find_contradiction(task, scene, report.evidence.get("asked") or {}):
        yield CheckResult("meaning task", False, contradiction)
    elif wrong := next(filter(None, (report.evidence.get("measured") or {}).values()), None):
        yield CheckResult("meaning task", False, f"the goals hold, but not what the task asks for: {wrong}")
    if off := report.evidence.get("off_table"):
        yield CheckResult("meaning table", False, f"{', '.join(off)} extends beyond the edge of the table")
    if lax := find_lax_goal(program):
        yield CheckResult("meaning goals", False, lax)
    starts = report.evidence.get("rewards_at_start") or [report.evidence.get("reward_at_start") or 0.0]
    trivial = sum(start > SOLVED for start in starts)
    if trivial:
        where = f" in {trivial} of {len(starts)} layouts" if trivial < len(starts) else ""
        yield CheckResult("meaning start", False, f"the goals hold before anything moved{where}")
    solved = sum(reward > SOLVED for reward in report.reward)
    if report.reward and report.reward[0] <= SOLVED:
        yield CheckResult(
            "meaning reward", False, f"the oracle reaches {report.reward[0]:.2f} of 1 on the photographed layout"
        )
    elif report.reward and 2 * solved < len(report.reward):
        yield CheckResult("meaning layouts", False, f"solved in {solved} of {len(report.reward)} layouts")


def find_lax_goal(program: Program) -> str:
    """Return a sentence about a goal whose tolerance makes it hold almost anywhere; empty if there is none."""
    for node in ast.walk(ast.parse(program.simulation)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr != "upright":
            for keyword in node.keywords:
                number = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg == "tolerance" and isinstance(number, int | float) and number > MAX_TOLERANCE_M:
                    return f"kit.{node.func.attr} with a tolerance of {number} m holds almost anywhere"
    return ""


def is_left_out(program: Program, task: Task, name: str) -> bool:
    """Whether the program omits the object deliberately, which is allowed for a task that no person wrote."""
    return (
        task.source != "human"
        and len(task.objects) > 2
        and f'"{name}"' not in program.simulation.replace(f'remove("{name}")', "")
    )
