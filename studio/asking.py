"""What a person does about calls: watch one arrive, stop it, ask it anew, choose a way on from a failure."""

import json
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from PIL import Image
from pydantic import BaseModel

from pipeline.choosing import KINDS
from pipeline.models import Question, label_of
from pipeline.models.budget import estimate_step
from pipeline.models.calls import Call
from pipeline.models.live import Live
from pipeline.models.settings import ModelSettings
from pipeline.models.trace import Traced
from pipeline.project import Stage
from pipeline.router import RouteAnswer, SourceAnswer
from pipeline.run import matcher_of
from pipeline.scene.weighing import KIND as WEIGH
from studio import adjusting, calls
from studio.session import Session, SessionError
from studio.wording import STAGES

REMEDIES = {
    "retry": ("Retry", "Ask the same again"),
    "edit": ("Edit and retry", "Change the prompt, then ask again"),
    "measured": ("Use the measured answer", "Go on with what depth and colour say; undo asks the model again"),
    "skip": ("Skip this object", "Leave it out of the twin; undo brings it back"),
}
OF_OBJECTS = ("descriptions", "matches")
BY_ITSELF = ("describe_segment", "choose_match", *KINDS.values(), "propose_tasks")
"""Kinds that are asked as soon as their stage is out of date."""
ASIDE: dict[str, type[BaseModel]] = {
    "route": RouteAnswer,
    "repair_simulation": SourceAnswer,
    "repair_checks": SourceAnswer,
}
"""Kinds about a round that is over: asked anew they are answered for comparison, history stays."""


# ---------------------------------------------------------------------- failures


def failures(session: Session | None) -> dict[str, Any]:
    """Questions that failed and that nobody has settled."""
    if session is None:
        return {}
    return {
        "asks": {"name": calls.line(label_of(session.services.model)), "takes": session.asks_first()},
        "failures": [
            {
                "id": call.id,
                "title": calls.title(call),
                "about": calls.named(session, call),
                "error": calls.line(call.error or "The studio stopped before the answer came."),
                "remedies": _remedies(call),
            }
            for call in unsettled(session)
        ],
    }


def unsettled(session: Session) -> list[Call]:
    """Calls whose failure still shows: an object left as measured, a stage that stopped."""
    newest: dict[tuple[str, str], Call] = {}
    last: dict[str, Call] = {}
    for call in session.calls.read():
        newest[call.kind, call.about] = last[call.stage] = call
    flying = {flight.span for flight in session.flights()}
    wanted = [newest.get(place) for place in _failed_objects(session)]
    wanted += [last.get(stage) for stage in ("task", "rounds") if session.project.error(stage)]
    return [call for call in wanted if call and calls.state(call, flying) in ("failed", "lost")]


def _failed_objects(session: Session) -> Iterable[tuple[str, str]]:
    """Kind and about of the questions without an answer, of objects that are still to be answered for."""
    project = session.project
    described = session.kept("descriptions", "descriptions.json", project.descriptions) or ()
    matched = session.kept("matches", "matches.json", project.matches) or ()
    left_out = {d.data["id"] for d in project.decided("not_object") if d.data["value"]}
    settled = {(d.data["kind"], d.data["about"]) for d in project.decided("use_measured")}
    places = [("describe_segment", one.segment_id) for one in described if one.failure and one.is_object]
    kind = KINDS.get(matcher_of(project, session.services), "choose_match")
    places += [(kind, one.segment_id) for one in matched if one.failure]
    asked = [(kind, f"object {id}") for kind, id in places if id not in left_out]
    return [place for place in asked if place not in settled]


def remedies(session: Session, call: Call) -> list[dict[str, str]]:
    """What can be done about this call; nothing where it did not fail, or where it is settled."""
    return _remedies(call) if any(one.id == call.id for one in unsettled(session)) else []


def _remedies(call: Call) -> list[dict[str, str]]:
    kinds = ["retry", "edit"] if call.messages else ["retry"]
    kinds += ["measured", "skip"] if call.stage in OF_OBJECTS else []
    return [{"kind": kind, "label": REMEDIES[kind][0], "title": REMEDIES[kind][1]} for kind in kinds]


def act(session: Session, kind: str, id: object) -> None:
    """What a person chose about a failed call. Raises StudioError."""
    call = calls.find(session, id)
    if kind == "retry":
        again(session, call)
    elif kind == "measured" and call.stage in OF_OBJECTS:
        session.decide("use_measured", kind=call.kind, about=call.about)
    elif kind == "skip" and (number := re.fullmatch(r"object (\d+)", call.about)):
        session.decide("not_object", id=int(number[1]), value=True)
    else:
        raise SessionError("That cannot be done about this call; reload the page.")


# ---------------------------------------------------------------------- asking anew


def again(session: Session, call: Call, wording: str = "") -> None:
    """Asks a call anew, in a person's words where there are any; the record keeps both. Raises StudioError."""
    if call.offline:
        raise SessionError("No language model was asked here; choose one in the Models panel, then ask again.")
    if call.kind == WEIGH and (number := re.fullmatch(r"object (\d+)", call.about)):
        adjusting.ask_weight(session, {"id": int(number[1])}, again=True)
    elif call.kind in ASIDE and (wording or not session.project.error("rounds")):
        _aside(session, call, wording)
    elif call.kind in ASIDE:
        session.generate("", session.services.mode)
    elif call.kind == "understand_task":
        session.generate(str(_data(call).get("text", "")), session.services.mode)
    else:
        session.decide("ask_again", kind=call.kind, about=call.about, wording=wording)
        if call.kind not in BY_ITSELF:
            session.generate("", session.services.mode)


def _aside(session: Session, call: Call, wording: str) -> None:
    """Asks in a thread of its own; the answer changes nothing by itself."""
    earlier = sum(one.kind == call.kind and one.about == call.about for one in session.calls.read())
    question = Question(
        call.kind, _data(call), ASIDE[call.kind], _pictures(session, call),
        about=call.about, attempt=earlier, wording=wording,
    )  # fmt: skip
    live = Live(watch=session.flown)
    session.lives.append(live)

    session.aside(Traced(session.services.model, session.calls.path, live).ask, question)


def _data(call: Call) -> dict[str, Any]:
    try:
        said = json.loads(call.asked)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SessionError("The record does not hold what this call was asked with, so it cannot be asked again.")
    return said


def _pictures(session: Session, call: Call) -> tuple[np.ndarray, ...]:
    folder = session.project.folder.resolve()
    files = [(folder / name).resolve() for name in call.pictures if not name.startswith("data:")]
    there = [file for file in files if file.is_relative_to(folder) and file.is_file()]
    return tuple(np.asarray(Image.open(file).convert("RGB")) for file in there)


# ---------------------------------------------------------------------- calls in flight


def arriving(session: Session, call: Call) -> dict[str, Any]:
    """The text that has arrived so far."""
    flight = next((one for one in session.flights() if one.span == call.id), None)
    return {"running": flight is not None, "text": calls.legible(flight.text[-calls.MOST :]) if flight else ""}


def cancel(session: Session, call: Call) -> dict[str, Any]:
    """Closes the connection of one call; the work goes on without its answer."""
    flight = next((one for one in session.flights() if one.span == call.id), None)
    if flight is None:
        raise SessionError("That call has ended already.")
    flight.cancel()
    return {}


# ---------------------------------------------------------------------- what it takes


def estimates(session: Session, settings: ModelSettings) -> list[str]:
    """What the steps of this project would take with these settings, a sentence each."""
    if not settings.paid:
        return []
    segments = session.kept("segments", "segments/masks.png", session.project.segments) or ()
    stages: tuple[Stage, ...] = ("descriptions", "matches", "task", "rounds")
    told = {STAGES[stage]: estimate_step(settings, stage, len(segments)) for stage in stages}
    return [f"{title}: {one.sentence}" for title, one in told.items() if one.calls]
