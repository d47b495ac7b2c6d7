"""The open views of the viewer, each under a token that cannot be guessed."""

import secrets
import threading
import time
from typing import Any

from studio.accounts.current_user import current_user
from studio.viewer.motion import ViewerError
from studio.viewer.view_session import ViewSession


class ViewRegistry:
    """A bounded number of views. Unwatched ones are closed after a while, or earlier when room is needed.

    If `own`, each view is found only by the user for whom it was opened.
    """

    def __init__(self, capacity: int = 64, idle_seconds: float = 1800, own: bool = False):
        self._capacity, self._idle_seconds, self._own = capacity, idle_seconds, own
        self._owners: dict[str, str] = {}
        self._open: dict[str, ViewSession] = {}
        self._lock = threading.Lock()

    def open(self, model: Any, **options: Any) -> str:
        """Open a view with the arguments of ViewSession and return its token. Raises ViewerError."""
        session, token = ViewSession(model, **options), secrets.token_urlsafe(24)
        with self._lock:
            self._expire()
            while len(self._open) >= self._capacity:
                self._close(min(self._open, key=lambda t: (self._open[t].watchers > 0, self._open[t].last_used)))
            self._open[token], self._owners[token] = session, current_user.get()
        return token

    def get(self, token: str) -> ViewSession:
        """Return the view of that token. Raises ViewerError if it was closed."""
        with self._lock:
            self._expire()
            session = self._open.get(token)
            is_own = not self._own or self._owners.get(token) == current_user.get()
        if session is None or not is_own:
            raise ViewerError("This view is no longer open. Open it again from the project.")
        session.last_used = time.monotonic()
        return session

    def close(self, token: str | None = None) -> None:
        """Close one view, or all."""
        with self._lock:
            for each in [token] if token else list(self._open):
                if each in self._open:
                    self._close(each)

    def __contains__(self, token: str) -> bool:
        """Whether the view of that token is open."""
        return token in self._open

    def __len__(self) -> int:
        return len(self._open)

    def _expire(self) -> None:
        now = time.monotonic()
        for token, session in list(self._open.items()):
            if session.watchers == 0 and now - session.last_used > self._idle_seconds:
                self._close(token)

    def _close(self, token: str) -> None:
        self._owners.pop(token, None)
        self._open.pop(token).close()
