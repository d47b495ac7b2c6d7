"""One workspace for each user: nobody finds, reads or watches what belongs to another."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from offline_studio import FRAME, offline_services
from page_client import connect, open_page
from served_studio import served
from websockets.exceptions import InvalidStatus

from pipeline.models import ModelError
from pipeline.project import Project
from pipeline.segmentation import ScriptedSegmenter
from studio.accounts.current_user import current_user
from studio.models.model_choice import ModelSelection
from studio.sessions.session_registry import SessionRegistry
from studio.web.access import Access
from tests.studio.accounts.people import open_view, view_socket

LOGINS = {"ada": "a", "bob": "b"}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    workspace = tmp_path_factory.mktemp("workspace")
    Project.create(workspace / "users" / "ada" / "hers", FRAME, "hers")
    Project.create(workspace / "common", FRAME, "common")
    services = offline_services(segmenter=ScriptedSegmenter(()))
    with served(services, workspace, Access(LOGINS, own_workspaces=True)) as studio:
        yield studio


async def test_nobody_lists_opens_reads_hears_or_watches_what_is_another_users(studio: SimpleNamespace):
    current_user.set("ada")
    view = open_view(studio, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    async with connect(studio.address) as ada, connect(studio.address) as bob:
        for http, user in ((ada, "ada"), (bob, "bob")):
            await http.post("/login", data={"username": user, "password": LOGINS[user]})
        async with open_page(ada) as page:
            assert [project["name"] for project in page.values["gallery"]["projects"]] == ["hers"]
        async with open_page(ada, "hers") as hers:
            token = hers.token
            assert token and (await ada.get(f"/project/{token}/colour.jpg")).status_code == 200
            for path in ("/thumbnail/project/hers", f"/viewer/{view}/geometry"):
                assert (await ada.get(path)).status_code == 200
            with pytest.raises(InvalidStatus):
                await view_socket(studio, bob, view)
            async with open_page(bob, "hers") as page:
                assert page.values["top-bar"]["project"] is None and not page.token
                assert page.values["gallery"]["projects"] == []
                assert "no longer open" in (await page.ask("mask-canvas", {"token": token, "kind": "status"}))["error"]
                for path in (f"/project/{token}/colour.jpg", "/thumbnail/project/hers", f"/viewer/{view}/geometry"):
                    assert (await bob.get(path)).status_code == 404
                await hers.set_widgets()  # by which the stream becomes hers
                stream = f"/gradio_api/queue/data?session_hash={hers.session_hash}"
                assert (await bob.get(stream)).status_code == 403


def test_a_project_is_made_in_the_users_own_folder_and_its_trace_replayed_by_no_other(tmp_path):
    registry = SessionRegistry(tmp_path, offline_services(segmenter=ScriptedSegmenter(())), own=True)
    Project.create(tmp_path / "users" / "ada" / "hers", FRAME, "hers")
    current_user.set("bob")
    assert registry.create(lambda folder: Project.create(folder, FRAME, "x"), "x").project.folder.parent.name == "bob"
    (tmp_path / "users" / "ada" / "hers" / "trace.jsonl").write_text("")
    with pytest.raises(ModelError, match="no such trace"):
        ModelSelection(registry, tmp_path).use({"service": "replay", "trace": "users/ada/hers/trace.jsonl"})
