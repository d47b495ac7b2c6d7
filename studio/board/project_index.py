"""The index of a workspace: the facts of every project in one SQLite file, which is searched instead of the folders.

The folders stay the truth. A row holds as long as the stamp of its folder's files does; a file that is missing, damaged
or of another version is made again; where none can be written, the index is in memory.
"""

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from studio.board.project_facts import ProjectFacts, read_facts, searchable, stamp

FILE = ".index.sqlite"
VERSION = 3
"""Rises when facts are read differently."""
CACHE_KB = 65536
FIRST_SECONDS, NEXT_SECONDS = 0.3, 1.0
"""For which projects are read before the first page is shown, and before each one after it."""
T = TypeVar("T")
_FACTS = tuple(field.name for field in fields(ProjectFacts))
_COLUMNS = ("name", "stamp", "shown", *_FACTS)
_ORDERS = {
    "title": "title COLLATE NOCASE",
    "changed": "changed",
    "state": "CASE state WHEN 'failed' THEN -1 ELSE done + (state = 'solved') END",
    "objects": "objects",
    "confidence": "confidence",
    "matched": "matched",
    "solved_by": "NULLIF(solved_by, '')",
    "seconds": "seconds",
    "verdict": "NULLIF(verdict, '')",
    "tags": "NULLIF(tags, '[]')",
}
"""Expressions that projects are sorted by."""
ORDERS = tuple(_ORDERS)
_GROUPS = {"state": "state", **{name: _ORDERS[name] for name in ("verdict", "tags", "solved_by")}}
"""Expressions that projects are grouped by: those with the same value follow each other."""
GROUPS = tuple(_GROUPS)
_FACETS = {
    "states": "SELECT state, COUNT(*) FROM projects WHERE shown GROUP BY 1",
    "verdicts": "SELECT verdict, COUNT(*) FROM projects WHERE shown GROUP BY 1",
    "tags": "SELECT value, COUNT(*) FROM projects, json_each(tags) WHERE shown GROUP BY 1 ORDER BY 1",
}


@dataclass(frozen=True)
class BoardQuery:
    """Which projects are shown, and in which order."""

    words: str = ""
    """All of them have to be in the project's texts."""
    state: str = ""
    verdict: str = ""
    """"none" finds projects without one."""
    tag: str = ""
    group: str = ""
    """One of GROUPS, or empty."""
    sort: str = "changed"
    descending: bool = True
    offset: int = 0
    limit: int = 60


@dataclass(frozen=True)
class FoundProjects:
    """One page of the projects found."""

    rows: tuple[tuple[str, ProjectFacts], ...]
    """Name of the folder, and facts."""
    total: int
    """Number of projects found, on all pages."""
    all: int
    """Number of projects of the workspace."""
    facets: Mapping[str, Mapping[str, int]]
    """Numbers of projects of the workspace by state, verdict and tag."""


class ProjectIndex:
    """The index of one workspace. May be used from any thread, and by several processes."""

    def __init__(self, workspace: Path):
        self.workspace = workspace
        self._lock, self._refreshing = threading.RLock(), threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._file_number: int | None = None
        """Inode of the open file; None in memory."""
        self._is_new = False
        """Whether nothing has been read yet."""
        self.unread = 0
        """Number of projects that the last refresh left unread."""
        self._counted: tuple[object, dict[str, dict[str, int]]] = None, {}
        """The facets, and the version of the rows that they were counted from."""

    def refresh(self, seconds: float = float("inf")) -> int:
        """Read projects that changed since, the newest first, for so many seconds; return how many are left."""
        with self._refreshing:  # searches go on meanwhile
            known = self._run(lambda connection: dict(connection.execute("SELECT name, stamp FROM projects")))
            found = _stamps(self.workspace)
            changed = [name for name, (one, _) in found.items() if known.get(name) != one]
            changed.sort(key=lambda name: -found[name][1])
            rows: list[list[Any]] = []
            end = time.monotonic() + seconds
            for name in changed:
                if rows and time.monotonic() > end:
                    break
                rows.append(_row(name, found[name][0], read_facts(self.workspace / name)))
            self._run(lambda connection: self._write(connection, rows, known.keys() - found))
            self.unread = len(changed) - len(rows)
            return self.unread

    def known(self) -> int:
        """Return the number of projects that were read, at any time."""
        return self._run(lambda connection: connection.execute("SELECT COUNT(*) FROM projects").fetchone()[0])

    def find(self, query: BoardQuery) -> FoundProjects:
        """Return a page of the projects as they were at the last refresh."""

        def find(connection: sqlite3.Connection) -> FoundProjects:
            rows, total = _find(connection, query)
            facets = self._facets(connection)
            return FoundProjects(rows, total, sum(facets["states"].values()), facets)

        found = self._run(find)
        if self._is_new:
            self.refresh(FIRST_SECONDS)
            found = self._run(find)
        return found

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            if self._connection is not None and self._file_number not in (None, _inode(self.workspace / FILE)):
                self.close()  # somebody removed or replaced the file
            for path in (self.workspace / FILE, self.workspace / FILE, None):
                try:
                    return self._work(work, path)
                except sqlite3.Error:
                    self.close()
                    self._remove()
            return self._work(work, None)

    def _work(self, work: Callable[[sqlite3.Connection], T], path: Path | None) -> T:
        if self._connection is None:
            self._connection, self._is_new = _open(path)
            self._file_number = _inode(path) if path else None
        return work(self._connection)

    def _remove(self) -> None:
        with suppress(OSError):
            (self.workspace / FILE).unlink()

    def _facets(self, connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
        """Return how many projects have each value, per filter; counted again only if rows have changed."""
        version = connection.execute("PRAGMA data_version").fetchone()[0], connection.total_changes, id(connection)
        if self._counted[0] != version:
            self._counted = version, {name: dict(connection.execute(question)) for name, question in _FACETS.items()}
        return self._counted[1]

    def _write(self, connection: sqlite3.Connection, rows: list[list[Any]], gone: Iterable[str]) -> None:
        with connection:
            connection.executemany("DELETE FROM projects WHERE name = ?", [(name,) for name in gone])
            marks = ", ".join("?" * (len(_COLUMNS) + 1))
            connection.executemany(f"INSERT OR REPLACE INTO projects VALUES ({marks})", rows)
        self._is_new = False


def _open(path: Path | None) -> tuple[sqlite3.Connection, bool]:
    """Open an index file and check it, or make a new one; return it, and whether it is new. Raises sqlite3.Error."""
    connection = sqlite3.connect(path or ":memory:", timeout=5, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == VERSION:
            _check(connection)
            return connection, False
        if version or connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise sqlite3.DatabaseError
        columns = ", ".join("name PRIMARY KEY" if name == "name" else name for name in _COLUMNS)
        with connection:
            connection.execute(f"CREATE TABLE projects ({columns}, checksum)")
            connection.execute(f"PRAGMA user_version = {VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection, True


def _check(connection: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError if anything in the file is not as it was written."""
    if connection.execute("PRAGMA quick_check").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError
    for *values, checksum in connection.execute(f"SELECT {', '.join(_COLUMNS)}, checksum FROM projects"):
        if _checksum(values) != checksum:
            raise sqlite3.DatabaseError


def _checksum(values: Iterable[Any]) -> int:
    return zlib.crc32(repr(list(values)).encode())


def _stamps(workspace: Path) -> dict[str, tuple[str, float]]:
    """Return the stamp of each folder of the workspace that is a project, hidden ones left out."""
    stamps = {}
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(workspace) as entries:
        for entry in entries:
            hidden = entry.name.startswith(".") or not entry.name.isprintable()  # the others have no address
            if not hidden and (one := stamp(entry.path)):
                stamps[entry.name] = one
    return stamps


def _row(name: str, one: str, facts: ProjectFacts | None) -> list[Any]:
    """Return the values of a row; a project that cannot be read has one too, so that it is not read again."""
    values = [name, one, int(facts is not None), *(asdict(facts).values() if facts else [None] * len(_FACTS))]
    values = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
    return [*values, _checksum(values)]


def _find(connection: sqlite3.Connection, query: BoardQuery) -> tuple[tuple[tuple[str, ProjectFacts], ...], int]:
    """Return a page of the projects found, and the number of all that were found."""
    conditions, values = ["shown"], []
    for word in searchable(query.words).split():
        conditions.append("words LIKE ? ESCAPE '\\'")
        values.append("%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%")
    if query.state:
        conditions.append("state = ?")
        values.append(query.state)
    if query.verdict:
        conditions.append("verdict = ?")
        values.append("" if query.verdict == "none" else query.verdict)
    if query.tag:
        conditions.append("EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)")
        values.append(query.tag)
    where = " AND ".join(conditions)
    direction = "DESC" if query.descending else "ASC"
    group = f"{_GROUPS[query.group]} NULLS LAST, " if query.group in _GROUPS else ""
    order = group + f"{_ORDERS.get(query.sort, 'changed')} {direction} NULLS LAST, changed DESC, name"
    sorting = f"SELECT rowid FROM projects WHERE {where} ORDER BY {order}"  # not of whole rows, which takes longer
    found = [row for (row,) in connection.execute(sorting, values)]
    page = found[query.offset : query.offset + query.limit]
    question = f"SELECT name, {', '.join(_FACTS)} FROM projects WHERE rowid = ?"
    rows = (connection.execute(question, (row,)).fetchone() for row in page)
    return tuple((name, ProjectFacts(*facts)) for name, *facts in rows), len(found)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return -1
