"""The projects that are open on the server."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.project import Project
from pipeline.run import Services
from studio.session import Session, SessionError


class Sessions:
    """The projects of a workspace that are open, each under a token nobody can guess."""

    def __init__(self, workspace: Path, services: Services, idle_seconds: float = 8 * 3600):
        self.workspace, self.services = workspace, services
        self._idle_seconds = idle_seconds
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()

    def create(self, make: Callable[[Path], Project], name: str) -> Session:
        """A new project in the workspace, named after `name`, its folder like none there is."""
        stem, number = name, 2
        with self._lock:
            while (self.workspace / name).exists():
                name, number = f"{stem}_{number}", number + 1
            return self._add(make(self.workspace / name))

    def open(self, name: str) -> Session:
        """The project in that folder of the workspace; the same session for all who open it. Raises ProjectError."""
        if Path(name).name != name or name in ("", ".", "..") or not (self.workspace / name).is_dir():
            raise SessionError(f'There is no project "{name[:80]}" in this workspace; choose one from the gallery.')
        with self._lock:
            for session in self._open.values():
                if session.project.folder == self.workspace / name:
                    session.touch()
                    return session
            return self._add(Project.open(self.workspace / name))

    def get(self, token: str | None) -> Session:
        """Raises SessionError."""
        with self._lock:
            session = self._open.get(token or "")
        if session is None:
            raise SessionError(
                "This project is not open any more. Everything is saved: open it again from the gallery."
            )
        session.touch()
        return session

    def use(self, services: Services, agreed: str = "") -> None:
        """From now on every project, open or not, is worked on with these.

        `agreed` is the token of the one whose person was told what that takes.
        """
        with self._lock:
            self.services, sessions = services, list(self._open.values())
        for session in sessions:
            session.use(services, session.token == agreed)

    def stock(self, services: Services, begin: bool) -> tuple[int, int]:
        """The same with another library: what runs is not disturbed, and what rests is begun anew only where `begin`.

        Returns how many open projects take it up at their next change, and how many do now.
        """
        with self._lock:
            self.services, sessions = services, list(self._open.values())
        begun = 0
        for session in sessions:
            session.services = services
            if begin and session.work is None and session.project.segments() is not None:
                session.bring_up_to_date()
                begun += 1
        return len(sessions) - begun, begun

    def _add(self, project: Project) -> Session:
        for token, session in list(self._open.items()):
            if session.work is None and time.monotonic() - session.last_used > self._idle_seconds:
                del self._open[token]
        session = Session(project, self.services)
        self._open[session.token] = session
        session.bring_up_to_date()
        return session
