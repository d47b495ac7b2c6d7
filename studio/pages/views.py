"""Views: which value a component shows of a session, and the values that are known while what they read stays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import gradio as gr
from gradio.blocks import Block

from components.component import Component
from studio.accounts.roles import Role, current_role
from studio.pages.facts import Fact
from studio.sessions.session import Session
from studio.texts import current_language

Make = Callable[[Session | None], Any]
"""Makes a component's value of the open session, or of None in the gallery."""
Report = Callable[[Exception], object]
SKIPPED = gr.skip()
FAILED = object()
"""In place of the value of a view that raised an error."""


@dataclass(frozen=True, eq=False)
class View:
    """What a component shows."""

    component: Any
    make: Make
    reads: tuple[Fact, ...] | None = None
    """What `make` reads of a session; None if it reads what is of no session, so that it is always computed."""
    role: Role = Role.VISIT
    """People without it see the component as it is."""

    @property
    def is_ours(self) -> bool:
        return isinstance(self.component, Component)

    def value(self, session: Session | None) -> Any:
        """Return what Gradio sends for the value.

        It would do this itself, but with a change of threads for each component of each page.
        """
        if current_role.get() < self.role:
            return SKIPPED
        value = self.make(session)
        return value if isinstance(value, Block) or value is SKIPPED else self.component.postprocess(value)


class KnownValues:
    """Values of views by session, by the language and the role of who sees them. May be used from any thread."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[Session, dict[tuple[Any, ...], tuple[list[Any], Any]]] = WeakKeyDictionary()
        """The values of the facts that a view read, and its value then."""

    def update(self, views: Sequence[View], session: Session | None, report: Report) -> list[Any]:
        """Return the newest value of each view. If one fails, its component stays as it is and `report` is called."""
        if session is None:
            return [_or_skipped(_value(view, None, report)) for view in views]
        if session not in self._known:
            session.on_close.append(lambda: self._known.pop(session, None))  # the values may refer to it
        known, seen = self._known.setdefault(session, {}), (current_language.get(), current_role.get())
        # Before the values, which may be newer
        declared = {fact for view in views for fact in view.reads or ()}
        facts = {fact: _value_of(fact, session, report) for fact in declared}
        values = []
        for view in views:
            key, read = (view, *seen), None if view.reads is None else [facts[fact] for fact in view.reads]
            before, value = known.get(key, (None, None))
            if read is None or before != read:
                value = _value(view, session, report)
                if read is not None and value is not FAILED:
                    known[key] = read, value
            values.append(_or_skipped(value))
        return values


def _value_of(fact: Fact, session: Session, report: Report) -> Any:
    """Return the value of a fact as it is now; a new object, which equals no other, if that cannot be read."""
    try:
        return fact(session)
    except Exception as error:
        report(error)
        return object()


def _value(view: View, session: Session | None, report: Report) -> Any:
    try:
        return view.value(session)
    except Exception as error:
        report(error)
        return FAILED


def _or_skipped(value: Any) -> Any:
    return SKIPPED if value is FAILED else value
