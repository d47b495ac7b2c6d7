"""Above the objects: which matcher decides, and a table of how well each does on labelled frames."""

import secrets
from collections.abc import Callable
from typing import Any

from components.matcher_bar import MatcherBar
from pipeline.matching import MODES, unavailable, unlearnt, usable
from studio.doors import behind
from studio.matching_choice import Scoring
from studio.session import Session, SessionError
from studio.shell import Shell


def build(shell: Shell) -> None:
    scoring, door = Scoring(lambda: shell.sessions.services), secrets.token_urlsafe(24)
    bar = MatcherBar(lambda request: answer(scoring, door, request))
    shell.shows(bar, lambda session: shown(session, door))
    shell.told(bar.choose, choose)


def choose(session: Session, told: dict) -> None:
    """From now on this matcher decides for the project: {name}. Raises SessionError where it cannot."""
    mode = next((mode for mode in MODES if mode.name == told.get("name")), None)
    if mode is None:
        raise SessionError("There is no such matcher; choose one of the list.")
    if why := unavailable(mode.name, session.services.model, session.services.encoder):
        raise SessionError(f"{mode.title} {why}.")
    if mode.name != wanted(session):
        session.decide("matcher", name=mode.name)


def wanted(session: Session) -> str:
    """The matcher that a person decided on last, else the one chosen at start-up."""
    decided = session.project.decided("matcher")
    return decided[-1].data["name"] if decided else session.services.matcher


def shown(session: Session | None, door: str) -> dict[str, Any]:
    if session is None:
        return {}
    services, chosen = session.services, wanted(session)
    used, why = usable(chosen, services.model, services.encoder)  # type: ignore[arg-type]
    titles = {mode.name: mode.title for mode in MODES}
    note = f"{titles.get(chosen, chosen)} {why}. Until then all evidence decides." if why else ""
    note = " ".join(filter(None, (note, unlearnt(services.encoder))))
    return {
        "token": session.token,
        "door": door,
        "chosen": used,
        "note": note,
        "library": f"the library in use, {len(services.library)} assets",
        "matchers": [
            {"name": mode.name, "title": mode.title, "about": mode.about}
            | {"unavailable": unavailable(mode.name, services.model, services.encoder)}
            for mode in MODES
        ],
    }


def answer(scoring: Scoring, door: str, request: dict) -> dict[str, Any]:
    """What the bar asks for outside Gradio's queue; see MatcherBar."""
    return behind(door, ANSWERS, request, scoring)


def _stop(scoring: Scoring, request: dict) -> dict[str, Any]:
    scoring.stop()
    return scoring.state()


ANSWERS: dict[str, Callable[[Scoring, dict], dict[str, Any]]] = {
    "plan": lambda scoring, request: scoring.plan(request),
    "start": lambda scoring, request: scoring.start(request),
    "stop": _stop,
    "state": lambda scoring, request: scoring.state(),
    "download": lambda scoring, request: scoring.download(request.get("form")),
}
