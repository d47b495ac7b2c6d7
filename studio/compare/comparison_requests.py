"""Requests and routes of the Compare page: start a comparison, follow it, stop it; plotly's script, and the report."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse

from studio.accounts.roles import Role
from studio.compare.comparisons import Comparisons, comparison_record
from studio.compare.project_sources import project_episodes
from studio.sessions.session import Session
from studio.web.endpoints import Endpoint
from studio.web.errors import RequestError

_REPORT = {
    "Content-Disposition": 'attachment; filename="report.html"',
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
_CACHED = {"Cache-Control": "private, max-age=86400"}


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


HANDLERS = {
    "sample": _sample, "compare": _compare, "again": _again, "status": _status, "pictures": _pictures,
}  # fmt: skip
READING: dict[str, Role] = dict.fromkeys(("status", "pictures"), Role.LOOK)
"""Requests that start nothing; the others need Role.WORK."""


def mount(app: FastAPI, comparisons: Comparisons) -> None:
    """Add the routes. Call it before the folders of static/ and Gradio are mounted."""
    script = Path(str(files("plotly") / "package_data" / "plotly.min.js"))

    @app.get("/static/plotly.min.js", include_in_schema=False)
    def plotly_script() -> Response:
        return FileResponse(script, media_type="text/javascript", headers=_CACHED)

    @app.get("/compare/{token}/report.html", include_in_schema=False)
    def report(token: str) -> Response:
        try:
            return HTMLResponse(comparisons.report(token), headers=_REPORT)
        except RequestError as error:
            return PlainTextResponse(str(error), 404)
