"""What a person does about calls: watch one arrive, stop it, ask it anew, choose a way on from a failure."""

from typing import Any

from pipeline.models.calls import Call
from pipeline.models.settings import ModelSettings
from studio import calls
from studio.session import Session, SessionError

REMEDIES = {
    "retry": ("Retry", "Ask the same again"),
    "edit": ("Edit and retry", "Change the prompt, then ask again"),
    "measured": ("Use the measured answer", "Go on with what depth and colour say"),
    "skip": ("Skip this object", "Leave it out of the twin; undo brings it back"),
}
OF_OBJECTS = ("descriptions", "matches")


def failures(session: Session | None) -> dict[str, Any]:
    """Questions whose last answer failed and nobody has settled."""
    if session is None:
        return {}
    return {
        "failures": [
            {
                "id": call.id,
                "title": calls.title(call),
                "about": calls.line(call.about),
                "error": calls.line(call.error or "The studio stopped before the answer came."),
                "remedies": remedies(session, call),
            }
            for call in unsettled(session)
        ]
    }


def unsettled(session: Session) -> list[Call]:
    """Failed calls after which the same was not answered, and about which nothing was decided."""
    newest: dict[tuple[str, str], Call] = {}
    for call in session.calls.read():
        newest[call.kind, call.about] = call
    flying = {flight.span for flight in session.flights()}
    return [call for call in newest.values() if calls.state(call, flying) in ("failed", "lost") and not call.offline]


def remedies(session: Session, call: Call) -> list[dict[str, str]]:
    if call not in unsettled(session):
        return []
    kinds = ["retry", "edit"] if call.messages else ["retry"]
    kinds += ["measured", "skip"] if call.stage in OF_OBJECTS else []
    return [{"kind": kind, "label": REMEDIES[kind][0], "title": REMEDIES[kind][1]} for kind in kinds]


def act(session: Session, kind: str, id: object) -> None:
    """What a person chose about a failed call. Raises StudioError."""
    calls.find(session, id)
    raise SessionError("That cannot be done yet.")


def arriving(session: Session, call: Call) -> dict[str, Any]:
    """The text that has arrived so far."""
    flight = next((one for one in session.flights() if one.span == call.id), None)
    text = calls.legible(flight.text[-calls.MOST :]) if flight else ""
    return {"running": flight is not None, "text": text}


def cancel(session: Session, call: Call) -> dict[str, Any]:
    flight = next((one for one in session.flights() if one.span == call.id), None)
    if flight is None:
        raise SessionError("That call has ended already.")
    flight.cancel()
    return {}


def again(session: Session, call: Call, text: str) -> str:
    """Asks a call anew in a person's words; returns the new call's id. Raises StudioError."""
    raise SessionError("That cannot be done yet.")


def estimates(session: Session, settings: ModelSettings) -> list[str]:
    """What each step that is left would take, in a sentence each."""
    return []
