"""What happened to an open project, for its page: a log, notices, and a number that rises with anything new."""

import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from studio.notices import sentence


@dataclass(frozen=True)
class Line:
    """One line of the log."""

    at: float
    text: str
    kind: str = "machine"
    """"machine", "person" or "bad"."""


class Telling:
    """Something that tells what it does. May be called from any thread."""

    def __init__(self, before: Iterable[Line] = ()):
        self.version = 0
        """Rises whenever there is something new to show."""
        self.log: deque[Line] = deque(before, maxlen=300)
        self._notices: deque[str] = deque(maxlen=8)
        self._changed = threading.Condition(threading.RLock())
        self._complained = ""

    def take_notices(self) -> list[str]:
        """What went wrong since the last call, each said once."""
        with self._changed:
            taken = list(self._notices)
            self._notices.clear()
            return taken

    def complain(self, error: BaseException) -> None:
        """Has the page say what went wrong; what was said last is not said again."""
        text = str(error)
        if text != self._complained:
            self._complained = text
            self._notices.append(sentence(error))
            self._note(self._notices[-1], "bad")

    def _note(self, text: str, kind: str = "machine") -> None:
        with self._changed:
            self.log.append(Line(time.time(), text, kind))
            self._news()

    def tell(self) -> None:
        """Has the page look again."""
        self._news()

    def _news(self) -> None:
        with self._changed:
            self.version += 1
            self._changed.notify_all()
