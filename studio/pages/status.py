"""Values of the top bar and the status bar."""

import time
from typing import Any

from pipeline.assets import Library
from pipeline.models import label_of
from pipeline.object_words import object_words, segment_words
from pipeline.project.curation import FILE as CURATION
from pipeline.project.curation import read_curation
from pipeline.run import Services
from pipeline.simulation.sandbox.sandbox import Sandbox
from studio.models import cost_estimates
from studio.pages.step_guide import step_guide
from studio.pages.steps import STATE_LABELS, STEPS, furthest_step, step_state
from studio.services.segmenter_catalogue import catalogue
from studio.sessions.session import Session
from studio.sessions.wording import STAGE_TITLES, describe_decision, progress_line
from studio.task.round_outcome import outcome_line
from studio.texts import t, translated


def top_bar_record(session: Session | None, services: Services) -> dict[str, Any]:
    """Return TopBar's value."""
    record: dict[str, Any] = {"ready": True, "services": service_records(services, session), "project": None}
    if session is None:
        return record
    project = session.project
    undo, redo, names = project.next_undo, project.next_redo, segment_words(project)
    return record | {
        "project": project.folder.name,
        "title": session.cache.get("title", CURATION, lambda: read_curation(project.folder).title)
        or project.name.replace("_", " "),
        "saved": _saved(session),
        "reached": furthest_step(session),
        "editor": session.editor.name,
        "decided": len(project.decisions),
        "can_undo": bool(undo),
        "can_redo": bool(redo),
        "undo": translated(describe_decision(undo, names)) if undo else "",
        "redo": translated(describe_decision(redo, names)) if redo else "",
    }


def _calls_text(session: Session) -> str:
    calls = session.calls.read()
    if all(call.model == "rules" for call in calls):
        return t("{n} answer by rules|{n} answers by rules", n=len(calls))
    return t("{n} model call|{n} model calls", n=len(calls))


def _saved(session: Session) -> str:
    project = session.project
    if not project.is_writer:
        return t("view only")
    at = time.localtime(project.decisions[-1].at) if project.decisions else None
    return t("saved {time}", time=time.strftime("%H:%M", at)) if at else t("saved")


def service_records(services: Services, session: Session | None = None) -> list[dict[str, Any]]:
    """Return {what, name, live, note, opens} of the segmenter, the model and the library in use.

    `live` is false for a stand-in; the note says what it stands in for.
    """
    return [
        _segmenter_record(session.segmenters.chosen if session else services.segmenter.name),
        _model_record(label_of(services.model), session is None or session.allowed_services.model is services.model),
        _library_record(services.library),
    ]


def _segmenter_record(name: str) -> dict[str, Any]:
    info = catalogue().get(name)
    if info is None:
        return {"what": t("segmenter"), "name": name, "live": True, "note": t("Outlines come from {name}.", name=name)}
    title = t("{title} (stand-in for SAM 2)", title=t(info.title)) if info.is_stand_in else t(info.title)
    return {"what": t("segmenter"), "name": title, "live": not info.is_stand_in, "note": t(info.note)}


def _model_record(label: str, is_allowed: bool) -> dict[str, Any]:
    if not is_allowed:
        note = t("Offline rules answer: this project is not sent to {label}'s server.", label=label)
        return {
            "what": t("model"),
            "name": t("rules ({label} not asked)", label=label),
            "live": False,
            "note": note,
            "opens": "model",
        }
    is_planner = label == "rules"
    source = t("offline rules") if is_planner else label
    return {
        "what": t("model"),
        "name": t("rules (no language model)") if is_planner else label,
        "live": not is_planner,
        "note": t("Tasks, programs and repairs come from {source}.", source=source),
        "opens": "model",
    }


def _library_record(library: Library) -> dict[str, Any]:
    skipped = (
        " " + t("{n} folder could not be read.|{n} folders could not be read.", n=len(library.skipped))
        if library.skipped
        else ""
    )
    return {
        "what": t("library"),
        "name": t("{n} asset|{n} assets", n=len(library.assets)),
        "live": True,
        "note": t("Browse all assets and add more.{skipped}", skipped=skipped),
        "opens": "library",
    }


def status_bar_record(session: Session | None) -> dict[str, Any]:
    """Return StatusBar's value."""
    if session is None:
        return {}
    named = object_words(session.project).with_names_for_ids
    lines = [
        {"at": time.strftime("%H:%M:%S", time.localtime(line.at)), "text": _capitalised(translated(named(line.text)))}
        | {"kind": line.kind, "by": line.by}
        for line in list(session.log.lines)
    ]
    work = session.runner.current
    record: dict[str, Any] = {
        "log": lines,
        "running": work is not None,
        "calls": _calls_text(session),
        "protection": _protection_record(session.services.sandbox),
        "message": _capitalised(_idle_message(session)),
        "guide": step_guide(session),
        "states": {step.name: t(STATE_LABELS[step_state(step, session)]) for step in STEPS if step.stages},
    }
    if work:
        record |= {"stopping": work.stopping, "message": _work_message(session)}
    if work and work.last:
        record |= {"done": work.last.done, "of": work.last.total}
    return record


def _work_message(session: Session) -> str:
    """Return what is being done: the newest step, or the round that is judged since."""
    work, judged_now = session.runner.current, session.judged_now
    if judged_now is not None:
        return t("Simulation · judging round {number}", number=judged_now.number)
    named = object_words(session.project).with_names_for_ids
    return translated(named(progress_line(work.last))) if work and work.last else t("Starting")


def _protection_record(sandbox: Sandbox) -> dict[str, str]:
    """Return whether programs are confined on this machine; empty until that is known."""
    protection = sandbox.known_protection
    if protection is None:
        return {}
    state = "confined" if protection.confines else "agreed" if sandbox.unprotected else "refused"
    return {
        "state": state,
        "title": "\n".join(map(translated, protection.sentences)),
        "question": translated(protection.refusal),
    }


def agree_to_run_unconfined(session: Session) -> None:
    """Run programs from now on although this machine cannot confine them, until the studio ends."""
    session.services.sandbox.unprotected = True
    session.log.add("Programs run unconfined until the studio is restarted.", "person")


def _idle_message(session: Session) -> str:
    """Return the message while nothing runs."""
    last = session.log.lines[-1].text if session.log.lines else ""
    prepared = (f"{STAGE_TITLES['task']} · ", f"{STAGE_TITLES['scene']} · ")
    judged = (f"{STAGE_TITLES['solution']} · ", f"{STAGE_TITLES['rounds']} · ")
    if last.startswith((*prepared, *judged)) and (outcome := outcome_line(session)):
        return outcome
    if last.startswith(prepared) and (tasks := session.project.tasks()) is not None:
        estimate = cost_estimates.generation_estimate(getattr(session.allowed_services.model, "settings", None), 0)
        return t(
            "Ready. {n} task is proposed: choose it, or write your own. {estimate}"
            "|Ready. {n} tasks are proposed: choose one, or write your own. {estimate}",
            n=len(tasks),
            estimate=estimate,
        ).strip()
    return translated(object_words(session.project).with_names_for_ids(last)) or t("Ready.")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
