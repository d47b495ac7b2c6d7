"""The board's acts on several projects at once: title, tags, verdict, copy, delete; each can be undone."""

import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.project.curation import Curation, Verdict, read_curation, save_curation
from pipeline.store import listed
from studio.accounts.current_user import current_user
from studio.accounts.links import Links
from studio.accounts.roles import Role, require
from studio.board.project_bin import restore_project
from studio.board.project_facts import RECORD, title_of
from studio.board.project_index import ProjectIndex
from studio.sessions.project_folders import delete_project, duplicate_project
from studio.sessions.session_registry import SessionRegistry
from studio.texts import t, translated
from studio.web.errors import RequestError, error_message


@dataclass(frozen=True)
class Act:
    """What was done to projects of a workspace."""

    workspace: Path
    undo: list[Callable[[], object]] = field(default_factory=list)
    """Undoes it, one project each."""
    names: list[str] = field(default_factory=list)
    """Folders of the projects that it was done to, or that came of it."""
    problems: list[str] = field(default_factory=list)
    """One line for each project that it could not be done to."""


class Board:
    """Every project of a workspace. May be used from any thread."""

    def __init__(self, sessions: SessionRegistry, links: Links | None = None):
        """`links` to a project end when it is deleted."""
        self.sessions, self._links = sessions, links
        self._lock = threading.Lock()
        self._indices: dict[Path, ProjectIndex] = {}
        self._acts: OrderedDict[str, Act] = OrderedDict()
        self._serials = itertools.count(1)

    @property
    def index(self) -> ProjectIndex:
        """The index of the current user's workspace."""
        workspace = self.sessions.workspace
        with self._lock:
            return self._indices.setdefault(workspace, ProjectIndex(workspace))

    def folder(self, name: object) -> Path:
        """Return the folder of a project of the workspace. Raises RequestError if there is none of that name."""
        folder = listed(self.sessions.workspace, name)
        if folder is None or folder.name.startswith(".") or not (folder / RECORD).is_file():
            raise RequestError(
                f'There is no project "{str(name)[:80]}" in this workspace; choose one from the gallery.'
            )
        return folder

    def open_projects(self, names: Sequence[str]) -> list[str]:
        """Return the titles of those projects that are open in the studio."""
        return [shown_title(self.folder(name)) for name in names if self.sessions.find_open(name)]

    # ------------------------------------------------------------------ acts

    def curate(self, names: Sequence[str], change: Callable[[Curation], Curation]) -> tuple[str, Act]:
        """Change what is said about projects. Returns the name of the act and the act."""

        def change_one(folder: Path, act: Act) -> None:
            before = read_curation(folder)
            after = change(before)
            if after == before:
                return
            save_curation(folder, after)
            act.undo.append(lambda: save_curation(self.folder(folder.name), before))

        return self._do(names, change_one)

    def rename(self, name: str, title: str) -> tuple[str, Act]:
        """Give a project another title; its folder keeps its name. An empty title is the folder's name again."""
        title = " ".join(title.split())
        return self.curate([name], lambda one: replace(one, title="" if title == title_of(name) else title))

    def tag(self, names: Sequence[str], add: Sequence[str], remove: Sequence[str]) -> tuple[str, Act]:
        """Add tags to projects and remove others."""
        added = [" ".join(tag.split()) for tag in add if tag.strip()]

        def changed(one: Curation) -> Curation:
            return replace(one, tags=tuple(sorted({*one.tags, *added} - set(remove))))

        return self.curate(names, changed)

    def judge(self, names: Sequence[str], verdict: Verdict, reason: str) -> tuple[str, Act]:
        """Accept or reject projects, or say that it is unsure; an empty verdict takes the former one back."""
        reason, by, at = " ".join(reason.split()), current_user.get() if verdict else "", time.time()
        said = Curation(verdict=verdict, reason=reason)  # raises before anything is changed

        def changed(one: Curation) -> Curation:
            return replace(one, verdict=said.verdict, reason=said.reason, by=by, at=at if verdict else None)

        return self.curate(names, changed)

    def duplicate(self, names: Sequence[str]) -> tuple[str, Act]:
        """Copy projects; the copies have the same tags and verdict."""

        def copy(folder: Path, act: Act) -> None:
            session = self.sessions.find_open(folder.name)
            if session is not None and session.runner.current is not None:
                raise RequestError("Work goes on in it; wait until it has ended, then duplicate it.")
            made = duplicate_project(folder, self.sessions.free_folder)
            act.undo.append(lambda: self._delete(made.name))
            act.names.append(made.name)
            said = read_curation(made)
            save_curation(made, replace(said, title=t("{title} (copy)", title=shown_title(folder))[:120]))

        return self._do(names, copy)

    def delete(self, names: Sequence[str]) -> tuple[str, Act]:
        """Move projects to the bin. Open ones are closed first."""

        def delete(folder: Path, act: Act) -> None:
            deleted = self._delete(folder.name)
            act.undo.append(lambda: restore_project(deleted, self.sessions.free_folder))

        return self._do(names, delete)

    def undo(self, id: object) -> Act:
        """Undo an act of the current user's workspace, and return what came of that. Raises RequestError."""
        with self._lock:
            act = self._acts.get(str(id))
            if act is None or act.workspace != self.sessions.workspace:
                raise RequestError("That can no longer be undone.")
            del self._acts[str(id)]
        undone = Act(act.workspace)
        for step in reversed(act.undo):
            try:
                step()
                undone.names.append("")
            except (StudioError, OSError) as error:
                undone.problems.append(translated(error_message(error)))
        return undone

    def _delete(self, name: str) -> Path:
        places: list[Path] = []
        if self._links:
            self._links.revoke_all(self.folder(name))
        self.sessions.take_out(name, lambda: places.append(delete_project(self.folder(name))))
        return places[0]

    def _do(self, names: Sequence[str], work: Callable[[Path, Act], None]) -> tuple[str, Act]:
        """Do the work for each project; one that fails does not keep it from the others."""
        require(Role.WORK)
        act = Act(self.sessions.workspace)
        for name in dict.fromkeys(names):
            try:
                folder = self.folder(name)
                work(folder, act)
            except (StudioError, OSError) as error:
                act.problems.append(f"{name}: {translated(error_message(error))}")
            else:
                act.names.append(name)
        with self._lock:
            id = str(next(self._serials))
            self._acts[id] = act
            # Acts that can be undone
            while len(self._acts) > 100:
                self._acts.popitem(last=False)
        return id, act


def shown_title(folder: Path) -> str:
    """Return the title that a person gave the project in a folder, else the folder's name as a title."""
    return read_curation(folder).title or title_of(folder.name)
