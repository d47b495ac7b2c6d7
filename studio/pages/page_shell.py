"""What every page shares: the open project, which component shows what of it, and how events become actions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import JSONResponse, Response
from gradio.blocks import Block

from components.component import Component
from components.page_frame import Widgets
from pipeline.object_words import object_words
from pipeline.store import StoreError, digest, parse_json
from studio.accounts.current_user import current_user
from studio.accounts.links import Links
from studio.accounts.roles import Role, current_role, require
from studio.pages.facts import Fact
from studio.pages.page_channel import (
    PAGES_PER_LINK,
    PAGES_PER_LOGIN,
    STUDIO,
    VALUE_THREADS,
    ChannelPage,
    ChannelPages,
    Follower,
    LatestValues,
    Turns,
)
from studio.pages.views import SKIPPED, KnownValues, Make, View
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import choose_language, current_language
from studio.web.endpoints import is_exact
from studio.web.errors import RequestError, error_message
from studio.web.jobs import LIST
from studio.web.page_guard import needs
from studio.web.static_files import versioned_folder

EVENT_SETTINGS: dict[str, Any] = {
    "show_progress": "hidden",
    "show_progress_on": (),  # else Gradio counts the seconds of each hidden animation at 60 frames a second
    "trigger_mode": "multiple",
    "concurrency_limit": None,
    "api_visibility": "private",
}
"""Settings of every Gradio event: no progress animation, no queue limit, no public API."""
Message = dict[str, Any]
"""What a component's script sends along with an event."""
ACTION_THREADS = 24
"""Actions that run at the same time. Other requests have threads of their own."""
KEPT_KINDS = 64
"""Combinations of shown components whose newest values are kept of a session."""


@dataclass(frozen=True)
class SentAction:
    """An action as a page sent it."""

    session: Session | None
    """Which the page shows; None in the gallery."""
    message: Message
    values: tuple[Any, ...] = ()
    """Of the components of Gradio's own that the action was declared with."""


@dataclass(frozen=True)
class Action:
    """What an event of a component does, and who may send it."""

    begin: Callable[[SentAction], Session | None]
    """Acts, and returns the session that the page shows then. Raises StudioError."""
    role: Role
    edits: bool = False
    """Whether it is refused while another person edits the project."""
    opens: bool = False
    """Whether it may leave the project for another one, or for the gallery."""


@dataclass
class Shell:
    """Registers which component shows what of a session, and which action an event triggers.

    After every action all components are updated, and again whenever something changes, by the page's channel
    (page_channel.py). Gradio's own components get theirs by an event of `Widgets`, which the page sends when there is
    something new for them. That event is made by `connect`, when all pages are built and all components are known.
    """

    sessions: SessionRegistry
    links: Links | None = None
    """To projects; None without logins."""
    actions: dict[tuple[str, str], Action] = field(default_factory=dict)
    """By the component's id in the page and the event's name."""

    def __post_init__(self) -> None:
        self.pages, self._turns = ChannelPages(), Turns()
        self._views: list[View] = []
        self._opening_views: list[View] = []
        self._text_views: list[View] = []
        self._known = KnownValues()
        self._scripts = ""
        """Changes with the scripts and with what is in the page: a page that has others is loaded again."""
        self._latest: WeakKeyDictionary[Session, dict[Any, LatestValues]] = WeakKeyDictionary()
        """By language and role of those who see them, and by the components that are shown."""
        self._action_threads, self._value_threads = CapacityLimiter(ACTION_THREADS), CapacityLimiter(VALUE_THREADS)
        self._widgets = Widgets()
        self.actions["jobs", "stop"] = Action(self._stop_job, Role.WORK)

    def show(self, component: Any, make: Make, reads: Sequence[Fact] | None, role: Role = Role.VISIT) -> None:
        """Keep the component's value up to date with what `make` returns, for people with that role.

        Args:
            reads: the facts of facts.py that `make` reads of a session: it is called again when one of them has
                changed. None if it reads anything else: then it is called whenever anything happens.
        """
        self._views.append(View(component, make, None if reads is None else tuple(reads), role))

    def show_on_open(self, component: Any, make: Make) -> None:
        """Set the component to what `make` returns only when a project is opened; a person may change it afterwards."""
        self._opening_views.append(View(component, make))

    def show_text(self, component: Any, make: Make) -> None:
        """Set the component to what `make` returns when a project is opened in another language than English."""
        self._text_views.append(View(component, make))

    def on(self, event: Callable[..., Any], act: Callable[..., Any], inputs: Sequence[Any] = ()) -> None:
        """At the event of a component of Gradio's own, call `act` with the session and the inputs' values."""
        id, name = names_of(event)
        self.actions[id, name] = self._action(lambda session, sent: act(session, *sent.values))
        send = f"(...values) => {{ studioChannel.then((channel) => channel.send({id!r}, {name!r}, {{}}, values)); }}"
        event(None, list(inputs), None, js=send, **EVENT_SETTINGS)

    def on_message(
        self, event: Callable[..., Any], act: Callable[[Session, Message], Any], role: Role = Role.WORK
    ) -> None:
        """At an event of one of our components, call `act` with the session and the message, then update all.

        The event of a person without that role is refused.
        """
        self.actions[names_of(event)] = self._action(lambda session, sent: act(session, sent.message), role)

    def refresh_on(self, event: Callable[..., Any]) -> None:
        """At the event, update all components."""
        self.actions[names_of(event)] = Action(lambda sent: sent.session, Role.VISIT)

    def take_over_on(self, event: Callable[..., Any]) -> None:
        """At the event, let the person edit the project in place of who does."""

        def begin(sent: SentAction) -> Session:
            session = self._open(sent.session)
            session.take_over()
            return session

        self.actions[names_of(event)] = Action(begin, Role.WORK)

    def reply_on(
        self, event: Callable[..., Any], reply: Callable[[Session, Message], Any], outputs: Sequence[Any]
    ) -> None:
        """At an event of one of our components, set the outputs to what `reply` returns, which changes nothing."""

        def handle(request: gr.Request, event: gr.EventData) -> Any:
            _speak_for(request)
            page = self.pages.find(event.page, current_user.get())
            return _reply_in(page, lambda: reply(self._open(page.session if page else None), event.message))

        event(needs(Role.VISIT, handle), None, list(outputs), **EVENT_SETTINGS)

    def reply_to_upload(self, drop: gr.File, reply: Callable[[Any], Any], output: Component) -> None:
        """When files were dropped, set the output to what `reply` returns of their paths, and take them from `drop`."""

        def handle(files: Any, page: str, request: gr.Request) -> Any:
            _speak_for(request)
            return _reply_in(self.pages.find(page, current_user.get()), lambda: reply(files))

        # In place of the output's value, which the reply does not need, the page sends its name
        name_page = "async (files) => [files, (await studioChannel).id]"
        picked = drop.upload(handle, [drop, output], [output], js=name_page, **EVENT_SETTINGS)
        picked.then(lambda: None, outputs=drop, **EVENT_SETTINGS)

    def open_on(self, event: Callable[..., Any], find: Callable[[], Session | None], role: Role) -> None:
        """At the event, open the session that `find` returns, or the gallery for None. An error changes nothing."""
        self.actions[names_of(event)] = Action(lambda _: find(), role, opens=True)

    def open_on_message(
        self, event: Callable[..., Any], find: Callable[[Message], Session | None], role: Role = Role.WORK
    ) -> None:
        """As `open_on`, for an event of one of our components; `find` gets its message."""
        self.actions[names_of(event)] = Action(lambda sent: find(sent.message), role, opens=True)

    def refresh_widgets_on(self, event: Callable[..., Any]) -> None:
        """At the event, by which some of Gradio's components are drawn first, set all of those to what they show now.

        Of what is not drawn yet, Gradio keeps no change.
        """
        event(None, None, None, js="() => { studioChannel.then((channel) => channel.refreshAll()); }")

    def connect(self) -> None:
        """Make the event that sets Gradio's own components. Call it once, inside the page, when all are built."""
        self._widgets.render()
        # Gradio builds each output of an event again, which is most of the time of opening a project
        for event, texts in ((self._widgets.refresh, []), (self._widgets.translate, self._text_views)):
            opening = [*self._opening_views, *texts]
            outputs = [view.component for view in (*opening, *self._widget_views())]

            async def handle(request: gr.Request, event: gr.EventData, opening: list[View] = opening) -> list[Any]:
                return await self._set_widgets(request, event, opening)

            handler = needs(Role.VISIT, handle)
            event(handler, None, [*outputs, self._widgets], postprocess=False, **EVENT_SETTINGS)
        shown = [view.component for view in (*self._views, *self._opening_views, *self._text_views)]
        ids = [(type(one).__name__, one._id, one.elem_id) for one in shown]
        self._scripts = digest(versioned_folder(), gr.__version__, repr(ids), repr(sorted(self.actions)))

    def mount(self, app: FastAPI, find_first: Callable[[str], Session | None]) -> None:
        """Add the page's channel to an app. Call it before Gradio is mounted at "/", which takes every other address.

        `find_first` returns the session that a page with that name in its address opens. It may raise StudioError.
        """

        @app.websocket("/channel/{id}")
        async def follow(socket: WebSocket, id: str, project: str = "", told: int = 0) -> None:
            user = current_user.get()
            limit = PAGES_PER_LINK if current_role.get() is Role.VISIT else PAGES_PER_LOGIN
            page = self.pages.add(id, user) if self.pages.sockets[user] < limit else None
            if page is None:
                await socket.close(4403)  # before accepting: the browser sees a refused connection
                return
            self.pages.sockets[user] += 1
            try:
                await socket.accept()
                told = min(told, len(page.notices))
                if not page.is_opened:
                    await self._open_first(page, partial(find_first, project))
                sees, scripts = self.sessions.sees, self._scripts
                await Follower(socket, page, self._turns, self._take_update, sees, told, scripts).run()
            finally:
                self.pages.sockets[user] -= 1

        @app.post("/act", include_in_schema=False)
        async def act(request: Request) -> Response:
            """Act on {studio, page, number, component, event, message, values}; 409 for a page that is not known."""
            try:
                sent = parse_json((await request.body()).decode())
                number = sent["number"] if is_exact(sent) and isinstance(sent["number"], int) else 0
                message, values = sent.get("message") or {}, sent.get("values") or []
            except (StoreError, ValueError, KeyError, TypeError, AttributeError):
                number, message, values, sent = 0, {}, [], {}
            component, event = sent.get("component"), sent.get("event")
            is_readable = number > 0 and isinstance(message, dict) and isinstance(values, list)
            if not is_readable or not isinstance(component, str) or not isinstance(event, str):
                return JSONResponse({"error": "The studio does not know this action; reload the page."}, 400)
            page = self.pages.find(sent.get("page"), current_user.get())
            if page is None or not page.is_opened or sent.get("studio") != STUDIO:
                return JSONResponse({"error": "This page is not connected; reload it."}, 409)
            async with page.lock:
                if number > page.acted:  # else the page did not get the answer and sent it again
                    if action := self.actions.get((component, event)):  # an event that nobody listens to does nothing
                        await self._act(page, action, message, values)
                    page.mark(acted=number)
            return JSONResponse({})

    async def _open_first(self, page: ChannelPage, find: Callable[[], Session | None]) -> None:
        try:
            page.open(await run_sync(find, limiter=self._action_threads))
        except Exception as error:
            page.open(None)
            page.tell(error_message(error))

    async def _act(self, page: ChannelPage, action: Action, message: Message, values: list[Any]) -> None:
        left = page.session
        try:
            require(action.role)
            sent = SentAction(left, message, tuple(values))
            session = await run_sync(action.begin, sent, limiter=self._action_threads)
        except Exception as error:  # the page stays as it is
            page.tell(error_message(error))
            return
        if action.opens:
            if left is not None and left is not session:
                await run_sync(left.leave)
            page.open(session)

    def _action(self, act: Callable[[Session, SentAction], Any], role: Role = Role.WORK) -> Action:
        def begin(sent: SentAction) -> Session:
            session = self._open(sent.session)
            if role is Role.WORK:
                session.editor.require()
            act(session, sent)
            return session

        return Action(begin, role, edits=role is Role.WORK)

    def _stop_job(self, sent: SentAction) -> Session | None:
        """Stop the job {id}. Raises StudioError if another person edits its project, or the role does not permit it."""
        LIST.stop(sent.message.get("id"), self._may_stop)
        return sent.session

    def _may_stop(self, folder: Path | None) -> bool:
        session = self.sessions.find_open(folder.name) if folder else None
        if session and session.project.folder == folder:
            session.editor.require()
        return self.sessions.sees(folder)

    def _open(self, session: Session | None) -> Session:
        """Return the session that a page shows. Raises RequestError in the gallery, and if it was closed."""
        if session is None:
            raise RequestError("No project is open in this page; open one from the gallery.")
        return self.sessions.get(session.token)

    async def _take_update(self, page: ChannelPage) -> dict[str, str]:
        """Return the newest values of our components by their ids, and keep those of Gradio's for the page."""
        session = page.session
        views = [view for view in self._views if not view.is_ours or view.component.elem_id in page.shows]
        version = session.log.version if session else -1  # first: the values may be newer
        if session is None:
            report = page.tell_from_thread
            values = await run_sync(self._known.update, views, None, report, limiter=self._value_threads)
        else:
            for text in await run_sync(_take_notices, session) if session.log.has_notices else ():
                page.tell(text)
            kind = (current_language.get(), current_role.get(), page.shows)
            by_kind = self._latest.setdefault(session, {})
            if len(by_kind) > KEPT_KINDS:
                by_kind.clear()
            latest = by_kind.setdefault(kind, LatestValues(self._value_threads))
            values = await latest.get(partial(self._known.update, views, session, session.log.report_once))
        if page.session is not session:  # it was left meanwhile, and the next update shows what was opened
            return {}
        page.version = version
        pairs = list(zip(views, values, strict=True))
        widgets = [value for view, value in pairs if not view.is_ours]
        if not (page.widgets and all(map(_is_same, widgets, page.widgets))):
            page.widgets, page.widgets_number = widgets, page.widgets_number + 1
        ours = ((view.component.elem_id, value) for view, value in pairs if view.is_ours)
        return {id: value for id, value in ours if id and isinstance(value, str)}

    async def _set_widgets(self, request: gr.Request, event: gr.EventData, opening_views: list[View]) -> list[Any]:
        """Return what Gradio's own components show in the page, beginning with those that opening sets.

        The event brings {page, message: {shown, ask, all}}: the page's id, and the number of the last change that it
        shows. `all` asks for every value again, since some were lost. `ask` goes back with the answer, since Gradio
        hands on no value that is like the one before.
        """
        _speak_for(request)
        sent = event.message or {}
        page = self.pages.find(event.page, current_user.get())
        shown = number if isinstance(number := sent.get("shown"), int) else 0
        opening = [gr.skip() for _ in opening_views]
        newest = [gr.skip() for _ in self._widget_views()]
        if page is None:
            return [*opening, *newest, gr.skip()]
        number, values = page.widgets_number, page.widgets
        if shown < page.opened_number:
            opening = await run_sync(lambda: [view.value(page.session) for view in opening_views])
        if sent.get("all") or len(page.widgets_set) != len(values):
            page.widgets_set = [None] * len(values)
        if values:  # only what is new: a person may have typed into the rest
            before = page.widgets_set
            newest = [gr.skip() if _is_same(*pair) else pair[0] for pair in zip(values, before, strict=True)]
            page.widgets_set = values
        return [*opening, *newest, self._widgets.postprocess({"shown": number, "ask": sent.get("ask")})]

    def _widget_views(self) -> list[View]:
        return [view for view in self._views if not view.is_ours]


def names_of(event: Any) -> tuple[str, str]:
    """Return a component's id in the page and the name of an event of it."""
    # Gradio's own events are bound methods, those that a script triggers are partial
    component, function = (event.args[0], event.func) if isinstance(event, partial) else (event.__self__, event)
    return component.elem_id or f"block-{component._id}", function.event_name


def _speak_for(request: gr.Request) -> None:
    """Work for the person who sent the request, in their language."""
    current_user.set(request.username or "")
    current_language.set(choose_language(request.cookies, request.headers.get("accept-language")))


def _reply_in(page: ChannelPage | None, reply: Callable[[], Any]) -> Any:
    """Return the reply; an error becomes a notice in the page, which stays as it was."""
    try:
        return reply()
    except Exception as error:
        if page is None:
            raise gr.Error(error_message(error)) from None
        page.tell_from_thread(error)
        return SKIPPED


def _is_same(value: Any, before: Any) -> bool:
    """Whether a component would be drawn as it is."""
    if isinstance(value, Block):
        return type(value) is type(before) and value.constructor_args == before.constructor_args
    return type(value) is type(before) and value == before


def _take_notices(session: Session) -> list[str]:
    """Return the notices since the last call, in which objects are called as on the pages."""
    in_words = object_words(session.project).in_words
    return [in_words(text) for text in session.log.take_notices()]
