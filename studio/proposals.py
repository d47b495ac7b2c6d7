"""Proposed tasks as the cards show them, and the rehearsals that tell which of them the robot can do."""

import threading
from typing import Any

from pipeline.rehearsal import Rehearsal, known, rehearse
from pipeline.tasks import Task
from studio.session import Session
from studio.work import StoppableSandbox

EASY, HARD = 0.25, 0.5
"""Difficulties between which a task looks neither easy nor hard."""


def shown(session: Session | None) -> dict[str, Any]:
    """What the cards are given; see components.steps.TaskCards."""
    if session is None:
        return {}
    tasks, chosen = session.project.tasks() or (), session.project.task()
    return {
        "tasks": [_card(session, task) for task in tasks],
        "chosen": chosen.instruction if chosen else "",
        "decided": bool(session.project.decided("task")),
        "trying": session.rehearsing,
        "waiting": session.project.error("task") or "Tasks are proposed here as soon as there is a twin.",
    }


def try_out(session: Session) -> None:
    """Tries the proposed tasks that were not tried yet, one after the other, until other work begins."""
    if session.rehearsing or session.work or not any(_untried(session)):
        return
    if session.quiet.is_set():  # a person had stopped it
        session.quiet = threading.Event()
    session.rehearsing = _untried(session)[0].instruction
    session.aside(_try_out, session)


def _try_out(session: Session) -> None:
    stop = session.quiet
    sandbox = StoppableSandbox(session.services.sandbox, stop)
    try:
        for task in _untried(session):
            if stop.is_set():
                return
            session.rehearsing = task.instruction
            session.tell()
            rehearse(task, session.project.folder, sandbox)
    except Exception:
        if not stop.is_set():  # else it was ended by what is more urgent
            raise
    finally:
        session.rehearsing = ""


def _untried(session: Session) -> list[Task]:
    tasks = session.project.tasks() or ()
    return [task for task in tasks if known(task, session.project.folder) is None]


def _card(session: Session, task: Task) -> dict[str, Any]:
    done = known(task, session.project.folder)
    return {
        "name": task.name,
        "instruction": task.instruction,
        "kind": task.kind,
        "goals": task.goals,
        "objects": task.objects,
        "source": task.source,
        "level": _level(task.difficulty),
        **_tried(session, done),
    }


def _tried(session: Session, done: Rehearsal | None) -> dict[str, Any]:
    if done is None:
        return {"tried": False, "doable": None, "why": "", "carries": 0, "picture": ""}
    picture = f"/project/{session.token}/goal/{done.key}.png" if done.poses else ""
    return {"tried": True, "doable": done.solved, "why": done.why, "carries": done.carries, "picture": picture}


def _level(difficulty: float | None) -> str:
    if difficulty is None:
        return ""
    return "easy" if difficulty < EASY else "hard" if difficulty > HARD else "medium"
