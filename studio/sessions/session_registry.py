"""The open projects of the server."""

import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from pipeline import plugins
from pipeline.project import Project, is_free
from pipeline.run import Services
from pipeline.store import listed
from studio.accounts.current_user import current_user
from studio.accounts.roles import Role, current_project, current_role, may_see, require
from studio.sessions.session import Session
from studio.web.endpoints import Request
from studio.web.errors import RequestError
from studio.web.jobs import LIST

KEPT_UNUSED = 8
"""Open projects that no page shows; of more, those that were left first are closed."""
UNUSED_SECONDS = 300.0
"""Time without a page after which a project may be closed: its page may have lost the connection."""
USERS_FOLDER = "users"
"""Of a workspace, with the workspace of each user."""


class SessionRegistry:
    """The open projects of a workspace, each under a token that cannot be guessed.

    If each user has an `own` workspace, only those of the current user are found.
    """

    def __init__(
        self,
        workspace: Path,
        services: Services,
        idle_seconds: float = 8 * 3600,
        own: bool = False,
        is_present: Callable[[str], bool] = lambda _: True,
    ):
        """
        Args:
            idle_seconds: after which a project without work and without a page is closed.
            own: whether each user has a workspace of their own.
            is_present: whether a person has a page of the studio open.
        """
        self._is_present = is_present
        self._workspace, self.services, self._own = workspace, services, own
        self._idle_seconds = idle_seconds
        self._open: dict[str, Session] = {}
        self._lock = threading.Lock()
        self._reported_plugins: set[str] = set()

    @property
    def workspace(self) -> Path:
        """Folder of the current user's projects.

        Raises RequestError if users have folders of their own and none is logged in.
        """
        if project := current_project.get():
            return project.parent
        if not self._own:
            return self._workspace
        if not (user := current_user.get()):
            raise RequestError("Log in to the studio first.")
        return self._workspace / USERS_FOLDER / user

    def create(self, make: Callable[[Path], Project], name: str) -> Session:
        """Make a project in a new folder, called `name` or `name_2`, `name_3` ... if that is taken, and open it."""
        require(Role.WORK)
        with self._lock:
            return self._add(make(self.free_folder(name)))

    def open(self, name: str) -> Session:
        """Open the project in that folder of the workspace; all who open it share a session. Raises ProjectError."""
        if not self._is_project(name):
            raise RequestError(f'There is no project "{name[:80]}" in this workspace; choose one from the gallery.')
        with self._lock:
            for session in self._open.values():
                if session.project.folder == self.workspace / name:
                    session.welcome()
                    return session
            return self._add(Project.open(self.workspace / name))

    def _is_project(self, name: str) -> bool:
        folder = listed(self.workspace, name)
        return folder is not None and folder.is_dir() and may_see(folder)

    def find_open(self, name: str) -> Session | None:
        """Return the session of the project in that folder of the workspace; None if it is not open."""
        with self._lock:
            return next((one for one in self._open.values() if one.project.folder == self.workspace / name), None)

    def take_out(self, name: str, move: Callable[[], None]) -> None:
        """Stop the work on a project, close it, and call `move`. Nobody can open the project meanwhile.

        Raises RequestError if its work does not end.
        """
        session = self.find_open(name)
        if session is not None:
            # Stop seconds for which work may go on after it was stopped
            session.end_work(20.0)
        with self._lock:
            for token, one in list(self._open.items()):
                if one.project.folder == self.workspace / name:
                    self._open.pop(token).close()
            move()

    def adopt(self, folder: Path) -> Path:
        """Move a project that was made elsewhere on the workspace's disk into the workspace; return its new folder."""
        require(Role.WORK)
        with self._lock:
            return folder.rename(self.free_folder(folder.name))

    def free_folder(self, name: str) -> Path:
        """Return the first folder of `name`, `name_2`, `name_3` ... of the workspace in which there is nothing."""
        stem, number = name, 2
        while (self.workspace / name).exists() and not is_free(self.workspace / name):
            name, number = f"{stem}_{number}", number + 1
        return self.workspace / name

    def get(self, token: str | None) -> Session:
        """Return the session of that token. Raises RequestError if it was closed."""
        with self._lock:
            session = self._open.get(token or "")
            if session is None or not self._shows(session):
                raise RequestError("This project is no longer open. It is saved; open it again from the gallery.")
            session.touch()
        return session

    def use(self, services: Services, renew: Collection[str] = ()) -> None:
        """Use these services for every project, open or not, and recompute those whose tokens are in `renew`."""
        with self._lock:
            self.services, sessions = services, list(self._open.values())
        for session in sessions:
            session.use(services, session.token in renew)

    @property
    def all_open(self) -> list[Session]:
        """The open projects that the current person may see."""
        with self._lock:
            return [one for one in self._open.values() if self._shows(one)]

    def sees(self, folder: Path | None) -> bool:
        """Whether the current person may see what belongs to a project or workspace, or to the whole studio (None)."""
        if folder is None:
            return current_role.get() >= Role.LOOK
        return (not self._own or folder.is_relative_to(self.workspace)) and may_see(folder)

    def _shows(self, session: Session) -> bool:
        folder = session.project.folder
        return (not self._own or folder.parent == self.workspace) and may_see(folder)

    def use_library(self, services: Services, recompute: bool) -> tuple[int, int]:
        """Use services with another library for every project. Work that runs goes on with the former library.

        Returns the numbers of open projects that take it up at their next change, and of those that, with `recompute`,
        were idle and started to recompute.
        """
        with self._lock:
            self.services, sessions = services, list(self._open.values())
        started = 0
        for session in sessions:
            session.services = services
            if recompute and session.runner.current is None and session.project.segments() is not None:
                session.prepare()
                started += 1
        return len(sessions) - started, started

    def _add(self, project: Project) -> Session:
        self._close_unused()
        session = Session(project, self.services, self._is_present)
        for reason in set(plugins.failures()) - self._reported_plugins:
            self._reported_plugins.add(reason)
            session.log.report(plugins.PluginError(reason))
        self._open[session.token] = session
        session.welcome()
        return session

    def _close_unused(self) -> None:
        now = time.monotonic()
        idle = [one for one in self._open.values() if one.idle and not one.is_arranged]
        idle = [one for one in idle if not LIST.works_in(one.project.folder)]
        idle.sort(key=lambda one: one.last_used)
        surplus = sum(now - one.last_used > UNUSED_SECONDS for one in idle) - KEPT_UNUSED
        for number, session in enumerate(idle):
            if number < surplus or now - session.last_used > self._idle_seconds:
                self._open.pop(session.token).close()


def session_context(sessions: SessionRegistry, *arguments: Any) -> Callable[[Request], tuple[Any, ...]]:
    """Return a context for an `Endpoint` whose handlers get the request's session, then `arguments`."""

    def find(request: Request) -> tuple[Session, *tuple[Any, ...]]:
        return (sessions.get(request.get("token")), *arguments)

    find.of_session = True  # type: ignore[attr-defined]
    return find
