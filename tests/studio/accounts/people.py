"""People of each role, and the studio that they use in tests, served over HTTP."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import mujoco
import page_client
from offline_studio import FRAME, offline_services
from served_studio import served
from websockets.asyncio.client import connect

from pipeline.project import Project
from pipeline.segmentation import ScriptedSegmenter
from studio.accounts.roles import Role
from studio.accounts.user_file import UserFile
from studio.web.access import Access

PEOPLE = {"lou": Role.LOOK, "wanda": Role.WORK, "will": Role.WORK, "ada": Role.ADMINISTER}
PASSWORD = "correct horse"


@contextmanager
def studio_with_people(workspace: Path, behind: Any = lambda app: app, **access: Any) -> Iterator[SimpleNamespace]:
    """Give {app, address, workspace, users} of a studio with the projects "one" and "two"."""
    for name in ("one", "two"):
        Project.create(workspace / name, FRAME, name).close()
    users = UserFile(workspace / ".users.json")
    for name, role in PEOPLE.items():
        users.add(name, role.title, PASSWORD)
    services = offline_services(segmenter=ScriptedSegmenter(()))
    with served(services, workspace, Access(users=users, **access), behind=behind) as studio:
        yield SimpleNamespace(app=studio.app, address=studio.address, workspace=workspace, users=users)


@asynccontextmanager
async def logged_in(studio: SimpleNamespace, user: str) -> AsyncIterator[httpx.AsyncClient]:
    async with page_client.connect(studio.address) as http:
        answer = await http.post("/login", data={"username": user, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        yield http


def open_view(studio: SimpleNamespace, xml: str) -> str:
    route = next(r for r in studio.app.routes if getattr(r, "path", "") == "/viewer/{token}/ws")
    views = next(c.cell_contents for c in route.endpoint.__closure__ if hasattr(c.cell_contents, "_open"))
    return views.open(mujoco.MjModel.from_xml_string(xml))


def view_socket(studio: SimpleNamespace, http: httpx.AsyncClient, view: str) -> connect:
    """Return the connection to a view's socket that the page of this client makes."""
    headers = {"cookie": "; ".join(f"{cookie.name}={cookie.value}" for cookie in http.cookies.jar)}
    address = f"{studio.address.replace('http', 'ws')}/viewer/{view}/ws"
    return connect(address, origin=studio.address, additional_headers=headers)


def content(folder: Path) -> dict[str, bytes]:
    """Return the bytes of every file below a folder, but for the confidences, which are measured in the background."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "confidence.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
