"""What the Evaluate page shows of a project: the newest evaluation, as far as it is, and the job that runs it."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
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
from pipeline.closed_loop.evaluation_words import difference_words, success_words, uncertainty_words
from pipeline.closed_loop.paired import explained_by_twin, paired_difference
from pipeline.closed_loop.real_log import read_logs
from pipeline.export.rollouts import robot_of
from pipeline.learning.learning_files import FOLDER as LEARNING
from pipeline.learning.subtask import LEARN, LearningError, read_subtasks
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
        "can_learned": _is_learned(project.folder),
        "job": job and {"id": job.id, "state": job.state, "message": translated(job.message)},
        "shown": kept and folder and _shown(folder, kept, folder == present),
    }


def _is_learned(folder: Path) -> bool:
    """Whether every subtask has a policy; not where the oracle plans one."""
    with suppress(LearningError):
        subtasks = read_subtasks(folder / LEARNING / "subtasks.json") or ()
        return any((folder / LEARNING).glob("*/policy.zip")) and all(one.way == LEARN for one in subtasks)
    return False


def _shown(folder: Path, kept: KeptConditions, is_present: bool) -> dict[str, Any]:
    rows, ids, logs = read_outcomes(folder), [row["id"] for row in kept.rows], read_logs(folder)
    return {
        "is_present": is_present,
        "seed": int(ids[0].partition("-")[0]) if ids else 0,
        "conditions": ids,
        "policies": [_policy(rows, policy, ids) for policy in kept.policies],
        "words": [translated(sentence) for sentence in _words(rows, kept.policies, ids)],
        "real": [asdict(logs[id]) if id in logs else None for id in ids],
        "report": (folder / REPORT).is_file(),
    }


def _policy(rows: Rows, policy: str, ids: Sequence[str]) -> dict[str, Any]:
    names = ("success", "seconds", "failure", "reason")
    cells = [rows.get((policy, id)) for id in ids]
    return {"name": policy, "cells": [cell and {name: cell.get(name) for name in names} for cell in cells]}


def _words(rows: Rows, policies: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Return what is known of each policy, of the twin's uncertainty, and of differences to the first policy."""
    done = {
        policy: {id: bool(rows[policy, id]["success"]) for id in ids if (policy, id) in rows} for policy in policies
    }
    tried = {policy: (sum(found.values()), len(found)) for policy, found in done.items() if found}
    words = [success_words(policy, one[0], asdict(wilson(*one)), one[1]) for policy, one in tried.items()]
    for policy, solved in done.items():
        if found := explained_by_twin(solved):
            words.append(uncertainty_words(policy, asdict(found)))
    for other in policies[1:]:
        if both := [id for id in ids if id in done[policies[0]] and id in done[other]]:
            solved = [[done[policy][id] for id in both] for policy in (policies[0], other)]
            words.append(difference_words(policies[0], other, asdict(paired_difference(*solved)), len(both)))
    return words
