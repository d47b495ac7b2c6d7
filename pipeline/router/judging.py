"""Whether a program may count as done: it is read, run, and asked whether it means its task."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pipeline.router.meaning import contradiction
from pipeline.simulation import CheckResult, Program, Report, kit
from pipeline.simulation.alteration import KINDS
from pipeline.simulation.guard import guard
from pipeline.simulation.runner import Runner
from pipeline.simulation.sandbox import Limits
from pipeline.tasks import Task

SEEDS = (0, 1, 2)
"""Layouts that each round is tried on; the checks look at the first, as photographed."""
SOLVED = 0.99
LAX = 0.12
"""Metres of tolerance beyond which no goal means what it says."""
ALTERATIONS = tuple(KINDS)
"""What the checks of a program that passes must notice."""


def judge(
    program: Program, task: Task, scene: kit.Scene, project_dir: Path, sandbox: Runner, limits: Limits | None = None
) -> Report:
    """Guard, then sandbox, then whether the program means the task. Raises SandboxError."""
    report = _run(program, project_dir, sandbox, limits, ALTERATIONS)
    return replace(report, checks=(*report.checks, *_meaning(program, task, scene, report)))


def check_program(program: Program, project_dir: Path, sandbox: Runner, limits: Limits | None = None) -> Report:
    """Guard, then sandbox: what `grs-studio check` prints. Raises SandboxError."""
    return _run(program, project_dir, sandbox, limits, ())


def _run(
    program: Program, project_dir: Path, sandbox: Runner, limits: Limits | None, alterations: Sequence[str]
) -> Report:
    if findings := guard(program):
        unreadable = next((f.message for f in findings if "cannot be read" in f.message), None)
        return Report(checks=findings, crash=unreadable, violation=None if unreadable else findings[0].message)
    limits = limits or Limits(seconds=20.0 * len(SEEDS))
    return sandbox.run(program, project_dir, seeds=SEEDS, limits=limits, alterations=alterations)[0]


def _meaning(program: Program, task: Task, scene: kit.Scene, report: Report) -> Iterator[CheckResult]:
    """What no check of the program's own can be trusted with: it is about the task, and solved more than once."""
    if not report.reward:
        return
    told = " ".join(str(goal.get("name")) for goal in report.evidence.get("goals", ()))
    said = set(told.replace(",", " ").replace(":", " ").replace(";", " ").split())
    missing = [name for name in task.objects if name not in said and not left_out(program, task, name)]
    if told and missing:
        words = f"the task names {', '.join(missing)}, no goal of the simulation does"
        yield CheckResult("meaning objects", False, words)
    if other := contradiction(task, scene, report.evidence.get("asked") or {}):
        yield CheckResult("meaning task", False, other)
    if off := report.evidence.get("off_table"):
        yield CheckResult("meaning table", False, f"{', '.join(off)} lies beyond the edge of the table")
    if lax := lax_goals(program):
        yield CheckResult("meaning goals", False, lax)
    start = report.evidence.get("reward_at_start")
    if start is not None and start > SOLVED:
        yield CheckResult("meaning start", False, "the goals hold before anything moved")
    solved = sum(reward > SOLVED for reward in report.reward)
    if report.reward and report.reward[0] <= SOLVED:
        yield CheckResult(
            "meaning reward", False, f"the oracle reaches {report.reward[0]:.2f} of 1 on the photographed layout"
        )
    elif report.reward and 2 * solved < len(report.reward):
        yield CheckResult("meaning layouts", False, f"solved in {solved} of {len(report.reward)} layouts")


def lax_goals(program: Program) -> str:
    """Which goal of the simulation has a tolerance so wide that it holds almost anywhere; empty where none has."""
    for node in ast.walk(ast.parse(program.simulation)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr != "upright":
            for said in node.keywords:
                number = said.value.value if isinstance(said.value, ast.Constant) else None
                if said.arg == "tolerance" and isinstance(number, int | float) and number > LAX:
                    return f"kit.{node.func.attr} with a tolerance of {number} m holds almost anywhere"
    return ""


def left_out(program: Program, task: Task, name: str) -> bool:
    """Whether the program leaves the object out on purpose, as it may of a task that no person asked for."""
    return (
        task.source != "human"
        and len(task.objects) > 2
        and f'"{name}"' not in program.simulation.replace(f'remove("{name}")', "")
    )
