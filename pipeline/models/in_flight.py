"""Calls in flight: watch their text as it arrives, and cancel them.

    calls = InFlightCalls(on_change=lambda call: print(call.text))
    TracingModel(model, path, calls).ask(question)          # in one thread
    calls.calls()[0].text; calls.calls()[0].cancel()        # in any other thread

A model gets its call from `current_call()`, adds text with `append`, and calls `check` to honour a cancellation.
"""

import contextvars
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Protocol, TypeVar

from pipeline.models.budget import Budget
from pipeline.models.model import CallCancelled, Question, StageCancelled

T = TypeVar("T")
R = TypeVar("R")


class StopFlag(Protocol):
    """Cancellation flag, such as threading.Event."""

    def is_set(self) -> bool: ...


class InFlightCall:
    """One question that is being answered. Can be read and cancelled from any thread."""

    def __init__(self, span_id: str, question: Question, calls: "InFlightCalls"):
        self.span_id = span_id
        """Id of its span in the trace."""
        self.kind, self.subject, self.started = question.kind, question.subject, time.time()
        self.notes: dict[str, Any] = {}
        """Attributes for the end line of its span."""
        self.budget = Budget()
        """Budget that its cost is reserved from."""
        self.redact: Callable[[str], str] = str
        """Removes secrets from the answer so far."""
        self._calls, self._cancelled, self._text = calls, threading.Event(), [""]

    @property
    def text(self) -> str:
        """The answer so far; restarts when an unusable answer is asked again."""
        return self.redact("".join(self._text))

    def append(self, text: str) -> None:
        """Add text to the answer."""
        self._text.append(text)
        self._calls.notify(self)

    def restart(self) -> None:
        """Discard the text; the answer starts again."""
        self._text = [""]
        self._calls.notify(self)

    def cancel(self) -> None:
        """Cancel the call: its connection is closed, and `ask` raises CallCancelled."""
        self._cancelled.set()

    def check(self) -> None:
        """Raise StageCancelled if all calls are cancelled, CallCancelled if this one is."""
        if self._calls.is_stopped:
            raise StageCancelled("The stage was cancelled, and all its calls with it.")
        if self._cancelled.is_set():
            raise CallCancelled("This call was cancelled; its connection is closed.")


class InFlightCalls:
    """The calls of one stage or background job."""

    def __init__(self, stop: StopFlag | None = None, on_change: Callable[[InFlightCall], None] | None = None):
        """Setting `stop` cancels every call; `on_change` is called after each change, in the thread that made it."""
        self._stop, self._on_change, self._closed = stop, on_change, threading.Event()
        self._active: dict[str, InFlightCall] = {}
        self._lock = threading.Lock()

    @property
    def is_stopped(self) -> bool:
        """Whether every call is cancelled."""
        return self._closed.is_set() or (self._stop is not None and self._stop.is_set())

    def close(self) -> None:
        """Cancel every call and reject new ones."""
        self._closed.set()

    def calls(self) -> tuple[InFlightCall, ...]:
        """Return the calls in flight, oldest first."""
        with self._lock:
            return tuple(self._active.values())

    def begin(self, span_id: str, question: Question) -> InFlightCall:
        """Register a call and return it."""
        call = InFlightCall(span_id, question, self)
        with self._lock:
            self._active[span_id] = call
        self.notify(call)
        return call

    def end(self, call: InFlightCall) -> None:
        """Remove a finished call."""
        with self._lock:
            self._active.pop(call.span_id, None)
        self.notify(call)

    def notify(self, call: InFlightCall) -> None:
        """Call `on_change`."""
        if self._on_change:
            self._on_change(call)


_current: contextvars.ContextVar[InFlightCall | None] = contextvars.ContextVar("call", default=None)


def current_call() -> InFlightCall | None:
    """Return the call that is being answered in this context, if any."""
    return _current.get()


def enter_call(call: InFlightCall) -> contextvars.Token:
    """Make a call the current one of this context; pass the returned token to `leave_call`."""
    return _current.set(call)


def leave_call(token: contextvars.Token) -> None:
    """Restore the previous current call."""
    _current.reset(token)


def ask_concurrently(
    ask: Callable[[T], R], items: Sequence[T], calls: InFlightCalls
) -> Generator[tuple[int, R], None, None]:
    """Yield each item's index and what `ask` returns for it, in order of completion.

    `calls` are the calls that `ask` makes. They are closed if the generator is closed early or an exception is raised.
    """
    # Upper bound of waiting threads; the settings limit how many of them call at once
    pool = ThreadPoolExecutor(min(16, max(1, len(items))), thread_name_prefix="asking")
    try:
        indices = {pool.submit(ask, item): index for index, item in enumerate(items)}
        for future in as_completed(indices):
            yield indices[future], future.result()
    except BaseException:
        calls.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
