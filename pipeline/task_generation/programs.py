"""The program of a generated task: written, judged and repaired by the model in use, or written by the rules."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.models import Model, ModelError, StageCancelled
from pipeline.models.model import can_answer, has_language
from pipeline.planner import PlannerModel
from pipeline.router import RouteContext, RouteOptions, route, write_program
from pipeline.simulation import kit
from pipeline.simulation.program import Program
from pipeline.simulation.sandbox.runner import ProgramRunner
from pipeline.tasks import Task


@dataclass(frozen=True)
class WrittenProgram:
    """What became of one task's program."""

    program: Program | None
    """None if none was written."""
    reason: str = ""
    """Why the task has no program that passed; empty if it has one."""
    rounds: int = 0
    """Rounds in which a language model's program was run; 0 for the rules, whose program is not run yet."""
    model_failure: str = ""
    """Why the model gave no answer, which says nothing of the task; empty if it answered or was not asked."""


@dataclass(frozen=True, eq=False)
class ProgramWriter:
    """Writes the programs of generated tasks as the rounds of a project are written."""

    model: Model
    context: Callable[[Task], RouteContext] = lambda _: RouteContext()
    """Returns what a language model gets besides task and scene."""

    def write(self, task: Task, folder: Path, sandbox: ProgramRunner) -> WrittenProgram:
        """Return the program of a task on a start's folder. Raises SandboxError, StageCancelled.

        Where a language model gives no answer, the rules write if they can read the goals.
        """
        if not has_language(self.model):
            return _by_rules(task, folder)
        if not can_answer(self.model, "write_program"):
            instead = _by_rules(task, folder) if task.planned else WrittenProgram(None)
            return replace(instead, model_failure=f"{self.model.name} did not answer: its trace has no programs")
        # Rounds of a program; a project's own task has twice as many, and a person who watches
        options = RouteOptions(max_rounds=4, context=self.context(task))
        try:
            rounds = list(route(task, folder, self.model, sandbox, options))
        except StageCancelled:
            raise
        except ModelError as error:
            instead = _by_rules(task, folder) if task.planned else WrittenProgram(None)
            return replace(instead, model_failure=f"{self.model.name} did not answer: {str(error).rstrip('.')}")
        last = rounds[-1]
        count = f"{len(rounds)} round{'s' * (len(rounds) > 1)}"
        failed = "" if last.report.clean else f"no program of {self.model.name} passed in {count}: {last.reason}"
        return WrittenProgram(last.program, failed, len(rounds))


def _by_rules(task: Task, folder: Path) -> WrittenProgram:
    try:
        return WrittenProgram(write_program(task, kit.Scene.load(folder), PlannerModel()))
    except ModelError as error:
        return WrittenProgram(None, f"no program can be written: {error}")
