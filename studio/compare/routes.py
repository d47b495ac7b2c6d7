"""Routes of the Compare page: plotly's script, which draws its plots, and the report of a comparison."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse

from studio.compare.comparisons import Comparisons
from studio.web.errors import RequestError

_REPORT = {
    "Content-Disposition": 'attachment; filename="report.html"', "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}  # fmt: skip
_CACHED = {"Cache-Control": "private, max-age=86400"}


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
