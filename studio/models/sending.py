"""Consent to send a project to a model's server: what the app shows before the first call, and the answer."""

from collections.abc import Mapping
from typing import Any

from pipeline.models.destination import Destination, destination_of, is_loopback
from pipeline.models.settings import ModelSettings
from pipeline.run import may_send, project_matcher
from studio.models.cost_estimates import automatic_estimate, generation_estimate
from studio.models.sending_preview import preview
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.texts import t
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError


def sending_endpoint(sessions: SessionRegistry) -> Endpoint:
    """Return the endpoint of Sending."""
    return Endpoint({"preview": _preview}, session_context(sessions))


def sending_record(session: Session | None) -> dict[str, Any]:
    """Return Sending's value; {} if there is nothing to decide."""
    destination = _destination(session)
    if session is None or destination is None or session.project.segments() is None:
        return {}
    return {
        "token": session.token,
        "state": sending_state(session),
        "address": destination.address,
        "model": " and ".join(destination.models),
        "place": _place(destination),
    }


def _place(destination: Destination) -> str:
    """Return where a server is, as far as its address and its prices show."""
    if destination.is_this_machine:
        return t("on this machine")
    return t("on this machine, which passes it on") if is_loopback(destination.address) else t("on another machine")


def sending_state(session: Session) -> str:
    """Return "allowed", "declined", or "undecided" if a person has to be asked."""
    allowed = may_send(session.project, session.services.model, session.services.send)
    return "undecided" if allowed is None else "allowed" if allowed else "declined"


def decide(session: Session, message: Mapping[str, Any]) -> None:
    """Record whether the project may be sent to {address}. Raises RequestError if that is no longer the model's."""
    destination = _destination(session)
    if destination is None or destination.address != message.get("address"):
        raise RequestError("Another model has been chosen meanwhile; look at what goes to its server first.")
    session.decisions.record("send", server=destination.address, allow=message.get("allow") is True)


def _destination(session: Session | None) -> Destination | None:
    """Return the server that the session's model asks, if a person has a say in it."""
    destination = destination_of(session.services.model) if session else None
    if session is None or destination is None:
        return None
    return None if destination.is_this_machine and sending_state(session) == "allowed" else destination


def _preview(session: Session, request: dict) -> dict[str, Any]:
    """Return what would be sent: pictures as thumbnails by group, the first request's text, and the cost."""
    settings = getattr(session.services.model, "settings", ModelSettings())
    segments = session.cache.get("segments", "segments/masks.png", session.project.segments) or ()
    matcher = project_matcher(session.project, session.services)
    return preview(session) | {
        "cost": [automatic_estimate(settings, len(segments), matcher), generation_estimate(settings, 0)],
    }
