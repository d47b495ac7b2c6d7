"""Event log of an open project: lines for the status bar, notices, and a version that rises with every change."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from studio.accounts.current_user import current_user
from studio.web.errors import error_message


@dataclass(frozen=True)
class LogLine:
    """One line of the log."""

    at: float
    """Seconds since 1970."""
    text: str
    kind: str = "machine"
    """"machine", "person" or "bad"."""
    by: str = ""
    """Login of the person; empty without logins."""


class EventLog:
    """What happened to a project. May be used from any thread."""

    def __init__(self, lines: Iterable[LogLine] = ()):
        self.lines: deque[LogLine] = deque(lines, maxlen=300)
        self.version = 0
        """Rises whenever there is something new to show."""
        self.changed = threading.RLock()
        """Guards the log. Held for as long as a decision takes to reach the disk, so never wait for it in the event
        loop."""
        self._watchers: tuple[Callable[[], object], ...] = ()
        self._watchers_lock = threading.Lock()
        self._notices: deque[str] = deque(maxlen=8)
        self._last_error = ""

    def add(self, text: str, kind: str = "machine") -> None:
        """Append a line."""
        with self.changed:
            self.lines.append(LogLine(time.time(), text, kind, current_user.get() if kind == "person" else ""))
            self.mark_changed()

    def mark_changed(self) -> None:
        """Raise the version, so that pages update what they show."""
        with self.changed:
            self.version += 1
            for on_change in self._watchers:
                on_change()

    def report(self, error: BaseException) -> None:
        """Log an error and queue a notice of it."""
        message = error_message(error)
        with self.changed:
            self._notices.append(message)
            self.add(message, "bad")

    def report_once(self, error: BaseException) -> None:
        """Report an error unless the last one that was reported here is the same."""
        if str(error) != self._last_error:
            self._last_error = str(error)
            self.report(error)

    @property
    def has_notices(self) -> bool:
        return bool(self._notices)

    def take_notices(self) -> list[str]:
        """Return the notices since the last call, and forget them."""
        with self.changed:
            notices = list(self._notices)
            self._notices.clear()
            return notices

    def watch(self, on_change: Callable[[], object]) -> Callable[[], None]:
        """Call `on_change` from any thread whenever the version has risen; return a function that ends that.

        It is called while the log is locked, so it must return at once.
        """
        with self._watchers_lock:
            self._watchers = (*self._watchers, on_change)

        def unwatch() -> None:
            with self._watchers_lock:
                self._watchers = tuple(watcher for watcher in self._watchers if watcher is not on_change)

        return unwatch
