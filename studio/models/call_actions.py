"""Actions on model calls: watch, cancel, ask again, and resolve a failure."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image
from pydantic import BaseModel

from pipeline.description.physical_properties import KIND as PROPERTIES_KIND
from pipeline.matching.model import QUESTION_KINDS
from pipeline.models import Question
from pipeline.models.budget import estimate_step
from pipeline.models.in_flight import InFlightCall
from pipeline.models.settings import ModelSettings
from pipeline.models.trace.call_log import Call
from pipeline.project import Stage
from pipeline.router import RouteAnswer, SourceAnswer
from pipeline.run import project_matcher, tracing_model
from pipeline.store import parse_json
from studio.models import call_records
from studio.sessions.physical_properties import ask_physical_properties
from studio.sessions.session import Session
from studio.sessions.wording import STAGE_TITLES
from studio.texts import t, translated
from studio.web.errors import RequestError

REMEDIES = {
    "retry": ("Retry", "Send the same request again"),
    "edit": ("Edit and retry", "Change the prompt, then send the request again"),
    "measured": ("Use the measured answer", "Continue with what depth and colour say; undo asks the model again"),
    "skip": ("Skip this object", "Leave it out of the twin; undo brings it back"),
}
"""Label and title of each button."""
OBJECT_STAGES = ("descriptions", "matches")
AUTOMATIC_KINDS = ("describe_segment", "choose_match", *QUESTION_KINDS.values(), "propose_tasks")
"""Kinds of questions that are asked as soon as their stage is out of date."""
ROUND_ANSWERS: dict[str, type[BaseModel]] = {
    "route": RouteAnswer,
    "repair_simulation": SourceAnswer,
    "repair_checks": SourceAnswer,
}
"""Kinds of questions about a finished round. Asked again, they are answered for comparison; the round stays."""


# ---------------------------------------------------------------------- failures


def failures_record(session: Session | None) -> dict[str, Any]:
    """Return Failures's value: the failed calls that are not resolved."""
    if session is None:
        return {}
    return {
        "failures": [
            {
                "id": call.id,
                "title": call_records.call_title(call),
                "about": call_records.subject_label(session, call),
                "error": call_records.single_line(call.error or t("The studio stopped before the answer came.")),
                "remedies": _remedies(call),
            }
            for call in unresolved_calls(session)
        ],
    }


def unresolved_calls(session: Session) -> list[Call]:
    """Return the calls whose failure still has an effect: a measured answer used instead, or a stopped stage."""
    by_question: dict[tuple[str, str], Call] = {}
    by_stage: dict[str, Call] = {}
    for call in session.calls.read():
        by_question[call.kind, call.subject] = by_stage[call.stage] = call
    running = {call.span_id for call in session.calls.in_flight()}
    calls = [by_question.get(question) for question in _unanswered_questions(session)]
    calls += [by_stage.get(stage) for stage in ("task", "rounds") if session.project.error(stage)]
    return [call for call in calls if call and call_records.state(call, running) in ("failed", "interrupted")]


def _unanswered_questions(session: Session) -> list[tuple[str, str]]:
    """Return kind and subject of the questions about objects that were not answered and are still open."""
    project = session.project
    descriptions = session.cache.get("descriptions", "descriptions.json", project.descriptions) or ()
    matches = session.cache.get("matches", "matches.json", project.matches) or ()
    removed = {d.data["id"] for d in project.active_decisions("not_object") if d.data["value"]}
    resolved = {(d.data["kind"], d.data["about"]) for d in project.active_decisions("use_measured")}
    failed = [("describe_segment", one.segment_id) for one in descriptions if one.failure and one.is_object]
    kind = QUESTION_KINDS.get(project_matcher(project, session.allowed_services), "choose_match")
    failed += [(kind, match.segment_id) for match in matches if match.failure]
    questions = [(kind, f"object {id}") for kind, id in failed if id not in removed]
    return [question for question in questions if question not in resolved]


def remedies(session: Session, call: Call) -> list[dict[str, str]]:
    """Return what can be done about this call; nothing unless it is unresolved."""
    return _remedies(call) if any(one.id == call.id for one in unresolved_calls(session)) else []


def _remedies(call: Call) -> list[dict[str, str]]:
    kinds = ["retry", "edit"] if call.messages else ["retry"]
    kinds += ["measured", "skip"] if call.stage in OBJECT_STAGES else []
    return [{"kind": kind, "label": t(REMEDIES[kind][0]), "title": t(REMEDIES[kind][1])} for kind in kinds]


def apply_remedy(session: Session, message: Mapping[str, Any]) -> None:
    """Do what a person chose about the failed call {kind, id}. Raises StudioError."""
    kind, call = str(message.get("kind")), call_records.find_call(session, message.get("id"))
    if kind == "retry":
        ask_again(session, call)
    elif kind == "measured" and call.stage in OBJECT_STAGES:
        session.decisions.record("use_measured", kind=call.kind, about=call.subject)
    elif kind == "skip" and (number := re.fullmatch(r"object (\d+)", call.subject)):
        session.decisions.record("not_object", id=int(number[1]), value=True)
    else:
        raise RequestError("That cannot be done about this call; reload the page.")


# ---------------------------------------------------------------------- asking again


def ask_again(session: Session, call: Call, prompt_text: str = "") -> None:
    """Ask a call again, with a person's prompt if there is one; the trace has both. Raises StudioError."""
    if call.offline:
        raise RequestError("No language model was asked here; choose one in the Models panel, then ask again.")
    if session.allowed_services.model is not session.services.model:
        raise RequestError("This project is not sent to the model's server; allow that in the Models panel first.")
    if call.kind == PROPERTIES_KIND and (number := re.fullmatch(r"object (\d+)", call.subject)):
        ask_physical_properties(session, {"id": int(number[1])}, again=True)
    elif call.kind in ROUND_ANSWERS and (prompt_text or not session.project.error("rounds")):
        _ask_for_comparison(session, call, prompt_text)
    elif call.kind in ROUND_ANSWERS:
        session.generate("", session.services.mode)
    elif call.kind == "understand_task":
        session.generate(str(_input(call).get("text", "")), session.services.mode)
    else:
        session.decisions.record("ask_again", kind=call.kind, about=call.subject, wording=prompt_text)
        if call.kind not in AUTOMATIC_KINDS:
            session.generate("", session.services.mode)


def _ask_for_comparison(session: Session, call: Call, prompt_text: str) -> None:
    """Ask in the background; the answer only goes to the trace."""
    attempt = sum(one.kind == call.kind and one.subject == call.subject for one in session.calls.read())
    data = {"examples": []} | _input(call)  # earlier versions had none
    question = Question(
        call.kind, data, ROUND_ANSWERS[call.kind], _pictures(session, call),
        subject=call.subject, attempt=attempt, prompt_text=prompt_text,
    )  # fmt: skip
    model = tracing_model(session.project, session.services, session.calls.watch(), overrides={})
    session.tasks.start("question", lambda: model.ask(question), session.log.report_once)


def _input(call: Call) -> dict[str, Any]:
    """Return what the call was asked with. Raises RequestError if the trace does not contain it."""
    try:
        data = parse_json(call.input_json)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise RequestError("The trace does not contain the input of this call, so it cannot be asked again.")
    return data


def _pictures(session: Session, call: Call) -> tuple[np.ndarray, ...]:
    folder = session.project.folder.resolve()
    files = [(folder / name).resolve() for name in call.pictures if not name.startswith("data:")]
    existing = [file for file in files if file.is_relative_to(folder) and file.is_file()]
    return tuple(np.asarray(Image.open(file).convert("RGB")) for file in existing)


# ---------------------------------------------------------------------- calls in flight


def streamed_text(session: Session, call: Call) -> dict[str, Any]:
    """Return {running, text}: the text that has arrived so far."""
    running = _in_flight(session, call)
    text = running.text[-call_records.MAX_TEXT_LENGTH :] if running else ""
    return {"running": running is not None, "text": call_records.escape_controls(text)}


def cancel(session: Session, call: Call) -> dict[str, Any]:
    """Close the connection of one call; the work goes on without its answer. Raises RequestError if it has ended."""
    running = _in_flight(session, call)
    if running is None:
        raise RequestError("That call has ended already.")
    running.cancel()
    return {}


def _in_flight(session: Session, call: Call) -> InFlightCall | None:
    return next((one for one in session.calls.in_flight() if one.span_id == call.id), None)


# ---------------------------------------------------------------------- cost


def cost_estimates(session: Session, settings: ModelSettings) -> list[str]:
    """Return a sentence for each step of this project on what it would cost with these settings."""
    if not settings.paid:
        return []
    segments = session.cache.get("segments", "segments/masks.png", session.project.segments) or ()
    stages: tuple[Stage, ...] = ("descriptions", "matches", "task", "rounds")
    estimates = {STAGE_TITLES[stage]: estimate_step(settings, stage, len(segments)) for stage in stages}
    return [f"{t(title)}: {translated(estimate.sentence)}" for title, estimate in estimates.items() if estimate.calls]
