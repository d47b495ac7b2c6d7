"""What the Evaluate page shows of a project: the newest evaluation, as far as it is, and the job that runs it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pipeline.closed_loop.evaluation_files import (
    CONDITIONS,
    REPORT,
    KeptConditions,
    read_conditions,
    read_outcomes,
    task_digest,
)
from pipeline.closed_loop.paired import explained_by_twin, paired_difference
from pipeline.export.rollouts import robot_of
from pipeline.learning.learning_files import FOLDER as LEARNING
from pipeline.object_words import object_words
from pipeline.project import Project
from pipeline.variation import wilson
from studio.sessions.project_jobs import CommandJob
from studio.texts import translated
from studio.web.errors import RequestError

FOLDER = "evaluations"
"""Folder of a project with an evaluation in each of its folders, whose name begins the digest of its task."""
Rows = Mapping[tuple[str, str], Mapping[str, Any]]
"""Episodes by policy and condition."""


def present_folder(project: Project) -> Path:
    """Return the folder of evaluations of the project's task on its twin. Raises RequestError without a simulation."""
    chosen, solution = project.best_round(), project.solution()
    if project.scene() is None or project.task() is None or chosen is None:
        raise RequestError("Policies are evaluated on a task with a simulation: generate one on the Task page first.")
    program = project.program_in_current_names(chosen.program)
    digest = task_digest(project, program, robot_of(solution) if solution else "gripper")
    return project.folder / FOLDER / digest[:12]


def shown_folder(project: Project, present: Path) -> Path | None:
    """Return the folder of the present task's evaluation, else of the newest one; None without any."""
    found = sorted((project.folder / FOLDER).glob(f"*/{CONDITIONS}"), key=lambda path: path.stat().st_mtime)
    folders = [path.parent for path in found]
    return present if present in folders else folders[-1] if folders else None


def evaluation_record(project: Project, job: CommandJob | None) -> dict[str, Any]:
    """Return the page's whole record. Raises StudioError."""
    task, present = project.task(), present_folder(project)
    folder = shown_folder(project, present)
    kept = read_conditions(folder) if folder else None
    return {
        "task": object_words(project).with_display_names(task.instruction) if task else "",
        "can_learned": any((project.folder / LEARNING).glob("*/policy.zip")),
        "job": job and {"state": job.state, "message": translated(job.message)},
        "shown": kept and folder and _shown(folder, kept, folder == present),
    }


def _shown(folder: Path, kept: KeptConditions, is_present: bool) -> dict[str, Any]:
    rows, ids = read_outcomes(folder), [row["id"] for row in kept.rows]
    return {
        "is_present": is_present, "seed": int(ids[0].partition("-")[0]) if ids else 0, "conditions": ids,
        "policies": [_policy(rows, policy, ids) for policy in kept.policies],
        "differences": [_difference(rows, kept.policies[0], other, ids) for other in kept.policies[1:]],
        "report": (folder / REPORT).is_file(),
    }  # fmt: skip


def _policy(rows: Rows, policy: str, ids: Sequence[str]) -> dict[str, Any]:
    cells = [rows.get((policy, id)) for id in ids]
    done = [bool(cell["success"]) for cell in cells if cell]
    names = ("success", "seconds", "failure", "reason")
    found = explained_by_twin({id: bool(cell["success"]) for id, cell in zip(ids, cells, strict=True) if cell})
    return {
        "name": policy, **asdict(wilson(sum(done), len(done))), "uncertainty": found and asdict(found),
        "cells": [cell and {name: cell.get(name) for name in names} for cell in cells],
    }  # fmt: skip


def _difference(rows: Rows, first: str, second: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return the difference of two policies over the conditions that both have tried."""
    both = [id for id in ids if (first, id) in rows and (second, id) in rows]
    solved = [[bool(rows[policy, id]["success"]) for id in both] for policy in (first, second)]
    return {"first": first, "second": second, "count": len(both), **asdict(paired_difference(*solved))}
