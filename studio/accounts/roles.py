"""Roles: what a person may do, checked on the server before every event, request and command."""

from contextvars import ContextVar
from enum import IntEnum
from pathlib import Path

from pipeline.errors import StudioError

ROLES = ("look", "work", "administer")
"""Names of the roles that a user can have. Each includes the ones before it."""


class Role(IntEnum):
    """What a person may do. A greater role includes the smaller ones."""

    VISIT = 0
    """See one project, by a link."""
    LOOK = 1
    """See every project of the workspace, and change nothing."""
    WORK = 2
    """Make, change and delete projects and assets."""
    ADMINISTER = 3
    """Change what holds for everyone: the model with its key and prompts, installed packages, confinement."""

    @property
    def title(self) -> str:
        return self.name.lower()


current_role: ContextVar[Role] = ContextVar("current_role", default=Role.ADMINISTER)
"""Role of the person for whom the server is working; the studio's own threads may do everything."""


current_project: ContextVar[Path | None] = ContextVar("current_project", default=None)
"""Folder of the only project that the current person may see; None for all of the workspace."""


class RoleError(StudioError):
    """The person's role does not permit what the page asked for."""


def role_named(name: str) -> Role:
    """Return the role of that name. Raises StudioError."""
    if name not in ROLES:
        raise StudioError(f'There is no role "{name[:40]}"; choose one of {", ".join(ROLES)}.')
    return Role[name.upper()]


def may_see(folder: Path) -> bool:
    """Whether the current person may see the project in that folder, as far as it depends on a link."""
    return current_role.get() >= Role.LOOK or (folder == current_project.get() and folder is not None)


def require(role: Role) -> None:
    """Raise RoleError unless the current person's role includes `role`."""
    if current_role.get() < role:
        raise RoleError(
            f'You can look, but this needs the role "{role.title}". Ask an administrator of this studio for it.'
        )
