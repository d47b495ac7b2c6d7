"""Who edits an open project: one person at a time, while all others look, until one of them takes over."""

import threading
from collections.abc import Callable

from studio.accounts.current_user import current_user
from studio.web.errors import RequestError


class Editor:
    """The person who edits a project. Without logins, all pages are of one person. May be used from any thread."""

    def __init__(self, is_present: Callable[[str], bool] = lambda _: True):
        """`is_present` says whether a person still has a page of the studio open."""
        self._is_present, self._lock = is_present, threading.Lock()
        self._name = ""

    @property
    def name(self) -> str:
        """Login of the person who edits; empty if nobody does."""
        with self._lock:
            return self._name if self._name and self._is_present(self._name) else ""

    def claim(self) -> bool:
        """Make the current user the editor if nobody else is; return whether they now edit."""
        user = current_user.get()
        with self._lock:
            if self._name in ("", user) or not self._is_present(self._name):
                self._name = user
            return self._name == user

    def require(self) -> None:
        """Let the current person edit if nobody else does. Raises RequestError if somebody does."""
        if not self.claim():
            raise RequestError(f'{self._name} is editing this project. Choose "Take over" at the top to change it.')

    def take_over(self) -> str:
        """Let the current person edit; return who did before."""
        with self._lock:
            before, self._name = self._name, current_user.get()
            return before

    def leave(self) -> None:
        """Let others edit, if the current person did."""
        with self._lock:
            if self._name == current_user.get():
                self._name = ""
