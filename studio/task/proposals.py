"""Proposed tasks as the cards show them, and the rehearsals that find out which of them the robot can do."""

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.feasibility import feasible_first, read_feasibility, why_not_feasible
from pipeline.planner.goals import read_sentences
from pipeline.planner.language.phrases.object_names import plain_names
from pipeline.planner.language.wording import in_plain_words, sentences_in_words
from pipeline.planner.plans import TableTop
from pipeline.planner.scene_objects import scene_objects
from pipeline.project import Project
from pipeline.rehearsal import Rehearsal, read_rehearsal, rehearse
from pipeline.run import project_robot
from pipeline.scene.confidence import identity_doubts
from pipeline.simulation import kit
from pipeline.tasks import Task, scene_to_json
from studio.sessions.session import Session
from studio.sessions.work import StoppableSandbox
from studio.texts import t, translated

MAX_EASY, MIN_HARD = 0.25, 0.5
"""Difficulties between which a task is "medium"."""
MAX_ALTERNATIVES = 3
TASK_FIELD = "#task-text :is(textarea, input)"
"""Selector of the text field of the Task page."""


def task_cards(session: Session | None) -> dict[str, Any]:
    """Return TaskCards's value."""
    if session is None:
        return {}
    chosen = session.project.task()
    tasks = feasible_first(session.project.tasks() or (), session.project.folder, _robot(session))
    return {
        "tasks": [_card(session, task) for task in tasks],
        "chosen": chosen.instruction if chosen else "",
        "decided": bool(session.project.active_decisions("task")),
        "current_trial": session.rehearsing,
        "offer": _trial_offer(session),
        "fills": TASK_FIELD,
        "waiting": translated(session.project.error("task"))
        or t("Tasks are proposed here as soon as there is a twin."),
    }


def clarification(session: Session | None) -> dict[str, Any]:
    """Return TaskClarification's value: why the task text does not fit, and texts to click instead."""
    if session is None or session.runner.task_error is None:
        return {}
    error, proposed = session.runner.task_error, session.project.tasks() or ()
    instructions = [task.instruction for task in proposed[:MAX_ALTERNATIVES]]
    alternatives = error.alternatives or ([] if error.suggestion else instructions)
    return {
        "reason": translated(error.reason),
        "suggestion": error.suggestion,
        "alternatives": list(alternatives),
        "fills": TASK_FIELD,
    }


def rehearse_proposals(session: Session) -> None:
    """Plan the proposed tasks for the robot in use, then try those not tried yet, until other work begins."""
    if session.rehearsing or session.runner.current or not any(_untried(session)) or not session.may_write():
        return
    if session.rehearsal_stop.is_set():  # a person had stopped the rehearsals
        session.rehearsal_stop = threading.Event()
    session.rehearsing = _untried(session)[0].instruction
    session.tasks.start("rehearsals", lambda: _rehearse_all(session), session.log.report_once)


def _rehearse_all(session: Session) -> None:
    stop = session.rehearsal_stop
    sandbox = StoppableSandbox(session.services.sandbox, stop)
    try:
        for task in session.project.tasks() or ():
            if stop.is_set():
                break
            session.rehearsing = task.instruction
            session.log.mark_changed()
            why_not_feasible(task, session.project.folder, sandbox, _robot(session))
        for task in _untried(session):
            if stop.is_set():
                break
            session.rehearsing = task.instruction
            session.log.mark_changed()
            rehearse(task, session.project.folder, sandbox, _robot(session))
        session.rehearsals_ended += 1
    except Exception:
        if not stop.is_set():  # a stopped run fails, which is not an error
            raise
        session.rehearsals_ended += 1
    finally:
        session.rehearsing = ""


def _trial_offer(session: Session) -> str:
    """Return a text that is new each time that rehearsals can start again; empty while they cannot.

    It stays the same after rehearsals that ended with an error, so that a page does not repeat them for ever.
    """
    if session.rehearsing or session.runner.current:
        return ""
    return f"{_robot(session)} {session.runner.ended} {session.rehearsals_ended}"


def _robot(session: Session) -> str:
    return project_robot(session.project, session.services)


def _untried(session: Session) -> list[Task]:
    tasks = feasible_first(session.project.tasks() or (), session.project.folder, _robot(session))
    return [task for task in tasks if read_rehearsal(task, session.project.folder, _robot(session)) is None]


def object_names(project_folder: Path) -> Mapping[str, str]:
    """Return the plain name of each object of a project's twin by its name; empty without a twin."""
    scene_file = project_folder / "scene.json"
    return _object_names(project_folder, scene_file.stat().st_mtime_ns) if scene_file.is_file() else {}


@lru_cache(maxsize=16)
def _object_names(project_folder: Path, changed: int) -> Mapping[str, str]:
    scene = scene_to_json(kit.Scene.load(project_folder))
    return plain_names(scene_objects(scene), TableTop.from_json(scene))


def task_in_words(session: Session) -> str:
    """Return the text of the chosen task without ids; empty before one is chosen."""
    task = session.project.task()
    return in_plain_words(task.instruction, object_names(session.project.folder)) if task else ""


def goals_in_words(goals: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Return the goals of a task without ids: "the red cube rests on the blue cube"."""
    planned = read_sentences(goals)
    return list(sentences_in_words(planned, names)) if planned else [in_plain_words(goal, names) for goal in goals]


def identity_warnings(project: Project, task: Task) -> list[str]:
    """Return one sentence for each object of a task of which it is uncertain what it is."""
    scene, names = project.scene(), object_names(project.folder)
    doubts = identity_doubts(scene, project.matches() or ()) if scene else {}
    return [
        f"It is uncertain whether this is the {names.get(name, name)}: {doubts[name]}."
        for name in task.objects
        if name in doubts
    ]


def _card(session: Session, task: Task) -> dict[str, Any]:
    names = object_names(session.project.folder)
    record = _rehearsal_record(session, read_rehearsal(task, session.project.folder, _robot(session)))
    refusal = read_feasibility(task, session.project.folder, _robot(session)) or ""
    return {
        "name": task.name,
        "instruction": task.instruction,
        "words": in_plain_words(task.instruction, names),
        "kind": task.kind,
        "goals": goals_in_words(task.goals, names),
        "objects": [names.get(name, name.replace("_", " ")) for name in task.objects],
        "doubts": [translated(doubt) for doubt in identity_warnings(session.project, task)],
        "source": task.source,
        "level": _level(task.difficulty),
        **record,
        "why": in_plain_words(record["why"], names),
        "refusal": translated(in_plain_words(refusal, names)),
    }


def _rehearsal_record(session: Session, rehearsal: Rehearsal | None) -> dict[str, Any]:
    if rehearsal is None:
        return {"tried": False, "feasible": None, "why": "", "moves": 0, "picture": ""}
    return {
        "tried": True,
        "feasible": rehearsal.solved,
        "why": translated(rehearsal.reason),
        "moves": rehearsal.carries,
        "picture": f"/project/{session.token}/goal/{rehearsal.key}.png" if rehearsal.poses else "",
    }


def _level(difficulty: float | None) -> str:
    if difficulty is None:
        return ""
    return "easy" if difficulty < MAX_EASY else "hard" if difficulty > MIN_HARD else "medium"
