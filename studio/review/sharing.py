"""Requests of the Review page: read-only links to a project, which it makes and revokes, and what a robot reaches."""

from collections.abc import Mapping
from typing import Any

from studio.accounts.current_user import current_user
from studio.accounts.links import LONGEST_DAYS, Links
from studio.accounts.roles import Role
from studio.review.robot_record import reach_record
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry, session_context
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError


def endpoint(sessions: SessionRegistry, links: Links | None) -> Endpoint:
    """Return the endpoint of Results."""
    return Endpoint(HANDLERS, session_context(sessions, links), roles={"links": Role.LOOK, "reach": Role.LOOK})


def _list(session: Session, links: Links | None, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return {links: [{id, expires, by}]}, without their tokens, which are kept nowhere."""
    kept = _links(links).of_project(session.project.folder)
    return {"links": [{"id": one.id, "expires": one.expires, "by": one.by} for one in kept]}


def _share(session: Session, links: Links | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Make a link that lasts {days}; return its token, this once, and all links."""
    days = request.get("days")
    if not isinstance(days, int) or isinstance(days, bool):
        raise RequestError(f"A link lasts up to {LONGEST_DAYS} days.")
    session.project.begin_writing()  # a project of an older version gets its id
    _, token = _links(links).create(session.project.folder, days, current_user.get())
    return {"token": token, **_list(session, links, request)}


def _revoke(session: Session, links: Links | None, request: Mapping[str, Any]) -> dict[str, Any]:
    _links(links).revoke(str(request.get("id")), session.project.folder)
    return _list(session, links, request)


def _links(links: Links | None) -> Links:
    if links is None:
        raise RequestError("Links need a studio with logins; add one with: grs-studio user add NAME.")
    return links


def _reach(session: Session, _: Links | None, request: Mapping[str, Any]) -> dict[str, Any]:
    return reach_record(session, str(request.get("robot")))


HANDLERS = {"links": _list, "share": _share, "revoke": _revoke, "reach": _reach}
