"""Route of plotly's script, which comes with the plotly package: the page draws its plots with it."""

from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse

_CACHED = {"Cache-Control": "private, max-age=86400"}


def mount(app: FastAPI) -> None:
    """Add the route. Call it before the folders of static/ and Gradio are mounted."""
    script = Path(str(files("plotly") / "package_data" / "plotly.min.js"))

    @app.get("/static/plotly.min.js", include_in_schema=False)
    def plotly_script() -> Response:
        return FileResponse(script, media_type="text/javascript", headers=_CACHED)
