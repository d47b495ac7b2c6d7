"""What every page shares: the open project, which component shows what of it, and how events become actions."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
import orjson
from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from gradio.blocks import Block

from pipeline.errors import StudioError
from pipeline.object_words import object_words
from studio.accounts.current_user import current_user
from studio.accounts.links import Links
from studio.accounts.roles import Role, current_role
from studio.pages.event_order import EventOrder
from studio.pages.page_streams import VALUE_THREADS, LatestValues, OpenedSessions, PageStreams
from studio.sessions.session import Session
from studio.sessions.session_registry import SessionRegistry
from studio.texts import choose_language, current_language
from studio.web.errors import error_message
from studio.web.gradio_internals import event_data, event_order, is_listening
from studio.web.notices import show_notice, with_notices
from studio.web.page_guard import needs

EVENT_SETTINGS: dict[str, Any] = {
    "show_progress": "hidden",
    "show_progress_on": (),  # else Gradio counts the seconds of each hidden animation at 60 frames a second
    "trigger_mode": "multiple",
    "concurrency_limit": None,
    "api_visibility": "private",
}
"""Settings of every Gradio event: no progress animation, no queue limit, no public API."""
View = Callable[[Session | None], Any]
"""Makes a component's value of the open session, or of None in the gallery."""
Message = dict[str, Any]
"""What a component's script sends along with an event."""
SKIPPED = gr.skip()


@dataclass(frozen=True)
class SentEvent:
    """An event as a page sent it."""

    request: gr.Request
    message: Message
    token: str
    """Of the session that the page shows; empty in the gallery."""
    values: tuple[Any, ...]
    """Of the event's inputs."""
    order: Any
    """The event's number on the page as the page wrote it, see EventOrder.turn."""


class Shell:
    """Registers which component shows what of a session, and which action an event triggers.

    After every action all components are updated, and again for as long as work goes on. Only what changed is sent and
    drawn, and the next update only when the page has drawn the one before. Events are made by `connect`, when all pages
    are built and all components are known.
    """

    def __init__(self, sessions: SessionRegistry, links: Links | None = None):
        """`links` to projects can be made if there are logins."""
        self.sessions, self.links = sessions, links
        self.token = gr.State("")
        """Of the open session; empty in the gallery."""
        self._views: list[tuple[Any, View]] = []
        self._opening_views: list[tuple[Any, View]] = []
        self._connections: list[Callable[[], Any]] = []
        self._streams, self._order, self._opened = PageStreams(), EventOrder(), OpenedSessions()
        self._reporter: Any = None
        self._latest: WeakKeyDictionary[Session, dict[tuple[str, bool], LatestValues]] = WeakKeyDictionary()
        """By language, and by whether it is for those who came by a link."""
        # 24: actions that run at the same time. Other requests have threads of their own.
        self._action_threads, self._value_threads = CapacityLimiter(24), CapacityLimiter(VALUE_THREADS)

    def show(self, component: Any, view: View, role: Role = Role.VISIT) -> None:
        """Keep the component's value up to date with what `view` returns, for people with that role."""
        self._views.append((component, view if role is Role.VISIT else _for_role(role, view)))

    def show_on_open(self, component: Any, view: View) -> None:
        """Set the component to what `view` returns only when a project is opened; a person may change it afterwards."""
        self._opening_views.append((component, view))

    def show_reporting(self, component: Any, view: View) -> None:
        """As `show`; the component's script reports each update that it has drawn, by the name in its "update"."""
        self._reporter = component
        self.show(component, view)

    def report_drawn(self, message: Message) -> Message:
        """Note that a page has drawn the update {drawn}."""
        self._streams.report_drawn(str(message.get("drawn")))
        return {}

    def on(self, event: Callable[..., Any], act: Callable[..., Any], inputs: Sequence[Any] = ()) -> None:
        """At the event, call `act` with the session and the inputs' values, then update all components."""
        self._follow_on(event, lambda session, sent: act(session, *sent.values), inputs)

    def on_message(
        self, event: Callable[..., Any], act: Callable[[Session, Message], Any], role: Role = Role.WORK
    ) -> None:
        """At an event of one of our components, call `act` with the session and the message, then update all.

        The event of a person without that role is refused.
        """
        self._follow_on(event, lambda session, sent: act(session, sent.message), role=role)

    def refresh_on(self, event: Callable[..., Any]) -> None:
        """At the event, update all components."""
        self._register(event, lambda sent: self.sessions.get(sent.token) if sent.token else None, role=Role.VISIT)

    def take_over_on(self, event: Callable[..., Any]) -> None:
        """At the event, let the person edit the project in place of who does."""

        def begin(sent: SentEvent) -> Session:
            session = self.sessions.get(sent.token)
            session.take_over()
            return session

        self._register(event, begin)

    def refresh_within(self, event: Callable[..., Any], container: Block) -> None:
        """At the event, set the components inside the container to what they show now.

        A component that is first drawn while work goes on needs this, for Gradio sends it only differences. To refresh
        all others too would take most of the time of a change of page.
        """

        def connect() -> None:
            inside = [(component, view) for component, view in self._views if _is_inside(component, container)]

            def handle(request: gr.Request, token: str) -> Any:
                _speak_for(request)
                session = self._find(token)
                values = [_value(component, view, session) for component, view in inside]
                return values if len(values) > 1 else values[0]

            outputs = [component for component, _ in inside]
            event(needs(Role.VISIT, handle), [self.token], outputs, postprocess=False, **EVENT_SETTINGS)

        self._connections.append(connect)

    def reply_on(
        self, event: Callable[..., Any], reply: Callable[[Session, Message], Any], outputs: Sequence[Any]
    ) -> None:
        """At an event of one of our components, set the outputs to what `reply` returns, which changes nothing."""

        def handle(request: gr.Request, event: gr.EventData, token: str) -> Any:
            _speak_for(request)
            return reply(self.sessions.get(token), event_data(event))

        handler = needs(Role.VISIT, with_notices(handle))
        self._connections.append(lambda: event(handler, [self.token], list(outputs), **EVENT_SETTINGS))

    def open_on(self, event: Callable[..., Any], find: Callable[[], Session | None], role: Role) -> None:
        """At the event, open the session that `find` returns, or the gallery for None. An error changes nothing."""
        self._register(event, lambda _: find(), opens=True, role=role)

    def open_on_message(
        self, event: Callable[..., Any], find: Callable[[Message], Session | None], role: Role = Role.WORK
    ) -> None:
        """As `open_on`, for an event of one of our components; `find` gets its message."""
        self._register(event, lambda sent: find(sent.message), opens=True, role=role)

    def open_on_request(
        self, event: Callable[..., Any], find: Callable[[gr.Request], Session | None], role: Role
    ) -> None:
        """As `open_on`, for the event of loading the page; `find` gets the request."""
        self._register(event, lambda sent: find(sent.request), opens=True, role=role)

    def connect(self) -> None:
        """Make the events. Call it once, when all pages are built."""
        for connect in self._connections:
            connect()

    def _follow_on(
        self,
        event: Callable[..., Any],
        act: Callable[[Session, SentEvent], Any],
        inputs: Sequence[Any] = (),
        role: Role = Role.WORK,
    ) -> None:
        def begin(sent: SentEvent) -> Session:
            session = self.sessions.get(sent.token)
            if role is Role.WORK:
                session.editor.require()
            act(session, sent)
            return session

        self._register(event, begin, inputs, role=role, edits=role is Role.WORK)

    def _register(
        self,
        event: Callable[..., Any],
        begin: Callable[[SentEvent], Session | None],
        inputs: Sequence[Any] = (),
        opens: bool = False,
        role: Role = Role.WORK,
        edits: bool = False,
    ) -> None:
        """At the event, call `begin` in a thread and update the page for as long as work goes on in its session.

        `edits` says that the event is refused while another person edits the project.
        """

        async def handle(
            request: gr.Request, event: gr.EventData, token: str, *values: Any
        ) -> AsyncIterator[list[Any]]:
            sent = SentEvent(request, event_data(event), token, values, event_order(event))
            async with aclosing(self._updates(sent, begin, opens)) as updates:
                async for update in updates:
                    yield update

        def connect() -> None:
            outputs = self._all() if opens else self._shown()
            event(needs(role, handle, edits), [self.token, *inputs], outputs, postprocess=False, **EVENT_SETTINGS)

        self._connections.append(connect)

    def _shown(self) -> list[Any]:
        return [component for component, _ in self._views]

    def _all(self) -> list[Any]:
        return [self.token, *(component for component, _ in self._opening_views), *self._shown()]

    async def _updates(
        self, sent: SentEvent, begin: Callable[[SentEvent], Session | None], opens: bool
    ) -> AsyncGenerator[list[Any]]:
        """Yield the values of the event's outputs now, and again whenever something changes while work goes on."""
        _speak_for(sent.request)
        page = sent.request.session_hash or ""
        async with self._streams.open(page) as stream:
            try:
                async with self._order.turn(page, sent.order):
                    session = await run_sync(begin, sent, limiter=self._action_threads)
                    if opens:
                        self._opened.note(page, session.token if session else "")
                left = self._find(sent.token) if opens else None
                if left is not None and left is not session:
                    left.leave()
                opening = await run_sync(self._opening_values, session) if opens else []
            except Exception as error:  # the page stays as it is and follows what it shows
                show_notice(error_message(error))
                session = self._find(sent.token)
                if session is None:
                    yield [gr.skip() for _ in (self._all() if opens else self._shown())]
                    return
                opening = [gr.skip() for _ in (self.token, *self._opening_views)] if opens else []
            await stream.previous_ended()
            if not opens and (opened := self._opened.token(page, sent.token)) != sent.token:
                session = self._find(opened)  # the page sent the event before it showed what it had begun to open
            if session is None:
                yield [*opening, *await run_sync(self._values, None)]
                return
            by_kind = self._latest.setdefault(session, {})
            kind = (current_language.get(), current_role.get() is Role.VISIT)
            latest = by_kind.setdefault(kind, LatestValues(self._value_threads))
            slot: AbstractAsyncContextManager[None] = nullcontext()
            known: list[Any] = []
            async with aclosing(stream.changes(session, lambda: is_listening(sent.request))) as changes:
                async for _ in changes:
                    async with slot:
                        for text in await run_sync(_take_notices, session) if session.log.has_notices else ():
                            show_notice(text)
                        values = await latest.get(partial(self._values, session))
                        yield [*opening, *self._changes(values, known, stream.next_update())]
                    await stream.drawn()
                    if opens and not known:
                        yield [*(gr.skip() for _ in opening), *self._tab_labels(values)]
                    known = values
                    slot, opening = self._streams.slot(), [gr.skip() for _ in opening]

    def _find(self, token: str) -> Session | None:
        with suppress(StudioError):
            return self.sessions.get(token)
        return None

    def _opening_values(self, session: Session | None) -> list[Any]:
        values = [_shown_value(component, view(session)) for component, view in self._opening_views]
        return [session.token if session else "", *values]

    def _changes(self, values: list[Any], sent: list[Any], update: str) -> list[Any]:
        """Return what an update sends: values that were not sent before, and its name for the one that reports it."""
        changes = [
            gr.skip() if before is not None and _is_same(value, before) else value
            for value, before in zip_longest(values, sent)
        ]
        for index, (component, _) in enumerate(self._views):
            if component is self._reporter and isinstance(values[index], str):
                changes[index] = component.postprocess(orjson.loads(values[index]) | {"update": update})
        return changes

    def _tab_labels(self, values: list[Any]) -> list[Any]:
        """Return what an update sends to label the tabs again.

        Gradio loses the label of a tab that was never drawn if it comes with the update that makes the tabs visible.
        """
        pairs = zip(self._shown(), values, strict=True)
        return [value if isinstance(component, gr.Tab) else gr.skip() for component, value in pairs]

    def _values(self, session: Session | None) -> list[Any]:
        return [_value(component, view, session) for component, view in self._views]


def _is_inside(component: Block, container: Block) -> bool:
    """Whether a component stands in a container, at any depth."""
    parent = component.parent
    while parent is not None and parent is not container:
        parent = parent.parent
    return parent is container


def _speak_for(request: gr.Request) -> None:
    """Work for the person who sent the request, in their language."""
    current_user.set(request.username or "")
    current_language.set(choose_language(request.cookies, request.headers.get("accept-language")))


def _for_role(role: Role, view: View) -> View:
    """Return a view that leaves the component as it is for people without the role."""
    return lambda session: view(session) if current_role.get() >= role else SKIPPED


def _value(component: Any, view: View, session: Session | None) -> Any:
    """Return a component's value. If its view fails, the component stays as it is and the error is reported once."""
    try:
        return _shown_value(component, view(session))
    except Exception as error:
        if session is None:
            show_notice(error_message(error))
        else:
            session.log.report_once(error)
        return gr.skip()


def _is_same(value: Any, before: Any) -> bool:
    """Whether a component would be drawn as it is."""
    if isinstance(value, Block):
        return type(value) is type(before) and value.constructor_args == before.constructor_args
    return type(value) is type(before) and value == before


def _shown_value(component: Any, value: Any) -> Any:
    """Return what Gradio sends for a value. It would do this itself, but with a change of threads for each component
    of each page; here it is done once for all pages."""
    return value if isinstance(value, Block) or value is SKIPPED else component.postprocess(value)


def _take_notices(session: Session) -> list[str]:
    """Return the notices since the last call, in which objects are called as on the pages."""
    in_words = object_words(session.project).in_words
    return [in_words(text) for text in session.log.take_notices()]
