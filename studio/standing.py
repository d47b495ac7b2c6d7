"""How things stand, in words: what the top bar and the status bar say."""

import time
from typing import Any

from pipeline.decisions import in_force, undone
from pipeline.models import label_of
from pipeline.run import Services
from studio import spending
from studio.session import Session
from studio.wording import STAGES, told, words


def top(session: Session | None, services: Services) -> dict[str, Any]:
    """What the top bar shows."""
    said: dict[str, Any] = {"ready": True, "services": live(services, session), "project": None}
    if session is None:
        return said
    project = session.project
    done, gone = in_force(project.decisions), undone(project.decisions)
    return said | {
        "project": project.folder.name,
        "title": project.name.replace("_", " "),
        "saved": _saved(project.decisions[-1].at) if project.decisions else "saved",
        "decided": len(project.decisions),
        "can_undo": bool(done),
        "can_redo": bool(gone),
        "undo": words(done[-1]) if done else "",
        "redo": words(gone[-1]) if gone else "",
    }


def _saved(at: float) -> str:
    return f"saved {time.strftime('%H:%M', time.localtime(at))}"


def live(services: Services, session: Session | None = None) -> list[dict[str, Any]]:
    """What answers: the real thing, or a stand-in that says why."""
    segmenter = session.views.chosen if session else services.segmenter.name
    model, library = label_of(services.model), services.library
    sam2, rules = segmenter == "sam2", model == "rules"
    skipped = f" {len(library.skipped)} folders could not be read." if library.skipped else ""
    return [
        {
            "what": "segmenter",
            "name": "SAM 2" if sam2 else f"{segmenter} (stand-in for SAM 2)",
            "live": sam2,
            "note": "Outlines come from SAM 2."
            if sam2
            else "Outlines come from depth and colour; no SAM 2 weights are loaded.",
        },
        {
            "what": "model",
            "name": "rules (no language model)" if rules else model,
            "live": not rules,
            "note": "Tasks, programs and repairs come from written rules, offline."
            if rules
            else f"Tasks, programs and repairs come from {model}.",
            "opens": "model",
        },
        {
            "what": "library",
            "name": f"{len(library.assets)} assets",
            "live": True,
            "note": f"Every asset there is, and the way in for more.{skipped}",
            "opens": "library",
        },
    ]


def _rest(session: Session, last: str) -> str:
    """What the status bar says while nothing is worked out."""
    if last.startswith((f"{STAGES['task']} · ", f"{STAGES['scene']} · ")) and session.project.tasks() is not None:
        tasks = len(session.project.tasks() or ())
        proposed = f"Ready. {tasks} {'task is' if tasks == 1 else 'tasks are'} proposed: choose one, or write your own."
        return f"{proposed} {spending.generating(getattr(session.services.model, 'settings', None), 0)}".strip()
    if last.startswith(f"{STAGES['solution']} · ") and (solution := session.project.solution()):
        good, all_ = sum(solution.success), len(solution.success)
        verdict = "Solved" if solution.solved else "Not solved"
        return f"{verdict}: {good} of {all_} seeds. Watch it in Review and export."
    return last or "Ready."


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def below(session: Session | None) -> dict[str, Any]:
    """What the status bar shows."""
    if session is None:
        return {}
    lines = [
        {"at": time.strftime("%H:%M:%S", time.localtime(line.at)), "text": line.text, "kind": line.kind}
        for line in list(session.log)
    ]
    work = session.work
    said: dict[str, Any] = {
        "log": lines,
        "running": work is not None,
        "calls": len(session.calls.read()),
        "message": _sentence(_rest(session, lines[-1]["text"] if lines else "")),
    }
    if work:
        said["halting"] = work.stopping
        if lines and lines[-1]["kind"] == "bad":  # of what was tried before
            said["message"] = "Starting"
    if work and work.last:
        said |= {"message": told(work.last), "done": work.last.done, "of": work.last.of}
    return said
