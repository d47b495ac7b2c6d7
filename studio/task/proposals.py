"""Proposed tasks as the cards show them, and the rehearsals that find out which of them the robot can do."""

import threading
from typing import Any

from pipeline.rehearsal import Rehearsal, read_rehearsal, rehearse
from pipeline.run import project_robot
from pipeline.tasks import Task
from studio.sessions.session import Session
from studio.sessions.work import StoppableSandbox

MAX_EASY, MIN_HARD = 0.25, 0.5
"""Difficulties between which a task is "medium"."""
MAX_ALTERNATIVES = 3


def task_cards(session: Session | None) -> dict[str, Any]:
    """Return TaskCards's value."""
    if session is None:
        return {}
    tasks, chosen = session.project.tasks() or (), session.project.task()
    return {
        "tasks": [_card(session, task) for task in tasks],
        "chosen": chosen.instruction if chosen else "",
        "decided": bool(session.project.active_decisions("task")),
        "current_trial": session.rehearsing,
        "waiting": session.project.error("task") or "Tasks are proposed here as soon as there is a twin.",
    }


def clarification(session: Session | None) -> dict[str, Any]:
    """Return TaskClarification's value: why the task text does not fit, and texts to click instead."""
    if session is None or session.runner.task_error is None:
        return {}
    error, proposed = session.runner.task_error, session.project.tasks() or ()
    instructions = [task.instruction for task in proposed[:MAX_ALTERNATIVES]]
    alternatives = error.alternatives or ([] if error.suggestion else instructions)
    return {"reason": error.reason, "suggestion": error.suggestion, "alternatives": list(alternatives)}


def rehearse_proposals(session: Session) -> None:
    """Try the proposed tasks that were not tried yet, one after the other, until other work begins."""
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
        for task in _untried(session):
            if stop.is_set():
                return
            session.rehearsing = task.instruction
            session.log.mark_changed()
            rehearse(task, session.project.folder, sandbox, _robot(session))
    except Exception:
        if not stop.is_set():  # a stopped run fails, which is not an error
            raise
    finally:
        session.rehearsing = ""


def _robot(session: Session) -> str:
    return project_robot(session.project, session.services)


def _untried(session: Session) -> list[Task]:
    tasks = session.project.tasks() or ()
    return [task for task in tasks if read_rehearsal(task, session.project.folder, _robot(session)) is None]


def _card(session: Session, task: Task) -> dict[str, Any]:
    return {
        "name": task.name,
        "instruction": task.instruction,
        "kind": task.kind,
        "goals": task.goals,
        "objects": task.objects,
        "source": task.source,
        "level": _level(task.difficulty),
        **_rehearsal_record(session, read_rehearsal(task, session.project.folder, _robot(session))),
    }


def _rehearsal_record(session: Session, rehearsal: Rehearsal | None) -> dict[str, Any]:
    if rehearsal is None:
        return {"tried": False, "feasible": None, "why": "", "moves": 0, "picture": ""}
    return {
        "tried": True,
        "feasible": rehearsal.solved,
        "why": rehearsal.reason,
        "moves": rehearsal.carries,
        "picture": f"/project/{session.token}/goal/{rehearsal.key}.png" if rehearsal.poses else "",
    }


def _level(difficulty: float | None) -> str:
    if difficulty is None:
        return ""
    return "easy" if difficulty < MAX_EASY else "hard" if difficulty > MIN_HARD else "medium"
