"""The matcher that a person chose for a project, as the matcher bar shows it."""

from collections.abc import Mapping
from typing import Any

from pipeline.matching import all_matchers, calibration_warning, usable_matcher, why_unavailable
from studio.sessions.session import Session
from studio.texts import t, translated
from studio.web.errors import RequestError


def choose_matcher(session: Session, message: Mapping[str, Any]) -> None:
    """Let the matcher {name} decide for this project from now on. Raises RequestError if it cannot."""
    matcher = next((one for one in all_matchers() if one.name == message.get("name")), None)
    if matcher is None:
        raise RequestError("There is no such matcher; choose one from the list.")
    if reason := why_unavailable(matcher.name, session.allowed_services.model, session.services.encoder):
        raise RequestError(f"{matcher.title} {reason}.")
    if matcher.name != chosen_matcher(session):
        session.decisions.record("matcher", name=matcher.name)


def chosen_matcher(session: Session) -> str:
    """Return the matcher that a person chose last, else the one of the settings."""
    decisions = session.project.active_decisions("matcher")
    return decisions[-1].data["name"] if decisions else session.services.matcher


def matcher_record(session: Session | None, page_token: str) -> dict[str, Any]:
    """Return MatcherBar's value."""
    if session is None:
        return {}
    services, chosen = session.allowed_services, chosen_matcher(session)
    used, reason = usable_matcher(chosen, services.model, services.encoder)  # type: ignore[arg-type]
    titles = {matcher.name: matcher.title for matcher in all_matchers()}
    note = (
        t(
            "{matcher} {reason}. Until then all evidence decides.",
            matcher=t(titles.get(chosen, chosen)),
            reason=translated(reason),
        )
        if reason
        else ""
    )
    note = " ".join(filter(None, (note, translated(calibration_warning(services.encoder)))))
    return {
        "token": session.token,
        "page_token": page_token,
        "chosen": used,
        "note": note,
        "library": t("the library in use, {count} assets", count=len(services.library)),
        "matchers": [
            {"name": matcher.name, "title": t(matcher.title), "about": t(matcher.summary)}
            | {"unavailable": translated(why_unavailable(matcher.name, services.model, services.encoder))}
            for matcher in all_matchers()
        ],
    }
