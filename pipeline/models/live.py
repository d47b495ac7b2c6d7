"""Calls in flight: their text as it arrives, and a way to stop them.

    live = Live(watch=lambda flight: print(flight.text))
    Traced(model, path, live).ask(question)          # in one thread
    live.flights()[0].text; live.flights()[0].cancel()   # in any other

Whoever answers finds its flight by `current()`, adds text by `arrived`, and gives up where `check` says so.
"""

import contextvars
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from pipeline.models.budget import Purse
from pipeline.models.model import CallCancelled, Question, Stopped


class Flag(Protocol):
    def is_set(self) -> bool: ...


class Flight:
    """One question that is being answered. May be looked at and cancelled from any thread."""

    def __init__(self, span: str, question: Question, live: "Live"):
        self.span = span
        """Its span_id in the trace."""
        self.kind, self.about, self.started = question.kind, question.about, time.time()
        self.notes: dict[str, Any] = {}
        """What goes into the trace of its answer."""
        self.purse = Purse()
        """What it may still cost."""
        self._live, self._cancelled, self._text = live, threading.Event(), [""]

    @property
    def text(self) -> str:
        """The answer so far; begins anew when an unusable answer is asked again."""
        return "".join(self._text)

    def arrived(self, piece: str) -> None:
        """More of the answer."""
        self._text.append(piece)
        self._live.watched(self)

    def anew(self) -> None:
        """The answer begins again."""
        self._text = [""]
        self._live.watched(self)

    def cancel(self) -> None:
        """Closes its connection; whoever asked gets CallCancelled."""
        self._cancelled.set()

    def check(self) -> None:
        """Raises Stopped where the work is stopped, CallCancelled where this call is cancelled."""
        if self._live.stopped:
            raise Stopped("The work was stopped; no call of it runs on.")
        if self._cancelled.is_set():
            raise CallCancelled("This call was cancelled; its connection is closed.")


class Live:
    """The calls of one piece of work."""

    def __init__(self, stop: Flag | None = None, watch: Callable[[Flight], None] | None = None):
        """`stop`, once set, cancels every call; `watch` is told of each change, in the thread where it happens."""
        self._stop, self._watch, self._closed = stop, watch, threading.Event()
        self._flights: dict[str, Flight] = {}
        self._lock = threading.Lock()

    @property
    def stopped(self) -> bool:
        return self._closed.is_set() or (self._stop is not None and self._stop.is_set())

    def close(self) -> None:
        """Ends every call and lets none begin: nobody waits for an answer any more."""
        self._closed.set()

    def flights(self) -> tuple[Flight, ...]:
        """Calls in flight, oldest first."""
        with self._lock:
            return tuple(self._flights.values())

    def begin(self, span: str, question: Question) -> Flight:
        flight = Flight(span, question, self)
        with self._lock:
            self._flights[span] = flight
        self.watched(flight)
        return flight

    def end(self, flight: Flight) -> None:
        with self._lock:
            self._flights.pop(flight.span, None)
        self.watched(flight)

    def watched(self, flight: Flight) -> None:
        if self._watch:
            self._watch(flight)


_current: contextvars.ContextVar[Flight | None] = contextvars.ContextVar("flight", default=None)


def current() -> Flight | None:
    """The call that is answered in this context."""
    return _current.get()


def enter(flight: Flight) -> contextvars.Token:
    """Makes it the current call of this context; what comes back goes to `leave`."""
    return _current.set(flight)


def leave(token: contextvars.Token) -> None:
    """Makes the call before it the current one again."""
    _current.reset(token)
