"""Above the objects: which matcher decides, and a table of how well each does on labelled frames."""

import secrets
from typing import Any

from components.matcher_bar import MatcherBar
from pipeline.errors import StudioError
from pipeline.matching import MODES, unavailable, unlearnt, usable
from studio.matching_choice import Scoring
from studio.notices import sentence
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
    try:
        if request.get("door") != door:
            raise SessionError("This page is from before the studio was started anew; reload it.")
        match request.get("kind"):
            case "plan":
                return scoring.plan(request)
            case "start":
                return scoring.start(request)
            case "stop":
                scoring.stop()
                return scoring.state()
            case "download":
                return scoring.download(request.get("form"))
        return scoring.state()
    except (StudioError, OSError) as error:
        return {"error": sentence(error)}
