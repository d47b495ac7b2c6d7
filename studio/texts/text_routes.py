"""The route of the texts: the catalogue of the language that the request's person reads."""

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from studio.texts import LANGUAGES, catalogue, current_language


def mount(app: FastAPI) -> None:
    """Add the route. Call it before Gradio is mounted at "/", which takes every other address."""

    @app.get("/texts.json", include_in_schema=False)
    def texts() -> JSONResponse:
        language = current_language.get()
        content = {"language": language, "languages": LANGUAGES, "texts": dict(catalogue(language))}
        return JSONResponse(content, headers={"Cache-Control": "no-cache", "Vary": "Accept-Language, Cookie"})
