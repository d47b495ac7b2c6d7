"""Background threads: every thread of the studio is started here.

Threads are named daemon threads. Their errors go to a handler, each has a stop event, and `close_all` joins those that
still run when the server ends.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import Self

Work = Callable[[threading.Event], object]
"""The body of a thread. It gets the stop event and should return soon after the event is set."""
ErrorHandler = Callable[[Exception], object]

computing = threading.BoundedSemaphore(2)
"""To be held by a thread that computes for a second or so what no request waits for. More of them at once would finish
no sooner, and leave requests waiting for Python's interpreter lock."""
_running: set["BackgroundTask"] = set()
_lock = threading.Lock()


def log_error(error: Exception) -> None:
    """Write the error to the server's log."""
    logging.getLogger("studio").error("a background task failed", exc_info=error)


def ignore_error(error: Exception) -> None:
    """Drop the error, for work that is done again, and reported, where its result is needed."""


class BackgroundTask:
    """One daemon thread."""

    def __init__(
        self,
        name: str,
        work: Work,
        on_error: ErrorHandler = log_error,
        wake: Callable[[], object] | None = None,
    ):
        """
        Args:
            name: of the thread, as debuggers show it.
            work: runs in the thread.
            on_error: is called in the thread with an error that `work` raised.
            wake: is called by `stop`, to end a wait on something other than the stop event.
        """
        self.name = name
        self.stop_event = threading.Event()
        self._work, self._on_error, self._wake = work, on_error, wake
        self._thread = threading.Thread(target=self._run, daemon=True, name=name)

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether a stop was requested."""
        return self.stop_event.is_set()

    def start(self) -> Self:
        with _lock:
            _running.add(self)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Request the end of the work; returns at once."""
        self.stop_event.set()
        if self._wake:
            self._wake()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, at most `timeout` seconds. Returns at once in the thread itself."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._work(self.stop_event)
        except Exception as error:
            self._on_error(error)
        finally:
            with _lock:
                _running.discard(self)


def start(name: str, work: Work, on_error: ErrorHandler = log_error) -> BackgroundTask:
    """Start a background task and return it."""
    return BackgroundTask(name, work, on_error).start()


def close_all(timeout: float) -> None:
    """Stop every background task, then wait for all of them together, at most `timeout` seconds."""
    with _lock:
        tasks = tuple(_running)
    for task in tasks:
        task.stop()
    deadline = time.monotonic() + timeout
    for task in tasks:
        task.join(max(0.0, deadline - time.monotonic()))


class TaskGroup:
    """Background tasks that belong together."""

    def __init__(self, on_end: Callable[[], object]):
        """`on_end` is called in the thread of each task that has ended and left the group."""
        self._on_end = on_end
        self._names: set[str] = set()
        self._lock = threading.Lock()
        self._serials = itertools.count(1)

    def __bool__(self) -> bool:
        """Whether any task runs."""
        return bool(self._names)

    @property
    def names(self) -> frozenset[str]:
        """Names of the tasks that run."""
        with self._lock:
            return frozenset(self._names)

    def is_running(self, name: str) -> bool:
        return name in self._names

    def start(self, name: str, work: Callable[[], object], on_error: ErrorHandler) -> None:
        """Start a task, beside any other of that name."""
        self.start_once(f"{name} {next(self._serials)}", work, on_error)

    def start_once(self, name: str, work: Callable[[], object], on_error: ErrorHandler) -> None:
        """Start a task unless one of that name runs."""
        with self._lock:
            if name in self._names:
                return
            self._names.add(name)

        def run(_: threading.Event) -> None:
            try:
                work()
            except Exception as error:
                on_error(error)
            finally:
                with self._lock:
                    self._names.discard(name)
                self._on_end()

        start(name, run)
