"""Who may use the studio: under which addresses it answers, which origins are its own, and the logins."""

import hmac
import ipaddress
import os
import re
import stat
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from anyio.to_thread import run_sync

from pipeline.errors import StudioError
from studio.accounts.current_user import current_user
from studio.accounts.roles import Role, current_project, current_role
from studio.accounts.user_file import USER_NAME, UserFile

if TYPE_CHECKING:  # it imports the project, and with it MuJoCo
    from studio.accounts.links import Links

LOOPBACK = ("localhost", "127.0.0.1", "::1")
DEFAULT_PORTS = {"http": 80, "https": 443}
_ROOT_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+")
_HOST = re.compile(r"[\w.\-:\[\]]+")


@dataclass(frozen=True)
class Access:
    """Who may use the studio. As it is made without arguments: every page of this machine's own address."""

    logins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords by user, of people who may do everything."""
    hosts: tuple[str, ...] = ()
    """Names or addresses, NAME or NAME:PORT, under which the studio answers besides those of this machine: that of
    --host, and those under which a reverse proxy publishes it."""
    behind_proxy: bool = False
    """Whether a reverse proxy may say in X-Forwarded-... headers how it was asked."""
    root_path: str = ""
    """Path under which a reverse proxy publishes the studio, as in /grs; empty for the root of its host."""
    own_workspaces: bool = False
    """Whether each user has a workspace of their own."""
    links: "Links | None" = None
    """Links to single projects, for people without a login."""
    users: UserFile | None = None
    """People with hashed passwords and roles. Without `logins` and `users` there is no login."""

    def __post_init__(self):
        """Raise StudioError if the file of users is unusable, or they cannot have workspaces of their own."""
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise StudioError(f"--root-path {self.root_path[:80]} is not a path; it takes one such as /grs")
        users = self.users.users() if self.users else {}
        if self.users and not users and not self.logins:
            raise StudioError(f"{self.users.path} names no user; add one with: grs-studio user add NAME")
        if both := sorted(set(users) & set(self.logins)):
            raise StudioError(f'"{both[0]}" is a login of two places, one of them {self.users and self.users.path}')
        if not self.own_workspaces:
            return
        if not self.needs_login:
            raise StudioError("--workspaces own needs logins; add one with: grs-studio user add NAME")
        unfit = [name for name in self.logins if not USER_NAME.fullmatch(name)]
        if unfit:
            raise StudioError(f'"{unfit[0]}" cannot name a workspace; use letters, digits, and . _ @ - within the name')
        names = [*self.logins, *users]
        if len({name.lower() for name in names}) < len(names):
            raise StudioError(
                "two users differ only in upper and lower case; their workspaces would be the same folder"
            )

    @property
    def needs_login(self) -> bool:
        """Whether people log in."""
        return bool(self.logins) or self.users is not None

    def role_of(self, user: str | None) -> Role | None:
        """Return the current role of the person logged in as `user`; None without a login or after it has ended."""
        if not self.needs_login:
            return Role.ADMINISTER
        if user is None or user in self.logins:
            return Role.ADMINISTER if user else None
        if self.links and self.links.of_visitor(user):
            return Role.VISIT
        found = self.users.find(user) if self.users else None
        return found.role if found else None

    def act_for(self, user: str | None) -> Role | None:
        """Let the server work for a person from now on, and return their role; None if they may do nothing."""
        role = self.role_of(user)
        link = self.links.of_visitor(user or "") if self.links and role is Role.VISIT else None
        current_user.set(user or "")
        current_role.set(Role.VISIT if role is None else role)
        current_project.set(self.links.folder(link) if self.links and link else None)
        return role

    def credential_of(self, user: str) -> str:
        """Return a text that changes with a password, or when a visitor's link ends: older logins then end."""
        if self.links and (link := self.links.of_visitor(user)):
            return link.digest
        found = self.users.find(user) if self.users else None
        return found.password if found else self.logins.get(user, "")

    def knows_host(self, host: str, server: str) -> bool:
        """Whether a request's Host header names this studio. `server` is the address that the request came in on.

        A page of another site reaches us under that site's name if its DNS entry is changed to our address ("DNS
        rebinding"): to the browser it is then the same origin, and only the name gives it away.
        """
        name = hostname(host)
        if name is None:
            return False
        return name in LOOPBACK or name in map(hostname, self.hosts) or (name == server and _is_ip(name))

    def is_own_origin(self, origin: str, scheme: str, host: str) -> bool:
        """Whether an Origin header is that of our own pages, which were asked for with that scheme and Host header."""
        own = _origin(f"{scheme}://{host}")
        published = (
            [_origin(f"{s}://{name}") for name in self.hosts for s in DEFAULT_PORTS] if self.behind_proxy else []
        )
        given = _origin(origin)
        return given is not None and given in (own, *published)

    def accepts(self, user: str, password: str) -> bool:
        """Whether it is the user's password. Takes as long for an unknown user."""
        known = self.logins.get(user)
        given = password.encode("utf-8", "surrogatepass")
        is_login = hmac.compare_digest(given, (known or "\0").encode()) and known is not None
        is_user = self.users is not None and self.users.accepts(user, password)
        return is_login or is_user

    async def authenticate(self, user: str, password: str) -> bool:
        """As `accepts`, in a thread: a hash takes a quarter of a second."""
        return await run_sync(self.accepts, user, password)


def hostname(host: str) -> str | None:
    """Return the name or address in a Host header or NAME:PORT, in lower case without brackets; None if unreadable."""
    parts = _split(host)
    return parts[0] if parts else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_logins(option: str | None, file: Path | None, variable: str = "GRS_AUTH") -> dict[str, str]:
    """Return the passwords by user: of --auth USER:PASS, else of --auth-file, else of the environment variable.

    The variable is removed from the environment, so that no process that the studio starts inherits it. Raises
    StudioError.
    """
    from_environment = os.environ.pop(variable, "")
    if option is not None:
        return _logins([option], "--auth")
    if file is not None:
        return _logins(_lines(file), f"--auth-file {file}")
    return _logins(from_environment.splitlines(), variable) if from_environment else {}


def _lines(file: Path) -> list[str]:
    try:
        mode, text = file.stat().st_mode, file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StudioError(f"--auth-file {file} cannot be read: {reason}") from None
    if mode & (stat.S_IRGRP | stat.S_IROTH):
        print(f"grs-studio: others on this machine can read {file}; chmod 600 keeps it private", file=sys.stderr)
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _logins(lines: Iterable[str], source: str) -> dict[str, str]:
    logins: dict[str, str] = {}
    for line in lines:
        user, colon, password = line.partition(":")
        if not (user and colon and password):
            raise StudioError(f"{source} takes USER:PASS, as in ada:secret")  # never the line: it may hold a password
        if user in logins:
            raise StudioError(f"{source} names the user {user} twice")
        logins[user] = password
    if not logins:
        raise StudioError(f"{source} holds no login; write USER:PASS, as in ada:secret")
    return logins


def _is_ip(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _origin(text: str) -> tuple[str, str, int] | None:
    """Return scheme, name and port of an origin; None for any other text."""
    scheme, _, rest = text.partition("://")
    parts = _split(rest) if scheme in DEFAULT_PORTS else None
    return (scheme, parts[0], parts[1] or DEFAULT_PORTS[scheme]) if parts else None


def _split(host: str) -> tuple[str, int | None] | None:
    """Return name and port of NAME or NAME:PORT; None for any other text."""
    if not _HOST.fullmatch(host):
        return None
    netloc = host if host.count(":") < 2 or host.startswith("[") else f"[{host}]"
    try:
        parts = urlsplit(f"//{netloc}")
        name, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    return (name, port) if name and parts.netloc == netloc else None
