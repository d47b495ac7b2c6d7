"""The worth of a task: how far a learner comes with a small budget.

A task that is mastered at once teaches nothing, and one that never succeeds gives no signal: goals of intermediate
difficulty are worth learning (Florensa et al., ICML 2018).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pipeline.learning.chain import ChainOptions, SubtaskLearned, TaskLearner
from pipeline.learning.decomposition import decompose
from pipeline.learning.judging.evaluation import evaluate
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.learning_files import FOLDER
from pipeline.learning.subtask import LearningError, read_subtasks, require_usable, write_subtasks
from pipeline.learning.training import TrainingOptions
from pipeline.models import ModelError
from pipeline.planner import PlannerModel
from pipeline.simulation import kit
from pipeline.simulation.physics import UnstableError
from pipeline.simulation.program import Program
from pipeline.task_generation.validity import Sandbox
from pipeline.tasks import Task

LAYOUTS = 20
"""Layouts, on which nothing was trained, that success is measured on."""


@dataclass(frozen=True)
class Budget:
    """What a learner may spend on one task."""

    steps: int
    """Control steps of each subtask."""
    seed: int = 0


@dataclass(frozen=True)
class Learned:
    """How far the learner came."""

    success: float | None
    """Share of the layouts on which the chain of policies did the whole task; None if it could not be measured."""
    reason: str = ""
    """Why it was not measured."""
    subtasks: tuple[tuple[str, float], ...] = ()
    """Name and success on the validation starts of each subtask that was learned."""


def learn_briefly(
    task: Task,
    program: Program,
    start: Path,
    sandbox: Sandbox,
    budget: Budget,
    folder: Path,
    stopped: Callable[[], bool] = lambda: False,
) -> Learned | None:
    """Learn a task's subtasks with the budget and play the chain; None if stopped.

    Args:
        start: folder of the twin on which the task was proposed.
        folder: what is learned is kept in its learning/.

    Raises SandboxError, StoreError.
    """
    reached: dict[str, float] = {}
    try:
        learner = _learner(task, program, start, sandbox, folder)
        for step in learner.learn(ChainOptions(TrainingOptions(steps=budget.steps, seed=budget.seed))):
            if isinstance(step, SubtaskLearned):
                reached[step.subtask] = step.success
            if stopped():
                return None
        played = list(evaluate(learner, LAYOUTS, budget.seed))[:LAYOUTS]
    except (LearningError, ModelError, UnstableError) as error:
        if reached:  # a subtask ended nowhere that the next one can begin
            return Learned(0.0, str(error), tuple(reached.items()))
        return Learned(None, str(error))
    return Learned(sum(one.solved for one in played) / max(len(played), 1), "", tuple(reached.items()))


def _learner(task: Task, program: Program, start: Path, sandbox: Sandbox, folder: Path) -> TaskLearner:
    """Return the learner of a task's subtasks, as the rules split it. Raises LearningError, ModelError."""
    layouts = Layouts(kit.Scene.load(start), arranged_by(program, start, sandbox))
    path = folder / FOLDER / "subtasks.json"
    subtasks = read_subtasks(path) or decompose(task, layouts, PlannerModel()).subtasks
    require_usable(subtasks, layouts.base.objects, list(layouts.base.zones))
    write_subtasks(path, subtasks)
    return TaskLearner(folder, layouts, subtasks)
