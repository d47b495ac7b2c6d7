"""Cache of values that were read or computed from files of a project, each valid until its file changes."""

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from studio.sessions.event_log import EventLog
from studio.web.background import TaskGroup, computing
from studio.web.errors import error_message

T = TypeVar("T")


class Cache:
    """Values by name, each with the stamp of the file it was made from."""

    def __init__(self, folder: Path, log: EventLog, tasks: TaskGroup):
        """
        Args:
            folder: of the project; file names are relative to it.
            log: takes the errors of background computations.
            tasks: run the background computations.
        """
        self._folder, self._log, self._tasks = folder, log, tasks
        self._values: dict[str, tuple[str, Any]] = {}
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
        """By name: threads that ask for the same value wait for the first one to compute it."""
        self.computed = 0
        """Rises with every value that was put here or computed in the background."""

    def get(self, name: str, file: str, compute: Callable[[], T]) -> T:
        """Return the value of that name; compute it first if it is missing or `file` has changed since."""
        stamp, known = self.stamp(file), self._values.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        with self._locks[name]:
            stamp, known = self.stamp(file), self._values.get(name)
            if known is None or known[0] != stamp:
                known = self._values[name] = (stamp, compute())
            return known[1]

    def get_later(self, name: str, file: str, compute: Callable[[], T], elsewhere: bool = False) -> T | None:
        """Return the last known value or None, and compute a missing or outdated one in the background.

        `elsewhere` says that another process does the work, so that it needs no turn among this one's.
        """
        stamp, known = self.stamp(file), self._values.get(name)
        if known is None or known[0] != stamp:
            turn = nullcontext() if elsewhere else computing
            self._tasks.start_once(name, lambda: self._compute(name, file, compute, turn), self._log_error)
        return known[1] if known else None

    def put(self, name: str, file: str, value: object) -> None:
        """Store a value that was computed from `file` as it is now."""
        self._values[name] = (self.stamp(file), value)
        self.computed += 1

    def is_computing(self, name: str) -> bool:
        """Whether the value of that name is being computed in the background."""
        return self._tasks.is_running(name)

    def stamp(self, file: str) -> str:
        """Return a text that changes when the file does, "0" if there is none. It makes a picture's address new.

        A file that replaces another has its own number, so that the clock alone does not decide.
        """
        try:
            found = (self._folder / file).stat()
        except FileNotFoundError:
            return "0"
        return f"{found.st_mtime_ns:x}-{found.st_ino:x}-{found.st_size:x}"

    def _compute(self, name: str, file: str, compute: Callable[[], Any], turn: AbstractContextManager) -> None:
        try:
            with turn:
                self.get(name, file, compute)
                self.computed += 1
        except Exception:
            self.put(name, file, None)  # not tried again before the file changes
            raise

    def _log_error(self, error: Exception) -> None:
        self._log.add(error_message(error), "bad")
