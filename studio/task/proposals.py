"""Proposed tasks as the cards show them, and the rehearsals that find out which of them the robot can do."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.feasibility import feasible_first, read_feasibility, why_not_feasible
from pipeline.object_words import ObjectWords, object_words
from pipeline.planner.language.wording import sentences_in_words
from pipeline.project import Project
from pipeline.rehearsal import Rehearsal, read_rehearsal, rehearse
from pipeline.run import project_robot
from pipeline.scene.confidence import identity_doubts
from pipeline.tasks import Task
from studio.sessions.session import Session
from studio.sessions.work import StoppableSandbox
from studio.texts import t, translated
from studio.web.jobs import Job

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
    doubts = session.cache.get("identity doubts", "scene.json", lambda: object_doubts(session.project)) if tasks else {}
    return {
        "tasks": [_card(session, task, doubts) for task in tasks],
        "chosen": chosen.instruction if chosen else "",
        "decided": bool(session.project.active_decisions("task")),
        "current_trial": session.rehearsing,
        "offer": _trial_offer(session),
        "fills": TASK_FIELD,
        "waiting": translated(object_words(session.project).in_words(session.project.error("task")))
        or t("Tasks are proposed here as soon as there is a twin."),
    }


def clarification(session: Session | None) -> dict[str, Any]:
    """Return TaskClarification's value: why the task text does not fit, and texts to click instead."""
    if session is None or session.runner.task_error is None:
        return {}
    error, proposed = session.runner.task_error, session.project.tasks() or ()
    instructions = [task.instruction for task in proposed[:MAX_ALTERNATIVES]]
    alternatives = error.alternatives or ([] if error.suggestion else instructions)
    words = object_words(session.project)
    return {
        "reason": translated(words.in_words(error.reason)),
        "suggestion": words.with_display_names(error.suggestion),
        "alternatives": [words.with_display_names(text) for text in alternatives],
        "fills": TASK_FIELD,
    }


def rehearse_proposals(session: Session) -> None:
    """Plan the proposed tasks for the robot in use, then try those not tried yet, until other work begins."""
    if session.rehearsing or session.runner.current or not any(_untried(session)) or not session.may_write():
        return
    session.rehearsals = session.make_job("rehearsals", lambda job: _rehearse_all(session, job))
    session.rehearsals.message = _untried(session)[0].instruction
    session.rehearsals.start()


def _rehearse_all(session: Session, job: Job[None]) -> None:
    sandbox = StoppableSandbox(session.services.sandbox, job.stop_event)

    def try_each(act: Callable[..., object], tasks: Iterable[Task]) -> None:
        for task in tasks:
            if job.stopping:
                break
            job.message = task.instruction
            session.log.mark_changed()
            act(task, session.project.folder, sandbox, _robot(session))

    try:
        try_each(why_not_feasible, session.project.tasks() or ())
        try_each(rehearse, _untried(session))
    except Exception:
        if not job.stopping:  # a stopped run fails, which is not an error
            raise
    session.rehearsals_ended += 1


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


def task_in_words(session: Session) -> str:
    """Return the text of the chosen task without ids; empty before one is chosen."""
    task = session.project.task()
    return object_words(session.project).in_words(task.instruction) if task else ""


def goals_in_words(task: Task, words: ObjectWords) -> list[str]:
    """Return the goals of a task without ids: "the red cube rests on the blue cube"."""
    texts = sentences_in_words(task.planned, words.plain) if task.planned else task.goals
    return [words.in_words(text) for text in texts]


def object_doubts(project: Project) -> dict[str, str]:
    """Return why it is uncertain what an object is, by name, for those where it is."""
    scene = project.scene()
    return identity_doubts(scene, project.matches() or ()) if scene else {}


def identity_warnings(task: Task, doubts: Mapping[str, str], words: ObjectWords) -> list[str]:
    """Return one sentence for each object of a task of which it is uncertain what it is; `doubts` are by name."""
    return [
        words.with_display_names(f"It is uncertain whether this is the {words.plain.get(name, name)}: {doubts[name]}.")
        for name in task.objects
        if name in doubts
    ]


def _card(session: Session, task: Task, doubts: Mapping[str, str]) -> dict[str, Any]:
    words = object_words(session.project)
    record = _rehearsal_record(session, read_rehearsal(task, session.project.folder, _robot(session)))
    refusal = read_feasibility(task, session.project.folder, _robot(session)) or ""
    return {
        "name": task.name,
        "instruction": task.instruction,
        "text": words.with_display_names(task.instruction),
        "words": words.in_words(task.instruction),
        "kind": task.kind,
        "goals": goals_in_words(task, words),
        "objects": [words.of(name) for name in task.objects],
        "uncertain": [words.of(name) for name in task.objects if name in doubts],
        "doubts": [translated(doubt) for doubt in identity_warnings(task, doubts, words)],
        "source": task.source,
        "level": _level(task.difficulty),
        **record,
        "why": words.in_words(record["why"]),
        "refusal": translated(words.in_words(refusal)),
    }


def _rehearsal_record(session: Session, rehearsal: Rehearsal | None) -> dict[str, Any]:
    if rehearsal is None:
        return {"tried": False, "feasible": None, "why": "", "moves": 0, "picture": ""}
    return {
        "tried": True,
        "feasible": rehearsal.solved,
        "why": translated(rehearsal.reason),
        "moves": rehearsal.carries,
        "picture": f"project/{session.token}/goal/{rehearsal.key}.png" if rehearsal.poses else "",
    }


def _level(difficulty: float | None) -> str:
    if difficulty is None:
        return ""
    return "easy" if difficulty < MAX_EASY else "hard" if difficulty > MIN_HARD else "medium"
