"""Keeps the programs of a workspace that solved their task, and finds examples among them for another project."""

from pathlib import Path
from typing import Any

from pipeline.models import ModelSettings
from pipeline.project import Project
from pipeline.router import Round
from pipeline.router.solved_programs import (
    SolvedProgram,
    example_json,
    keep_solved,
    kit_version,
    nearest_solved,
    object_facts,
    read_solved,
)
from pipeline.run.services import Services
from pipeline.simulation import kit
from pipeline.solving import Solution
from pipeline.store import digest
from pipeline.tasks import Task

FOLDER = "solved"
"""Folder in a workspace."""


def solved_folder(project: Project, services: Services) -> Path | None:
    """Return the folder of solved programs; see `shared_folder`."""
    return shared_folder(project, services, FOLDER)


def shared_folder(project: Project, services: Services, name: str) -> Path | None:
    """Return a folder that projects share: beside a project in the workspace, else the workspace's; None without one.

    With logins each person has a folder of their own in the workspace; it holds files of that person only.
    """
    if services.workspace is None:
        return None
    return (project.folder.parent if is_in_workspace(project, services) else services.workspace) / name


def scene_key(project: Project) -> str:
    """Return a hash of the project's photograph, by which examples of the same scene are left out."""
    return digest(project.frame.rgb, project.frame.depth)


def solved_examples(project: Project, services: Services, task: Task) -> tuple[dict[str, Any], ...]:
    """Return the nearest solved programs of other scenes as JSON values, as many as the model's settings ask for."""
    folder = solved_folder(project, services)
    count = getattr(services.model, "settings", ModelSettings()).examples
    if folder is None or not count or not folder.is_dir():
        return ()
    objects = object_facts(kit.Scene.load(project.folder))
    return tuple(map(example_json, nearest_solved(read_solved(folder), task, objects, scene_key(project), count)))


def keep_solution(project: Project, services: Services, solved_round: Round, solution: Solution) -> None:
    """Keep the program of a solved task in the workspace, where later questions of other projects may contain it.

    Nothing is kept of a program that fails a check, of a project outside the workspace, or of one that a person
    declined to send to a server.
    """
    if not solution.solved or solution.failed_check:
        return
    if any(not one.data["allow"] for one in project.active_decisions("send")):
        return
    program = project.program_in_current_names(solved_round.program)
    folder, task = solved_folder(project, services), project.task()
    if folder is None or task is None or not is_in_workspace(project, services):
        return
    facts = object_facts(kit.Scene.load(project.folder))
    solved = SolvedProgram(
        scene_key(project), facts, task, program.simulation, program.checks, solved_round.source,
        solution.strict_rate, kit_version(), solution.source,
    )  # fmt: skip
    keep_solved(solved, folder)


def is_in_workspace(project: Project, services: Services) -> bool:
    """Return whether a project's folder lies in the workspace, where what it learns may be kept."""
    return services.workspace is not None and project.folder.resolve().is_relative_to(services.workspace.resolve())
