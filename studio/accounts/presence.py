"""Who has a page open, from the channels of the pages."""

import threading
import time
from collections.abc import Callable

GRACE_SECONDS = 30.0
"""For which a person counts as present after their last page was closed: it may be loading again."""


class Presence:
    """Counts the open pages of each person. May be used from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock, self._lock = clock, threading.Lock()
        self._pages: dict[str, int] = {}
        self._left: dict[str, float] = {}

    def enter(self, user: str) -> None:
        """Note that a person opened a page."""
        with self._lock:
            self._pages[user] = self._pages.get(user, 0) + 1

    def leave(self, user: str) -> None:
        """Note that a page of a person was closed."""
        with self._lock:
            self._pages[user] -= 1
            if not self._pages[user]:
                del self._pages[user]
                self._left[user] = self._clock()

    def is_present(self, user: str) -> bool:
        """Whether a person has a page open, or closed it a moment ago."""
        with self._lock:
            return user in self._pages or self._clock() - self._left.get(user, -GRACE_SECONDS) < GRACE_SECONDS
