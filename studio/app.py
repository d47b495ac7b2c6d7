"""The studio's single page and the ASGI app that serves it."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from components.component import STATIC, STYLES

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when gradio is imported
os.environ["GRADIO_ANALYTICS_MAX_EVENTS"] = "1"  # else it keeps 10,000 events, and computes statistics after each
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(10**9)

import gradio as gr
from fastapi import FastAPI

from components.page_frame import Inspector, ObjectList, StatusBar, TopBar
from pipeline.run import Services
from studio import viewer
from studio.accounts.current_user import current_user
from studio.accounts.links import Links
from studio.accounts.presence import Presence
from studio.accounts.roles import Role, current_project
from studio.board.board import Board
from studio.board.set_requests import SetExports
from studio.compare import comparison_requests
from studio.compare.comparisons import Comparisons
from studio.evaluate import evaluate_requests
from studio.evaluate.evaluate_requests import Evaluations
from studio.learn.learn_requests import Learning
from studio.library import thumbnails
from studio.library.shared_library import SharedLibrary
from studio.models import call_records
from studio.models.model_choice import ModelSelection
from studio.objects import candidate_comparison
from studio.pages import (
    compare,
    evaluate,
    facts,
    frame,
    gallery,
    learn,
    library,
    masks,
    models,
    objects,
    review,
    review_queue,
    scene,
    task,
)
from studio.pages.page_shell import Shell
from studio.pages.static_texts import show_static_texts
from studio.pages.status import agree_to_run_unconfined, status_bar_record, top_bar_record
from studio.pages.steps import STEPS, Step, tab_label
from studio.records import exports as exports_routes
from studio.records import file_routes
from studio.records.object_records import inspector_record, object_list
from studio.scene import frame_record, placed_cameras
from studio.scene.viewer_content import ViewerContent
from studio.sessions.object_decisions import apply_decision
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import text_routes
from studio.web import account_routes, logins, static_files
from studio.web.access import Access
from studio.web.gate import Gate
from studio.web.login_limits import GuardedLogin
from studio.web.page_guard import GuardedPage, PageOwners
from studio.web.static_files import import_map
from studio.web.theme import theme
from studio.web.upload_folder import upload_folder

# Imported, not named by `src`, so that the map leads to the same module that other scripts import.
HEAD = import_map() + (
    '<link rel="icon" href="static/studio/icon.svg">'
    '<script>window.studioChannel = import("./static/studio/channel.js").then((channel) => channel.start(channel));'
    '</script><script type="module">import "./static/studio/loading.js"; import "./static/studio/codemirror_indent.js";'
    "</script>"
)

KEPT_PAGES = 50
"""Pages of which Gradio keeps a copy of every component, 0.2 to 1.4 MB each, which the studio never reads."""


def build_app(services: Services, workspace: Path, access: Access | None = None) -> FastAPI:
    """Return the app: Gradio's page at "/", beside it files and the viewer, all behind one gate."""
    access = access or Access()
    valid = logins.Logins(workspace, access.credential_of)
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    own, presence = access.own_workspaces, Presence()
    owners = PageOwners()
    app.add_middleware(Gate, access=access, find_user=valid.user_of, presence=presence, pages=owners)
    sessions = SessionRegistry(workspace, services, own=own, is_present=presence.is_present)
    views = viewer.ViewRegistry(own=own)
    shared_library = SharedLibrary(sessions, views)
    static_files.mount(app)
    viewer.mount(app, views)
    exports_routes.mount(app, sessions)
    pages_files = {**frame_record.FILES, **candidate_comparison.FILES, **call_records.FILES, **placed_cameras.FILES}
    pages_files |= evaluate_requests.FILES
    file_routes.mount(app, sessions, pages_files)
    thumbnails.mount(app, shared_library.thumbnails)
    text_routes.mount(app)
    comparisons, exports = Comparisons(views, sessions), SetExports()
    comparison_requests.mount(app, comparisons)
    exports.mount(app)
    account_routes.mount(app, access.links, valid)
    if access.needs_login:
        logins.mount(app, valid, GuardedLogin(access.authenticate))
    uploads = upload_folder()
    selection, links = ModelSelection(sessions, workspace), access.links
    policies = Learning(views), Evaluations(views, sessions)
    content = ViewerContent(views)
    page, shell = build_page(sessions, content, selection, shared_library, comparisons, policies, exports, links)
    shell.mount(app, partial(session_of_address, sessions))
    page.act_for, page.owners = access.act_for, owners
    page.state_session_capacity = KEPT_PAGES
    gr.mount_gradio_app(
        app,
        page,
        path="/",
        auth_dependency=(lambda _: current_user.get()) if access.needs_login else None,
        theme=theme(),
        css_paths=[*STYLES, STATIC / "gradio.css"],
        js="() => document.body.classList.remove('dark')",
        head=HEAD,
        footer_links=[],
        favicon_path=str(STATIC / "studio" / "icon.svg"),
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        root_path=access.root_path or None,
        show_error=True,
        max_file_size="400mb",
    )
    app.state.page, app.state.uploads, app.state.root_path = page, uploads, access.root_path
    return app


def build_page(
    sessions: SessionRegistry,
    content: ViewerContent,
    selection: ModelSelection,
    shared_library: SharedLibrary,
    comparisons: Comparisons,
    policies: tuple[Learning, Evaluations],
    exports: SetExports,
    links: Links | None = None,
) -> tuple[GuardedPage, Shell]:
    """Return the page, the gallery and the bench with its six steps, one of which is visible; and its shell."""
    shell, board = Shell(sessions, links), Board(sessions, links)
    with GuardedPage(title="GRS Studio", fill_width=True, fill_height=True, analytics_enabled=False) as blocks:
        with gr.Column(elem_id="studio"):
            top_bar = TopBar()
            review_queue.build(shell, board)
            with gr.Column(elem_id="home", visible=False) as home:
                gallery.build(shell, board, exports)
            with gr.Row(elem_id="bench", visible=False) as bench:
                with gr.Column(elem_id="left"):
                    objects_left = ObjectList()
                with gr.Column(elem_id="centre"), gr.Tabs(elem_id="steps"):
                    for step in STEPS:
                        with gr.Tab(tab_label(step, None), id=step.name) as tab:
                            gr.HTML(f"<h2>{step.title}</h2>", padding=False, elem_classes="hidden-text")
                            STEP_BUILDERS[step.name](shell, content)
                        shell.show(tab, partial(_tab, step), [facts.results, facts.work])
                        shell.refresh_widgets_on(tab.select)
                with gr.Column(elem_id="right"):
                    inspector = Inspector()
            with gr.Column(visible=False, elem_id="below") as below:
                models.build_failures(shell)
                status_bar = StatusBar()
            models.build(shell, selection)
            library.build(shell, shared_library)
            compare.build(shell, comparisons)
            learn.build(shell, policies[0])
            evaluate.build(shell, policies[1])

        shell.show_on_open(home, lambda session: gr.Column(visible=session is None))
        shell.show_on_open(bench, lambda session: gr.Row(visible=session is not None))
        shell.show_on_open(below, lambda session: gr.Column(visible=session is not None))
        _connect_frame(shell, top_bar, objects_left, inspector, status_bar)
        show_static_texts(shell, blocks)
        shell.connect()
    blocks.actions = shell.actions
    return blocks, shell


def _connect_frame(
    shell: Shell, top_bar: TopBar, objects_left: ObjectList, inspector: Inspector, status_bar: StatusBar
) -> None:
    """Connect what stands around every step."""

    def chosen(_: Session) -> facts.Same:
        return facts.Same(shell.sessions.services)

    top_bar_reads = [*facts.OBJECTS, facts.editor, chosen]
    shell.show(top_bar, lambda session: top_bar_record(session, shell.sessions.services), top_bar_reads)
    shell.show(status_bar, status_bar_record, facts.EVERYTHING)
    shell.show(objects_left, object_list, facts.OBJECTS)
    shell.show(inspector, inspector_record, facts.OBJECTS)

    shell.on_message(inspector.decide, apply_decision)
    shell.on_message(top_bar.undo, lambda session, _: session.decisions.undo())
    shell.on_message(top_bar.redo, lambda session, _: session.decisions.redo())
    shell.on_message(status_bar.stop, lambda session, _: session.runner.stop())
    shell.on_message(status_bar.agree, lambda session, _: agree_to_run_unconfined(session), Role.ADMINISTER)
    shell.take_over_on(top_bar.take_over)
    shell.open_on(top_bar.home, lambda: None, Role.LOOK)


STEP_BUILDERS: dict[str, Callable[[Shell, ViewerContent], None]] = {
    "frame": lambda shell, _: frame.build(shell),
    "masks": lambda shell, _: masks.build(shell),
    "objects": lambda shell, _: objects.build(shell),
    "scene": scene.build,
    "task": task.build,
    "review": review.build,
}


def _tab(step: Step, session: Session | None) -> gr.Tab:
    return gr.Tab(label=tab_label(step, session))


def session_of_address(sessions: SessionRegistry, name: str) -> Session | None:
    """Open the project that the page's address names, so that reloading the page finds it again. Raises StudioError."""
    linked = current_project.get()
    name = linked.name if linked else name
    return sessions.open(name) if name else None
