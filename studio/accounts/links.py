"""Links with which a person without a login sees one project: each expires, and can be revoked before."""

import hashlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from pipeline.errors import StudioError
from pipeline.project import project_id
from studio.accounts.watched_file import WatchedFile

FILE = ".links.json"
"""In the workspace."""
VISITOR = "link:"
"""Begins the login of a person who came by a link; no user's name holds a colon."""
LONGEST_DAYS, MAX_LINKS = 365, 1000
SCHEMA = 1


class LinkError(StudioError):
    """A link cannot be made, or there is none."""


@dataclass(frozen=True)
class Link:
    """Access to one project for everyone who has its token."""

    id: str
    digest: str
    """SHA-256 of the token, which is kept nowhere."""
    project: str
    """Path of the project's folder, relative to the workspace of the studio."""
    project_id: str
    """Id of the project, so that a link never shows another one that later has its folder."""
    expires: float
    """Seconds since 1970."""
    by: str
    """Login of the person who made it."""


class Links:
    """The links of a workspace, read again whenever their file changed. May be used from any thread."""

    def __init__(self, workspace: Path, clock: Callable[[], float] = time.time):
        self._workspace, self._clock = workspace, clock
        self._file: WatchedFile[Mapping[str, Link]] = WatchedFile(
            workspace / FILE, "the links", _parse, MappingProxyType({})
        )

    def create(self, folder: Path, days: float, by: str) -> tuple[Link, str]:
        """Make a link to the project in a folder of the workspace, and return it with its token. Raises LinkError."""
        if not 0 < days <= LONGEST_DAYS:
            raise LinkError(f"A link lasts up to {LONGEST_DAYS} days.")
        if not (id := project_id(folder)):
            raise LinkError(f"{folder.name} has no id yet; change something in it first.")
        token, project = secrets.token_urlsafe(24), folder.relative_to(self._workspace).as_posix()
        link = Link(secrets.token_hex(6), _digest(token), project, id, self._clock() + days * 86400, by)
        with self._file.alone():
            kept = self._valid()
            if len(kept) >= MAX_LINKS:
                raise LinkError("There are too many links; revoke some first.")
            self._save([*kept, link])
        return link, token

    def revoke(self, id: str, folder: Path) -> None:
        """End a link to the project in that folder. Raises LinkError if there is none."""
        with self._file.alone():
            kept = self._valid()
            remaining = [one for one in kept if not (one.id == id and self.folder(one) == folder)]
            if len(remaining) == len(kept):
                raise LinkError("There is no such link; it may have expired.")
            self._save(remaining)

    def revoke_all(self, folder: Path) -> None:
        """End all links to the project in that folder, which is about to be deleted."""
        with self._file.alone():
            kept = self._valid()
            remaining = [one for one in kept if self.folder(one) != folder]
            if len(remaining) < len(kept):
                self._save(remaining)

    def of_project(self, folder: Path) -> list[Link]:
        """Return the links to the project in a folder that hold, the newest last."""
        return [one for one in self._valid() if self.folder(one) == folder]

    def find(self, token: str) -> Link | None:
        """Return the link of a token; None if there is none, or it has expired."""
        digest = _digest(token)
        return next((one for one in self._safely_valid() if secrets.compare_digest(one.digest, digest)), None)

    def of_visitor(self, user: str) -> Link | None:
        """Return the link by which a visitor came; None if it no longer holds, and for a user's name."""
        if not user.startswith(VISITOR):
            return None
        return next((one for one in self._safely_valid() if f"{VISITOR}{one.id}" == user), None)

    def folder(self, link: Link) -> Path:
        """Return the folder of the project that a link shows."""
        return self._workspace / link.project

    def _valid(self) -> list[Link]:
        links = [one for one in self._file.read().values() if one.expires > self._clock()]
        return [one for one in links if one.project_id and one.project_id == project_id(self.folder(one))]

    def _safely_valid(self) -> list[Link]:
        """Return the links that hold; none while their file cannot be read."""
        try:
            return self._valid()
        except StudioError:
            return []

    def _save(self, links: list[Link]) -> None:
        self._file.write({"schema": SCHEMA, "links": [asdict(link) for link in links]})


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _parse(content: Any) -> Mapping[str, Link]:
    if content["schema"] != SCHEMA:
        raise ValueError(f"it is of version {content['schema']}, and this GRS Studio reads version {SCHEMA}")
    links = {}
    for one in content["links"]:
        fields = {name: one[name] for name in ("id", "digest", "project", "expires", "by")}
        link = Link(**fields, project_id=str(one.get("project_id", "")))  # without one, it no longer holds
        parts = PurePosixPath(link.project).parts
        if not parts or link.project.startswith("/") or {".", ".."} & set(parts) or not isinstance(link.expires, float):
            raise ValueError("a link has an unusable project or time")
        links[link.id] = link
    return MappingProxyType(links)
