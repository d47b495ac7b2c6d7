"""The layouts and subtasks of a project's task, for the command line and the Learn page. Needs no extra packages.

learning/task.json names the task that learning/ is about. When a person has chosen another task, what was learned is
moved to learning_of_<task>/, and comes back with its task.
"""

import importlib.util
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.learning.decomposition import decompose
from pipeline.learning.edits import followed
from pipeline.learning.layouts import Layouts, arranged_by
from pipeline.learning.learning_files import FOLDER, SubtaskFolder
from pipeline.learning.reflection import Proposal, read_proposal, reflect
from pipeline.learning.subtask import (
    LearningError,
    Subtask,
    read_subtasks,
    require_usable,
    to_row,
    write_subtasks,
)
from pipeline.learning.variants import TRAINED, VariantMaker
from pipeline.models import ModelError, has_language
from pipeline.models.in_flight import InFlightCalls
from pipeline.planner import PlannerModel
from pipeline.project import Project
from pipeline.router import write_program
from pipeline.run import Services
from pipeline.run.services import tracing_model
from pipeline.scene.mjcf.recorded_models import with_own_files
from pipeline.simulation import kit
from pipeline.simulation.program import Program
from pipeline.simulation.robots import robot_kind
from pipeline.store import digest, read_json, write_json, write_text
from pipeline.tasks import Task

if TYPE_CHECKING:
    from pipeline.learning.chain import TaskLearner

EDITS = "subtasks"
"""Kind of the decisions that edit subtasks."""
INSTALL = 'pip install "grs-studio[learn]"'


def is_installed() -> bool:
    """Return whether the packages of the extra `learn` are there."""
    return all(importlib.util.find_spec(name) for name in ("gymnasium", "stable_baselines3"))


def task_of(project: Project) -> Task:
    """Return the task that would be learned. Raises LearningError if there is none."""
    task = project.task()
    if project.scene() is None or task is None:
        raise LearningError(f"{project.folder} has no task yet; run grs-studio run FRAME --out {project.folder} first")
    if not task.goals:
        raise LearningError(f"the task {task.name!r} has no goals, so nothing can be learned; state another task")
    return task


def task_program(project: Project) -> Program:
    """Return the best program of the project's task; one by the rules if there is none. Raises LearningError."""
    task, best = task_of(project), project.best_round()
    if best:
        return project.program_in_current_names(best.program)
    return write_program(task, kit.Scene.load(project.folder), PlannerModel())


def task_layouts(project: Project, services: Services) -> Layouts:
    """Return the layouts of the project's task, as its best program draws them. Raises LearningError."""
    program = task_program(project)
    return Layouts(kit.Scene.load(project.folder), arranged_by(program, project.folder, services.sandbox))


def project_subtasks(
    project: Project, services: Services, layouts: Layouts, report: Callable[[str], object]
) -> tuple[Subtask, ...]:
    """Return the subtasks of the project's task, which are written if there are none. Raises LearningError.

    `report` gets a line for each subtask that was left out.
    """
    task = task_of(project)
    keep_apart(project.folder, task)
    path = project.folder / FOLDER / "subtasks.json"
    follow_decisions(project)
    subtasks = read_subtasks(path)
    if subtasks is None:
        subtasks = _decompose(project, services, task, layouts, report)
        write_subtasks(path, subtasks)
    require_usable(subtasks, layouts.base.objects, list(layouts.base.zones))
    world = project.folder / FOLDER / "world.xml"
    model = with_own_files(layouts.world().xml, project.folder / "scene")
    if not world.is_file() or world.read_text(encoding="utf-8") != model:
        write_text(world, model)
    return subtasks


def open_learner(
    project: Project, services: Services, report: Callable[[str], object], variants: int = 0
) -> "TaskLearner":
    """Return the learner of a project's subtasks, on the twin and that many variants of it. Raises LearningError."""
    from pipeline.learning.chain import TaskLearner

    layouts = task_layouts(project, services)
    subtasks = project_subtasks(project, services, layouts, report)
    varied = variant_maker(project, services).make(layouts, subtasks, TRAINED, variants)
    return TaskLearner(project.folder, layouts, subtasks, varied)


def arm_learner(learner: "TaskLearner", robot: str) -> "TaskLearner":
    """Return the learner of the same subtasks with an arm; what it learns is in learning/<robot>/.

    Raises RobotError. The arm stands where it does when it solves the task.
    """
    from pipeline.learning.chain import TaskLearner

    layouts = learner.layouts.with_robot(robot_kind(robot).make(True))
    return TaskLearner(learner.project_dir / FOLDER / robot, layouts, learner.subtasks)


def variant_maker(project: Project, services: Services) -> VariantMaker:
    """Return what makes variants of the project's twin: of the objects that its task names. Raises LearningError."""
    return VariantMaker(project.folder, task_program(project), services.sandbox, task_of(project).objects)


def keep_apart(folder: Path, task: Task) -> None:
    """Move what was learned for another task aside, and what was learned for this one back."""
    now, learning = {"instruction": task.instruction, "goals": list(task.goals)}, folder / FOLDER
    known = read_json(learning / "task.json")
    if known == now:
        return
    if known is not None:
        aside = _aside(folder, known)
        if not aside.exists():
            learning.rename(aside)
        if (kept := _aside(folder, now)).is_dir():
            kept.rename(learning)
    write_json(learning / "task.json", now)


def _aside(folder: Path, task: dict) -> Path:
    words = re.sub(r"[^a-z0-9]+", "_", str(task.get("instruction", "")).lower())[:40].strip("_")
    return folder / f"{FOLDER}_of_{words}_{digest([json.dumps(task, sort_keys=True)])[:6]}"


def follow_decisions(project: Project) -> None:
    """Bring subtasks.json to what the edits, undos and redos of a person say."""
    path, task = project.folder / FOLDER / "subtasks.json", project.task()
    if task is None or not path.is_file():
        return
    active = [one.data for one in project.active_decisions(EDITS) if one.data["task"] == task.instruction]
    undone = [one.data for one in project.undone_decisions(EDITS) if one.data["task"] == task.instruction]
    if not active and not undone:
        return
    rows = read_json(path)
    now = followed(rows, active, undone) if isinstance(rows, list) else rows
    if now != rows:
        write_json(path, now)


def edit_data(task: Task, former: tuple[Subtask, ...], subtasks: tuple[Subtask, ...], change: str) -> dict:
    """Return the data of the decision that edits subtasks."""
    return {
        "task": task.instruction,
        "former": [to_row(one) for one in former],
        "rows": [to_row(one) for one in subtasks],
        "change": change,
    }


def propose_reward(
    project: Project,
    services: Services,
    layouts: Layouts,
    subtask: Subtask,
    folder: SubtaskFolder,
    live: InFlightCalls | None = None,
) -> Proposal:
    """Ask the model in use for a better reward of a subtask. Raises LearningError, ModelError.

    `live` holds the call while it is answered.
    """
    if not has_language(services.model):
        raise LearningError("the offline rules know no other reward; choose a model, or edit the reward yourself")
    return reflect(subtask, folder, layouts, tracing_model(project, services, live))


def with_proposal(subtasks: tuple[Subtask, ...], name: str, folder: SubtaskFolder) -> tuple[Subtask, ...]:
    """Return the subtasks with the reward that was proposed for one of them. Raises LearningError if none was."""
    subtask = next((one for one in subtasks if one.name == name), None)
    if subtask is None or (proposal := read_proposal(subtask, folder)) is None:
        raise LearningError(f"no reward is proposed for {name} as it is now; ask for one")
    return tuple(proposal.subtask if one is subtask else one for one in subtasks)


def _decompose(
    project: Project, services: Services, task: Task, layouts: Layouts, report: Callable[[str], object]
) -> tuple[Subtask, ...]:
    """Return the subtasks that the model in use answers, or those of the rules where none of its can be used."""
    try:
        found = decompose(task, layouts, tracing_model(project, services))
    except (LearningError, ModelError) as error:
        if not has_language(services.model):
            raise
        report(f"{error}; the offline rules split the task instead")
        found = decompose(task, layouts, PlannerModel())
    for reason in found.dropped:
        report(f"left out: {reason}")
    return found.subtasks
