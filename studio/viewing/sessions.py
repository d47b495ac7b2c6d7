"""The views that are open, each under a token nobody can guess."""

import secrets
import threading
import time
from typing import Any

from studio.viewing.motion import ViewerError
from studio.viewing.session import SimSession


class Sessions:
    """A bounded number of views. Those nobody watches go after a while, the longest idle first when room is needed."""

    def __init__(self, most: int = 16, idle_seconds: float = 1800):
        self._most, self._idle_seconds = most, idle_seconds
        self._open: dict[str, SimSession] = {}
        self._lock = threading.Lock()

    def open(self, model: Any, **options: Any) -> str:
        """Opens a view, with the arguments of SimSession, and returns its token. Raises ViewerError."""
        session, token = SimSession(model, **options), secrets.token_urlsafe(24)
        with self._lock:
            self._expire()
            while len(self._open) >= self._most:
                self._close(min(self._open, key=lambda t: (self._open[t].watchers > 0, self._open[t].last_used)))
            self._open[token] = session
        return token

    def get(self, token: str) -> SimSession:
        """The view of that token. Raises ViewerError where there is none any more."""
        with self._lock:
            self._expire()
            session = self._open.get(token)
        if session is None:
            raise ViewerError("This view is no longer open. Open it again from the project.")
        session.last_used = time.monotonic()
        return session

    def close(self, token: str | None = None) -> None:
        """Closes one view, or all."""
        with self._lock:
            for each in [token] if token else list(self._open):
                if each in self._open:
                    self._close(each)

    def __len__(self) -> int:
        return len(self._open)

    def _expire(self) -> None:
        now = time.monotonic()
        for token, session in list(self._open.items()):
            if session.watchers == 0 and now - session.last_used > self._idle_seconds:
                self._close(token)

    def _close(self, token: str) -> None:
        self._open.pop(token).close()
