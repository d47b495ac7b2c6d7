"""People who only look, and logins that end: over HTTP, with real projects."""

from types import SimpleNamespace

import mujoco
import pytest
from page_client import PageClient, open_page
from people import FRAME, PASSWORD, content, logged_in
from websockets.asyncio.client import connect as connect_socket
from websockets.exceptions import ConnectionClosed

from pipeline.errors import StudioError
from pipeline.project import Project
from studio.accounts.roles import Role, RoleError, current_role
from studio.board.board import Board
from studio.sessions.session_registry import SessionRegistry


def token_of(page: PageClient) -> str:
    return (page.values.get("mask-canvas") or {}).get("token", "")


async def test_a_looker_sees_a_project_and_leaves_every_byte_of_it(studio: SimpleNamespace):
    before = content(studio.workspace / "one")
    async with logged_in(studio, "lou") as http, open_page(http, "one") as page:
        assert page.values["top-bar"]["project"] == "one"
        assert (await http.get(f"/project/{token_of(page)}/colour.jpg")).status_code == 200
        for event in ("undo", "redo", "decide"):
            name = "mask-canvas" if event == "decide" else "top-bar"
            sent = await page.send(name, event, {"kind": "display_name", "id": 1, "name": "cup"})
            await page.wait(lambda sent=sent: sent in page.completed)
    assert content(studio.workspace / "one") == before


async def test_who_works_after_a_looker_has_the_project_prepared(studio: SimpleNamespace):
    async with logged_in(studio, "lou") as lou, logged_in(studio, "wanda") as wanda, open_page(lou, "two"):
        assert not (studio.workspace / "two" / "segments").exists()
        async with open_page(wanda, "two") as page:
            await page.wait(lambda: (studio.workspace / "two" / "segments" / "masks.png").exists())


def test_behind_the_page_nothing_is_changed_for_a_looker_either(studio: SimpleNamespace):
    app_sessions = SessionRegistry(studio.workspace, SimpleNamespace(segmenter=None))  # type: ignore[arg-type]
    current_role.set(Role.LOOK)
    session = app_sessions.open("one")
    changes = (
        lambda: session.decisions.record("accept", stage="segments"),
        session.decisions.undo,
        session.decisions.redo,
        lambda: session.solve("gripper"),
        lambda: session.pin(0),
        lambda: app_sessions.create(lambda folder: Project.create(folder, FRAME), "new"),
        lambda: Board(app_sessions).delete(["one"]),
        lambda: Board(app_sessions).judge(["one"], "accepted", ""),
        lambda: Board(app_sessions).duplicate(["one"]),
        lambda: Board(app_sessions).rename("one", "x"),
    )
    before = sorted(path.name for path in studio.workspace.iterdir())
    for change in changes:
        with pytest.raises(StudioError) as raised:
            change()
        assert isinstance(raised.value, RoleError) or "no program" in str(raised.value)
    assert sorted(path.name for path in studio.workspace.iterdir()) == before


@pytest.mark.parametrize("change", ["removed", "new password"])
async def test_a_login_ends_with_its_user_and_with_its_password(change: str, studio: SimpleNamespace):
    studio.users.add("temp", "look", PASSWORD)
    async with logged_in(studio, "temp") as http:
        assert (await http.get("/config")).status_code == 200
        if change == "removed":
            studio.users.remove("temp")
        else:
            studio.users.add("temp", "look", "another sentence", replace=True)
        assert (await http.get("/config")).status_code == 401
        if change == "removed":
            studio.users.add("temp", "look", PASSWORD)
            assert (await http.get("/config")).status_code == 401, "an old cookie is not of the new user"
    studio.users.remove("temp")


async def test_a_role_that_is_taken_away_holds_at_once_and_a_wrong_name_is_as_a_wrong_password(studio: SimpleNamespace):
    studio.users.add("temp", "work", PASSWORD)
    async with logged_in(studio, "temp") as http:
        assert (await http.post("/gradio_api/upload", files={"files": ("a.png", b"x")})).status_code == 200
        text = studio.users.path.read_text().replace('"role": "work"', '"role": "look"')
        kept = studio.users.path.read_text()
        studio.users.path.write_text(text)
        assert (await http.post("/gradio_api/upload", files={"files": ("a.png", b"x")})).status_code == 403
        studio.users.path.write_text(kept)
    studio.users.remove("temp")
    async with logged_in(studio, "ada") as http:
        answers = [
            await http.post("/login", data={"username": name, "password": "wrong password"})
            for name in ("ada", "eve", "link:1", "../ada")
        ]
        assert {(a.status_code, a.text) for a in answers} == {(400, answers[0].text)}


async def test_an_open_socket_ends_with_its_login(studio: SimpleNamespace):
    views = next(r for r in studio.app.routes if getattr(r, "path", "") == "/viewer/{token}/ws")
    registry = next(c.cell_contents for c in views.endpoint.__closure__ if hasattr(c.cell_contents, "_open"))
    token = registry.open(
        mujoco.MjModel.from_xml_string(
            "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
        )
    )
    studio.users.add("temp", "look", PASSWORD)
    async with logged_in(studio, "temp") as http:
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in http.cookies.jar)
        address = studio.address.replace("http", "ws")
        headers = {"cookie": cookies}
        async with connect_socket(
            f"{address}/viewer/{token}/ws", origin=studio.address, additional_headers=headers
        ) as socket:
            await socket.recv()
            await socket.send('{"op": "push", "body": 1, "point": [0, 0, 0], "target": [1, 0, 0]}')
            while "this needs the role" not in str(await socket.recv()):
                pass
            studio.users.remove("temp")
            await socket.send('{"op": "play"}')
            with pytest.raises(ConnectionClosed):
                while True:
                    await socket.recv()
