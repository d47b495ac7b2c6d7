"""People of each role, and the studio that they use in tests, served over HTTP."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
from offline_studio import FRAME, EmptySegmenter, offline_services
from page_client import connect
from served_studio import served

from pipeline.project import Project
from studio.accounts.roles import Role
from studio.accounts.user_file import UserFile
from studio.web.access import Access

PEOPLE = {"lou": Role.LOOK, "wanda": Role.WORK, "will": Role.WORK, "ada": Role.ADMINISTER}
PASSWORD = "correct horse"


@contextmanager
def studio_with_people(workspace: Path, **access: Any) -> Iterator[SimpleNamespace]:
    """Give {app, address, workspace, users} of a studio with the projects "one" and "two"."""
    for name in ("one", "two"):
        Project.create(workspace / name, FRAME, name).close()
    users = UserFile(workspace / ".users.json")
    for name, role in PEOPLE.items():
        users.add(name, role.title, PASSWORD)
    services = offline_services(segmenter=EmptySegmenter())
    with served(services, workspace, Access(users=users, **access)) as studio:
        yield SimpleNamespace(app=studio.app, address=studio.address, workspace=workspace, users=users)


@asynccontextmanager
async def logged_in(studio: SimpleNamespace, user: str) -> AsyncIterator[httpx.AsyncClient]:
    """Give a client of the studio in which that person is logged in."""
    async with connect(studio.address) as http:
        answer = await http.post("/login", data={"username": user, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        yield http


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, but for the confidences, which are measured in the background."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "confidence.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
