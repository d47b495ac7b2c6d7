"""Components alone in a blank page, on an open project of this process: no Gradio between the two, and no process.

The studio's app is built as always. Beside Gradio's page it serves a blank one, which loads the template, style and
script of the components that a test names. Values and events go by the page's channel, as in the studio; requests go
straight to what the studio registered for them.
"""

import asyncio
import itertools
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any
from unittest.mock import patch

from browser.checked_views import checked_views
from browser.project_files import ProjectFiles
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, JSONResponse
from gradio.blocks import Block
from offline_studio import wait_until
from playwright.sync_api import Page, Route
from served_studio import serving
from starlette.routing import Route as Address

from components.component import STATIC, STYLES, Component, _browser_files
from pipeline.frame import Frame, Support
from pipeline.segmentation import DepthSegmenter
from studio import app as studio_app
from studio import viewer
from studio.pages.page_shell import Shell
from studio.pages.views import View
from studio.services.open_services import open_services
from studio.services.settings import Settings
from studio.sessions.session import Session
from studio.viewer import ViewRegistry
from studio.web.static_files import import_map

SCRIPT = (Path(__file__).with_name("bare_page.js")).read_text(encoding="utf-8")

TOLD = itertools.count()
TABS = """(texts) => {
  const tabs = Object.entries(texts).map(([id, text], i) =>
    `<button role="tab" data-tab-id="${id}" aria-selected="${!i}">${text}</button>`);
  document.querySelector("#bare").insertAdjacentHTML("beforeend",
    `<div id="steps"><div class="tab-container">${tabs.join("")}</div></div>`);
  const all = document.querySelectorAll("#steps [role=tab]");
  for (const tab of all)
    tab.onclick = () => all.forEach((one) => one.setAttribute("aria-selected", String(one === tab)));
}"""


@dataclass
class BareStudio:
    """The studio in a thread of this process, with blank pages."""

    workspace: Path
    address: str
    shell: Shell
    views: ViewRegistry
    """Of the viewer's page, at `address`viewer/#token."""

    def mount(self, page: Page, name: str, *ids: str) -> "Mounted":
        """Open a project of the workspace, or the gallery for "", and show these components of it."""
        mounted = Mounted(self, page, name, self.shell.sessions.open(name) if name else None)
        mounted.wait_until_idle()
        page.goto(f"{self.address}bare?project={name}&show={','.join(ids)}")
        mounted.wait_until_drawn()
        return mounted


@dataclass
class Mounted(ProjectFiles):
    """Components of an open project in a blank page, and the project's folder."""

    studio: BareStudio
    page: Page
    name: str
    session: Session | None = field(repr=False)
    """None in the gallery."""

    @property
    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        return [(name, message) for name, message in self.page.evaluate("window.bare.sent")]

    @property
    def notices(self) -> list[str]:
        """What the page was told."""
        id = self.page.evaluate("window.bare.channel.id")
        return self.studio.shell.pages._pages[id].notices

    def take_sent(self) -> list[tuple[str, dict[str, Any]]]:
        return [(name, message) for name, message in self.page.evaluate("window.bare.sent.splice(0)")]

    def wait_until_idle(self) -> None:
        """Wait until nothing is computed for the project."""
        if self.session:
            wait_until(lambda: self.session.idle, "the end of the work")  # type: ignore[union-attr]

    def wait_until_drawn(self) -> None:
        """Wait until all events are answered, nothing is computed, and the components show the newest values."""
        self.page.wait_for_function("() => window.bare?.channel?.isSettled()")  # what is shown may begin work
        self._wait_until_newest()

    def _wait_until_newest(self) -> None:
        self.wait_until_idle()
        version = self.session.log.version if self.session else -1
        self.page.wait_for_function(
            "(version) => window.bare?.channel?.isSettled() && window.bare.channel.version() >= version", arg=version
        )

    def add_tabs(self, **texts: str) -> None:
        """Add tabs of steps as Gradio's are, by their ids; the first one is open."""
        self.page.evaluate(TABS, texts)

    def close(self) -> None:
        """Leave the page, and stop the work on the project and close it."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.goto("about:blank")
        if self.name:
            self.studio.shell.sessions.take_out(self.name, lambda: None)

    def keep_twin(self) -> "Mounted":
        """From now on, record decisions without building the twin again; return this."""
        assert self.session
        self.session.prepare = lambda renew=False: None  # type: ignore[method-assign]
        return self

    def set_value(self, id: str, value: Any, held: bool = False) -> None:
        """Draw a component with a value of the test's own; the studio's replaces it when that changes again.

        A `held` one stays: the ages of the gallery's projects change by the minute.
        """
        self._wait_until_newest()
        if held:
            self.page.evaluate("(id) => window.bare.held.push(id)", id)
        self.page.evaluate("([id, value]) => window.bare.show(id, value)", [id, json.dumps(value)])

    def answer(self, id: str, answers: dict[str, Any]) -> list[dict[str, Any]]:
        """Answer a component's requests of these kinds; return the growing list of all its requests.

        Args:
            answers: by kind ("" for requests without one), an answer or a function from the request to it. The studio
                answers all other requests, and those for which a function returns None.
        """
        asked: list[dict[str, Any]] = []

        def handle(route: Route) -> None:
            request = route.request.post_data_json
            asked.append(request)
            answer = answers.get(request.get("kind", ""))
            answer = answer(request) if callable(answer) else answer
            return route.continue_() if answer is None else route.fulfill(json=answer)

        self.page.route(f"**/bare/ask/{id}", handle)
        return asked

    def tell_job(self, kind: str, state: str = "running", id: str = "7") -> None:
        """Let the list of jobs say something new about a job of that kind."""
        about = {"id": id, "kind": kind, "title": kind, "project": "", "state": state, "stopping": False}
        job = about | {"message": f"told {next(TOLD)}", "done": 0, "of": 0}
        self.page.evaluate("(job) => window.bare.channel.takeJobs([job])", job)

    def answer_event(self, event: str = "*") -> None:
        """Let an event COMPONENT.NAME, or all, do nothing but stand in `sent`."""
        self.page.evaluate("(event) => window.bare.answered.push(event)", event)

    def value(self, id: str) -> Any:
        """Return the value that a component was drawn with last."""
        return json.loads(self.page.evaluate("(id) => window.bare.shown(id)", id))


class OpenedOnce(DepthSegmenter):
    """Opens each photograph once for all tests, which takes most of the time of opening a project."""

    def __init__(self) -> None:
        super().__init__()
        self._views: dict[bytes, Any] = {}
        self._lock = threading.Lock()

    def open(self, frame: Frame, support: Support | None = None) -> Any:
        if support:
            return super().open(frame, support)
        key = b"".join([frame.rgb.tobytes(), frame.depth.tobytes(), repr(frame.intrinsics).encode()])
        with self._lock:
            if key not in self._views:
                self._views[key] = super().open(frame)
            return self._views[key]


def views_of(shell: Shell) -> dict[str, View]:
    """Return the view of each shown component, by its id in the page."""
    return {view.component.elem_id: view for view in (*shell._views, *shell._opening_views)}


Mount = Callable[..., Mounted]
"""The fixture `mount` of the component tests."""


@contextmanager
def bare_studio(workspace: Path, **services: Any) -> Iterator[BareStudio]:
    """Serve the studio in a thread; `services` replace some of those that it opens without settings."""
    opened = replace(open_services(Settings(workspace=workspace)), **{"segmenter": OpenedOnce()} | services)
    made: list[Any] = []

    def keep(kind: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **settings: made.append(kind(*arguments, **settings)) or made[-1]

    with patch.object(viewer, "ViewRegistry", keep(ViewRegistry)), patch.object(studio_app, "Shell", keep(Shell)):
        app = studio_app.build_app(opened, workspace)
    views, shell = made
    _add_routes(app, shell)
    stale: list[str] = []
    with checked_views(stale.append), serving(app) as address:
        yield BareStudio(workspace, f"{address}/", shell, views)
    opened.sandbox.close()
    assert not stale, stale[0]


def _add_routes(app: FastAPI, shell: Shell) -> None:
    """Add the blank page and what it asks, before Gradio's page, which takes every address."""
    views = views_of(shell)

    def page(request: Request) -> HTMLResponse:
        ids = request.query_params["show"].split(",")
        return HTMLResponse(_page([views[id].component if id in views else id for id in ids]))

    async def ask(request: Request) -> JSONResponse:
        component = views[request.path_params["id"]].component
        return JSONResponse(await asyncio.to_thread(component.answer, await request.json()))

    app.router.routes[:0] = [Address("/bare", page), Address("/bare/ask/{id}", ask, methods=["POST"])]


def _page(components: list[Block | str]) -> str:
    """Return the blank page; a component that is not one of ours becomes an element with a text field."""
    parts, mounts = [], []
    for component in components:
        if not isinstance(component, Component):
            id = component if isinstance(component, str) else component.elem_id
            parts.append(f'<div id="{id}"><textarea></textarea></div>')
            continue
        template, _, address = _browser_files(component.folder, component.patterns)
        style = f"<style>#{component.elem_id} {{ {component.css_template} }}</style>"
        parts.append(f'<div id="{component.elem_id}" class="block">{style}<div class="own">{template}</div></div>')
        about = {"id": component.elem_id, "script": f"/{address}", "settings": component.props}
        mounts.append(about | {"replies": component.reply_names})
    styles = "".join(path.read_text(encoding="utf-8") for path in (*STYLES, STATIC / "gradio.css"))
    about = escape(json.dumps({"mounts": mounts}), quote=False)
    head = f'<meta charset="utf-8"><title>Bare page</title>{import_map()}<style>{styles}</style>'
    return (
        f'<!doctype html><html lang="en"><head>{head}<link rel="icon" href="data:,"></head>'
        f'<body><div class="gradio-container"><main id="bare">{"".join(parts)}</main></div>'
        f'<script type="application/json" id="about">{about}</script>'
        f'<script type="module">{SCRIPT}</script></body></html>'
    )
