"""The file of users: names, roles and hashes of passwords."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pipeline.decisions import UNNAMED
from pipeline.errors import StudioError
from studio.accounts.passwords import hash_password, is_hash, matches
from studio.accounts.roles import ROLES, Role, role_named
from studio.accounts.watched_file import WatchedFile

FILE = ".users.json"
"""In the workspace, where no other file is named."""
USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
"""Names of users. Each can also name the folder of a workspace of their own."""
SCHEMA = 1


def users_path(option: Path | None, workspace: Path) -> Path:
    """Return the path of the file of users: the option, else GRS_USERS, else in the workspace."""
    return option or Path(os.environ.get("GRS_USERS") or workspace / FILE)


@dataclass(frozen=True)
class User:
    """One person who can log in."""

    name: str
    role: Role
    password: str = field(repr=False)
    """Hash, as `passwords.hash_password` returns it."""


class UserFile:
    """The users of a file, read again whenever the file changed. May be used from any thread."""

    def __init__(self, path: Path):
        self.path = path
        self._file: WatchedFile[Mapping[str, User]] = WatchedFile(path, "the users", _parse, MappingProxyType({}))

    def users(self) -> Mapping[str, User]:
        """Return the users by name. Raises StudioError for a file that cannot be read."""
        return self._file.read()

    def find(self, name: str) -> User | None:
        """Return the user of that name. While the file cannot be read, there is none: everyone is kept out."""
        try:
            return self.users().get(name)
        except StudioError:
            return None

    def accepts(self, name: str, password: str) -> bool:
        """Whether it is the user's password. Takes as long for an unknown user."""
        user = self.find(name)
        return matches(password, user.password if user else None)

    def add(self, name: str, role: str, password: str, replace: bool = False) -> None:
        """Add a user, or with `replace` give one a new role and password. Raises StudioError."""
        if not USER_NAME.fullmatch(name) or name.lower() == UNNAMED:
            raise StudioError(f'"{name[:80]}" cannot name a user; use up to 64 letters, digits, and . _ @ - within')
        wanted, hashed = role_named(role), hash_password(password)
        with self._changed() as users:
            if name in users and not replace:
                raise StudioError(f'there is a user "{name}"; --replace sets a new password and role')
            if name not in users and any(name.lower() == other.lower() for other in users):
                raise StudioError(f'another user is called "{name}" in other upper and lower case; choose another name')
            users[name] = User(name, wanted, hashed)

    def remove(self, name: str) -> None:
        """Remove a user. Raises StudioError if there is none of that name."""
        with self._changed() as users:
            if users.pop(name, None) is None:
                raise StudioError(f'there is no user "{name[:80]}"; there are: {", ".join(sorted(users)) or "none"}')

    @contextmanager
    def _changed(self) -> Iterator[dict[str, User]]:
        """Yield the users to be changed, and save them."""
        with self._file.alone():
            users = dict(self.users())
            yield users
            content = {user.name: {"role": user.role.title, "password": user.password} for user in users.values()}
            self._file.write({"schema": SCHEMA, "users": content})


def _parse(content: Any) -> Mapping[str, User]:
    if content["schema"] != SCHEMA:
        raise ValueError(f"it is of version {content['schema']}, and this GRS Studio reads version {SCHEMA}")
    users = {}
    for name, one in content["users"].items():
        if not USER_NAME.fullmatch(name) or one["role"] not in ROLES or not is_hash(one["password"]):
            raise ValueError(f'the user "{name[:40]}" has an unusable name, role or password hash')
        users[name] = User(name, role_named(one["role"]), one["password"])
    if len({name.lower() for name in users}) < len(users):
        raise ValueError("two users differ only in upper and lower case")
    return MappingProxyType(users)
