"""What every page has in common: which project is open, what shows it, and how a handler is made of an action."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gradio as gr

from studio.notices import noticed, notify
from studio.session import Session
from studio.sessions import Sessions

QUIET: dict[str, Any] = {
    "show_progress": "hidden",
    "trigger_mode": "multiple",
    "concurrency_limit": None,
    "api_visibility": "private",
}
View = Callable[[Session | None], Any]


class Shell:
    """Pages tell it which component shows what of a session, and which action an event leads to.

    After every action all components are brought up to date, and kept so for as long as work goes on. Gradio sends
    only what differs, and the components draw only what changed. Events are made when all pages are built, by
    `connect`: before that nobody knows all components.
    """

    def __init__(self, sessions: Sessions):
        self.sessions = sessions
        self.token = gr.State("")
        """Of the open project; empty in the gallery."""
        self._shown: list[tuple[Any, View]] = []
        self._greeted: list[tuple[Any, View]] = []
        self._events: list[Callable[[], Any]] = []

    def shows(self, component: Any, view: View) -> None:
        """From now on the component shows what `view` makes of the open project, or of None in the gallery."""
        self._shown.append((component, view))

    def greets(self, component: Any, view: View) -> None:
        """The component gets what `view` makes only when a project is opened: a person may change it then."""
        self._greeted.append((component, view))

    def on(self, event: Callable[..., Any], act: Callable[..., Any], inputs: Sequence[Any] = ()) -> None:
        """At the event: act on the session with the inputs' values, then show what came of it."""

        def handle(token: str, *values: Any) -> Iterator[list[Any]]:
            session = self.sessions.get(token)
            act(session, *values)
            yield from self._follow(session)

        self._later(event, handle, [self.token, *inputs], self._visible)

    def looks(self, event: Callable[..., Any]) -> None:
        """At the event everything is shown anew. What is drawn for the first time while work goes on needs this: Gradio
        sends only differences to it."""

        def handle(token: str) -> Iterator[list[Any]]:
            yield from self._follow(self.sessions.get(token) if token else None)

        self._later(event, handle, [self.token], self._visible)

    def told(self, event: Callable[..., Any], act: Callable[[Session, dict], Any]) -> None:
        """The same for what one of our components tells, with the data it sends along."""

        def handle(token: str, told: gr.EventData) -> Iterator[list[Any]]:
            session = self.sessions.get(token)
            act(session, dict(told._data or {}))
            yield from self._follow(session)

        self._later(event, handle, [self.token], self._visible)

    def answers(self, event: Callable[..., Any], act: Callable[[Session, dict], Any], outputs: Sequence[Any]) -> None:
        """What one of our components tells is answered in these widgets only."""

        def handle(token: str, told: gr.EventData) -> Any:
            return act(self.sessions.get(token), dict(told._data or {}))

        self._later(event, handle, [self.token], lambda: list(outputs))

    def opens(
        self,
        event: Callable[..., Any],
        find: Callable[..., Session | None],
        inputs: Sequence[Any] = (),
        clears: Any = None,
    ) -> None:
        """At the event another project is opened, or the gallery where `find` gives None. An error changes nothing.

        `clears` is empty again afterwards, error or not: a refused file must not stand where the next is dropped.
        """

        def handle(*values: Any) -> Iterator[list[Any]]:
            yield from self._open(find(*values))

        def clearing(*arguments: Any, **settings: Any) -> None:
            event(*arguments, **settings).then(lambda: None, outputs=clears, **QUIET)

        self._later(event if clears is None else clearing, handle, list(inputs), self._all)

    def opens_told(self, event: Callable[..., Any], find: Callable[[dict], Session | None]) -> None:
        """The same for what one of our components tells."""

        def handle(told: gr.EventData) -> Iterator[list[Any]]:
            yield from self._open(find(dict(told._data or {})))

        self._later(event, handle, [], self._all)

    def opens_asked(self, event: Callable[..., Any], find: Callable[[gr.Request], Session | None]) -> None:
        """The same for a request for the page."""

        def handle(request: gr.Request) -> Iterator[list[Any]]:
            yield from self._open(find(request))

        self._later(event, handle, [], self._all)

    def connect(self) -> None:
        """Makes the events; to be called once, when all pages are built."""
        for make in self._events:
            make()

    def _open(self, session: Session | None) -> Iterator[list[Any]]:
        greeting = [view(session) for _, view in self._greeted]
        for shown in self._follow(session):
            yield [session.token if session else "", *greeting, *shown]
            greeting = [gr.skip() for _ in greeting]

    def _later(
        self, event: Callable[..., Any], handle: Callable[..., Any], inputs: list[Any], outputs: Callable[[], list[Any]]
    ) -> None:
        self._events.append(lambda: event(noticed(handle), inputs, outputs(), **QUIET))

    def _visible(self) -> list[Any]:
        return [component for component, _ in self._shown]

    def _all(self) -> list[Any]:
        return [self.token, *(component for component, _ in self._greeted), *self._visible()]

    def _follow(self, session: Session | None) -> Iterator[list[Any]]:
        """Everything as it is now, and again whenever something changes while work goes on."""
        for _ in session.follow() if session else (None,):
            for text in session.take_notices() if session else ():
                notify(text)
            yield [_value(view, session) for _, view in self._shown]


def _value(view: View, session: Session | None) -> Any:
    """What a component shows. One that cannot be shown stays as it is, says why once, and the others go on."""
    try:
        return view(session)
    except Exception as error:
        if session is None:
            raise
        session.complain(error)
        return gr.skip()
