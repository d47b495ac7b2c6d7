"""Requests of the Compare page: start a comparison, follow it, stop it."""

from typing import Any

from studio.accounts.roles import Role
from studio.compare.comparisons import Comparisons, comparison_record
from studio.compare.project_sources import project_episodes
from studio.sessions.session import Session
from studio.web.endpoints import Endpoint


def endpoint(comparisons: Comparisons) -> Endpoint:
    """Return the endpoint of ComparePage."""
    return Endpoint(HANDLERS, comparisons.page_token.context(comparisons), roles=READING)


def page_record(comparisons: Comparisons, session: Session | None) -> dict[str, Any]:
    """Return ComparePage's value."""
    episodes = project_episodes(session) if session else []
    project = {"project": session.token, "name": session.project.name} if session else {"project": "", "name": ""}
    return {"page_token": comparisons.page_token.value, "episodes": episodes, **project}


def _answer(comparisons: Comparisons, token: str) -> dict:
    return comparison_record(comparisons.get(token))


def _sample(comparisons: Comparisons, request: dict) -> dict:
    return _answer(comparisons, comparisons.start_sample(request.get("align")))


def _compare(comparisons: Comparisons, request: dict) -> dict:
    return _answer(comparisons, comparisons.start_uploads(request))


def _again(comparisons: Comparisons, request: dict) -> dict:
    return _answer(
        comparisons, comparisons.start_again(request.get("job"), request.get("align"), request.get("selection"))
    )


def _status(comparisons: Comparisons, request: dict) -> dict:
    return _answer(comparisons, str(request.get("job")))


def _pictures(comparisons: Comparisons, request: dict) -> dict:
    pictures = comparisons.get(request.get("job")).pictures
    return {
        "job": str(request.get("job")),
        "pictures": None if pictures is None else [one.to_json() for one in pictures],
    }


def _stop(comparisons: Comparisons, request: dict) -> dict:
    comparisons.get(request.get("job")).stop()
    return _answer(comparisons, str(request.get("job")))


HANDLERS = {
    "sample": _sample, "compare": _compare, "again": _again, "status": _status, "pictures": _pictures, "stop": _stop,
}  # fmt: skip
READING: dict[str, Role] = dict.fromkeys(("status", "pictures"), Role.LOOK)
"""Requests that start nothing; the others need Role.WORK."""
