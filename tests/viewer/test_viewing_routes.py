"""Who may see what over HTTP and WebSocket."""

import json
import struct

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from studio.viewing import Sessions, mount

HERE = {"origin": "http://testserver"}


@pytest.fixture
def sessions():
    sessions = Sessions()
    yield sessions
    sessions.close()


def client(sessions, **options) -> TestClient:
    app = FastAPI()
    mount(app, sessions, **options)
    return TestClient(app)


def test_the_page_its_parts_and_a_view_are_served(sessions, twin):
    token = sessions.open(twin, photo=np.full((4, 6, 3), 200, np.uint8))
    with client(sessions) as browser:
        page = browser.get("/viewer/")
        assert "default-src 'none'" in page.headers["content-security-policy"] and "importmap" in page.text
        assert browser.get("/static/viewer/main.js").status_code == 200
        assert "javascript" in browser.get("/static/vendor/three/build/three.module.js").headers["content-type"]
        (length,) = struct.unpack_from("<I", blob := browser.get(f"/viewer/{token}/geometry").content)
        assert json.loads(blob[4 : 4 + length])["picture"] is True
        assert browser.get(f"/viewer/{token}/photo.png").content.startswith(b"\x89PNG")


def test_a_view_is_watched_and_moved_over_one_socket(sessions, twin):
    token = sessions.open(twin)
    with client(sessions) as browser, browser.websocket_connect(f"/viewer/{token}/ws", headers=HERE) as socket:
        assert socket.receive_json()["type"] == "status"
        assert struct.unpack_from("<d", socket.receive_bytes()) == (0.0,)
        socket.send_text("not json")
        while not (heard := socket.receive()).get("text") or "did not understand" not in heard["text"]:
            pass
        socket.send_json({"op": "step", "count": 10})
        while not (heard := socket.receive()).get("bytes") or struct.unpack_from("<d", heard["bytes"])[0] == 0:
            pass
        assert sessions.get(token).watchers == 1
    assert sessions.get(token).watchers == 0, "closing the page ends the streaming"


@pytest.mark.parametrize("headers", [{}, {"origin": "http://elsewhere.example"}, {"origin": "null"}])
def test_a_socket_from_another_site_is_refused(sessions, twin, headers):
    token = sessions.open(twin)
    with (
        client(sessions) as browser,
        pytest.raises(WebSocketDisconnect),
        browser.websocket_connect(f"/viewer/{token}/ws", headers=headers),
    ):
        pass


def test_without_a_login_nothing_of_a_view_is_seen(sessions, twin):
    token = sessions.open(twin)
    with client(sessions, check_access=lambda connection: connection.cookies.get("pass") == "yes") as browser:
        for address in ("/viewer/", f"/viewer/{token}/geometry", f"/viewer/{token}/photo.png"):
            answer = browser.get(address)
            assert answer.status_code == 401 and "Log in" in answer.text
        with pytest.raises(WebSocketDisconnect), browser.websocket_connect(f"/viewer/{token}/ws", headers=HERE):
            pass
        browser.cookies.set("pass", "yes")
        assert browser.get(f"/viewer/{token}/geometry").status_code == 200
        with browser.websocket_connect(f"/viewer/{token}/ws", headers=HERE) as socket:
            assert socket.receive_json()["type"] == "status"


def test_a_view_that_is_gone_says_so(sessions, twin):
    with client(sessions) as browser:
        answer = browser.get("/viewer/guessed/geometry")
        assert answer.status_code == 404 and "no longer open" in answer.text
        assert browser.get(f"/viewer/{sessions.open(twin)}/photo.png").text == "This view has no photograph."
        with pytest.raises(WebSocketDisconnect), browser.websocket_connect("/viewer/guessed/ws", headers=HERE):
            pass
