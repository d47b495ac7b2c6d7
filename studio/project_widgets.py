"""The studio's mask canvas and viewer in a Gradio app of one's own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
from fastapi import FastAPI
from starlette.middleware.trustedhost import TrustedHostMiddleware

from components.component import STYLES, Component
from components.steps import MaskCanvas
from components.viewer import Viewer, viewer_value
from studio import viewer
from studio.masks import mask_requests
from studio.records import file_routes
from studio.scene.fit_table import viewer_labels
from studio.scene.viewer_content import ViewerContent
from studio.services.open_services import open_services
from studio.services.settings import Settings
from studio.sessions.object_decisions import apply_decision
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import text_routes
from studio.web import static_files
from studio.web.static_files import import_map
from studio.web.theme import theme

_LOOK_S = 1.0
"""Seconds between two looks whether a component has something new to show."""


class ProjectWidgets:
    """Components that show an open project, for `gr.Blocks` of one's own, and the app that serves what they need.

    What a person decides in them is recorded in the project, and its later steps are made again, as in the studio.
    """

    def __init__(self, folder: str | Path, **settings: Any):
        """
        Args:
            folder: of the project.
            settings: as of `grs_studio.run`.

        Raises:
            StudioError: the folder holds no project, or a setting is wrong.
        """
        folder = Path(folder).resolve()
        self._sessions = SessionRegistry(folder.parent, open_services(Settings.from_environment(**settings)))
        self._session = self._sessions.open(folder.name)
        self._views = viewer.ViewRegistry()
        self._content = ViewerContent(self._views)

    def mask_canvas(self, **settings: Any) -> MaskCanvas:
        """Return a canvas with the project's masks, inside `gr.Blocks`; `settings` are those of gr.HTML."""
        canvas = MaskCanvas(answer=mask_requests.endpoint(self._sessions), **settings)
        shown = self._follow(canvas, lambda: mask_requests.canvas_record(self._session))
        actions: dict[str, Callable[[Session, dict[str, Any]], object]] = {
            "decide": apply_decision,
            "undo": lambda session, _: session.decisions.undo(),
            "redo": lambda session, _: session.decisions.redo(),
            "changed": lambda session, _: None,
            "find": mask_requests.replace_masks,
        }
        for name, act in actions.items():

            def handle(event: gr.EventData, act: Any = act) -> tuple[dict[str, Any], int]:
                act(self._session, event.message)
                return mask_requests.canvas_record(self._session), self._session.log.version

            getattr(canvas, name)(handle, None, [canvas, shown])
        return canvas

    def viewer(self, height: int | str = 520, **settings: Any) -> Viewer:
        """Return a viewer of the project's twin, inside `gr.Blocks`; `height` in pixels, or any CSS length."""
        frame = Viewer(height=height, **settings)
        session = self._session
        self._follow(frame, lambda: viewer_value(self._content.twin(session), **viewer_labels(session)))
        return frame

    def app(self, blocks: gr.Blocks) -> FastAPI:
        """Return the app with the page and what its components fetch, for 127.0.0.1: it answers this machine only."""
        app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
        static_files.mount(app)
        viewer.mount(app, self._views)
        file_routes.mount(app, self._sessions, {})
        text_routes.mount(app)

        @app.get("/account.json", include_in_schema=False)
        def account() -> dict[str, Any]:
            return {"user": "", "role": "administer", "refused": [], "editors": []}

        return gr.mount_gradio_app(
            app, blocks, path="/", theme=theme(), css_paths=STYLES, head=import_map(), ssr_mode=False
        )

    def close(self) -> None:
        """Stop the work on the project and close it and its views."""
        self._sessions.take_out(self._session.project.folder.name, self._views.close)

    def _follow(self, component: Component, value: Callable[[], dict[str, Any]]) -> gr.State:
        """Let a component show the newest value; return the state with the version that a page shows."""
        shown, clock = gr.State(-1), gr.Timer(_LOOK_S)

        def newest(version: int) -> Any:
            now = self._session.log.version
            return (gr.skip(), gr.skip()) if version == now else (value(), now)

        clock.tick(newest, shown, [component, shown], show_progress="hidden")
        return shown
