"""The studio's one page and the server it runs on."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported

import gradio as gr
from fastapi import FastAPI
from starlette.requests import HTTPConnection

from components.shell import Inspector, ObjectList, StatusBar, TopBar
from pipeline.errors import StudioError
from pipeline.run import Services
from studio import serving, standing, thumbnails, viewing
from studio.facts import objects
from studio.library import Shelf
from studio.model_choice import ModelChoice
from studio.notices import notify, sentence
from studio.pages import frame, gallery, library, masks, models, review, scene, task
from studio.pages import objects as cards
from studio.session import Session
from studio.sessions import Sessions
from studio.shell import Shell
from studio.steps import STEPS, furthest, label
from studio.theme import theme
from studio.watching import Watching

STATIC = Path(__file__).parents[1] / "static"
HEAD = '<link rel="icon" href="/static/studio/icon.svg">' + "".join(
    f'<script type="module" src="/static/studio/{name}.js"></script>' for name in ("arriving", "indent")
)


def build(services: Services, workspace: Path, auth: tuple[str, str] | None = None) -> FastAPI:
    """The app: Gradio's page at "/", pictures and the viewer beside it, all behind one login where one is given."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    sessions, views = Sessions(workspace, services), viewing.Sessions()
    allowed = access(app, needed=auth is not None)
    viewing.mount(app, views, allowed)
    serving.mount(app, sessions, allowed)
    shelf = Shelf(sessions, views)
    thumbnails.mount(app, shelf.thumbnails, allowed)
    return gr.mount_gradio_app(
        app,
        page(sessions, Watching(views), ModelChoice(sessions, workspace), shelf),
        path="/",
        auth=auth,
        theme=theme(),
        css_paths=[STATIC / "studio.css"],
        js="() => document.body.classList.remove('dark')",
        head=HEAD,
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        show_error=True,
        max_file_size="400mb",
    )


def access(app: FastAPI, needed: bool) -> Callable[[HTTPConnection], bool]:
    """Whether a request comes from somebody who is logged in to the page."""

    def allowed(connection: HTTPConnection) -> bool:
        if not needed:
            return True
        gradio_app: Any = app.routes[-1].app  # type: ignore[attr-defined]
        names = (f"access-token-{gradio_app.cookie_id}", f"access-token-unsecure-{gradio_app.cookie_id}")
        return any(connection.cookies.get(name) in gradio_app.tokens for name in names if name in connection.cookies)

    return allowed


def page(sessions: Sessions, watching: Watching, choice: ModelChoice, shelf: Shelf) -> gr.Blocks:
    """The gallery, and the bench with its six steps; one of the two is visible."""
    shell = Shell(sessions)
    with gr.Blocks(title="GRS Studio", fill_width=True, fill_height=True, analytics_enabled=False) as blocks:
        shell.token.render()
        with gr.Column(elem_id="studio"):
            bar = TopBar()
            with gr.Column(elem_id="home", visible=False) as home:
                gallery.build(shell)
            with gr.Row(elem_id="bench", visible=False) as bench:
                with gr.Column(elem_id="left"):
                    listed = ObjectList()
                with gr.Column(elem_id="centre"), gr.Tabs(elem_id="steps") as tabs:
                    for step in STEPS:
                        with gr.Tab(label(step, None), id=step.name) as tab:
                            BUILD[step.name](shell, watching)
                        shell.shows(tab, lambda session, step=step: gr.Tab(label=label(step, session)))
                        shell.looks(tab.select)
                with gr.Column(elem_id="right"):
                    inspector = Inspector()
            with gr.Column(visible=False, elem_id="below") as below:
                models.build_failures(shell)
                status = StatusBar()
            models.build(shell, choice)
            library.build(shell, shelf)

        shell.shows(bar, lambda session: standing.top(session, sessions.services))
        shell.shows(home, lambda session: gr.Column(visible=session is None))
        shell.shows(bench, lambda session: gr.Row(visible=session is not None))
        shell.shows(below, lambda session: gr.Column(visible=session is not None))
        shell.shows(status, standing.below)
        shell.shows(listed, all_objects)
        shell.shows(inspector, lambda session: {"objects": objects(session)})
        shell.greets(tabs, lambda session: gr.Tabs(selected=furthest(session)))

        shell.told(inspector.decide, masks.decide)
        shell.told(bar.undo, lambda session, _: session.undo())
        shell.told(bar.redo, lambda session, _: session.redo())
        shell.told(status.halt, lambda session, _: session.stop())
        shell.looks(bar.seen)
        shell.opens(bar.home, lambda: None)
        shell.opens_asked(blocks.load, lambda request: from_address(sessions, request))
        shell.connect()
    return blocks


def all_objects(session: Session | None) -> dict[str, Any]:
    """What the list shows."""
    return {"token": session.token if session else "", "objects": objects(session), "waiting": "Looking for objects …"}


BUILD: dict[str, Callable[[Shell, Watching], None]] = {
    "frame": lambda shell, _: frame.build(shell),
    "masks": lambda shell, _: masks.build(shell),
    "objects": lambda shell, _: cards.build(shell),
    "scene": scene.build,
    "task": task.build,
    "review": review.build,
}


def from_address(sessions: Sessions, request: gr.Request) -> Session | None:
    """The project that the page's address names, so that reloading it, or another browser, finds it again."""
    name = request.query_params.get("project")
    if not name:
        return None
    try:
        return sessions.open(name)
    except StudioError as error:
        notify(sentence(error))
        return None
