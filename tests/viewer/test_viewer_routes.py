"""Access to views over HTTP and WebSocket."""

import json
import struct

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from studio.server.access import Access
from studio.server.gate import Gate
from studio.viewer import Photograph, ViewRegistry, mount

SAME_ORIGIN = {"origin": "http://127.0.0.1", "host": "127.0.0.1"}


@pytest.fixture
def sessions():
    sessions = ViewRegistry()
    yield sessions
    sessions.close()


def client(sessions) -> TestClient:
    app = FastAPI()
    mount(app, sessions)
    app.add_middleware(Gate, access=Access(), find_user=lambda _: None)
    return TestClient(app, "http://127.0.0.1")


def test_the_page_its_parts_and_a_view_are_served(sessions, twin):
    token = sessions.open(twin, photo=Photograph(np.full((4, 6, 3), 200, np.uint8)))
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
    with client(sessions) as browser, browser.websocket_connect(f"/viewer/{token}/ws", headers=SAME_ORIGIN) as socket:
        assert socket.receive_json()["type"] == "status"
        assert struct.unpack_from("<d", socket.receive_bytes()) == (0.0,)
        socket.send_text("not json")
        while not (message := socket.receive()).get("text") or "did not understand" not in message["text"]:
            pass
        socket.send_json({"op": "step", "count": 10})
        while not (message := socket.receive()).get("bytes") or struct.unpack_from("<d", message["bytes"])[0] == 0:
            pass
        assert sessions.get(token).watchers == 1
    assert sessions.get(token).watchers == 0, "closing the page ends the streaming"


@pytest.mark.parametrize(
    "bad",
    [
        '{"op": "step", "count": Infinity}',
        '{"op": "push", "body": Infinity, "point": [0, 0, 0], "target": [0, 0, 0]}',
        "x" * 5000,
    ],
)
def test_a_bad_number_is_answered_to_its_sender_and_the_others_go_on(sessions, twin, bad):
    address = f"/viewer/{sessions.open(twin)}/ws"
    with (
        client(sessions) as browser,
        browser.websocket_connect(address, headers=SAME_ORIGIN) as sender,
        browser.websocket_connect(address, headers=SAME_ORIGIN) as other,
    ):
        sender.send_text(bad)
        while (answer := sender.receive()).get("bytes") or '"error"' not in answer["text"]:
            pass
        assert "did not understand" in answer["text"] and len(answer["text"]) < 400
        sender.send_json({"op": "step", "count": 10})
        while not (message := other.receive()).get("bytes") or struct.unpack_from("<d", message["bytes"])[0] == 0:
            assert "did not understand" not in message.get("text", "")


@pytest.mark.parametrize("headers", [{}, {"origin": "http://127.0.0.1:3000"}, {"origin": "null"}])
def test_a_socket_from_another_site_is_refused(sessions, twin, headers):
    token = sessions.open(twin)
    with (
        client(sessions) as browser,
        pytest.raises(WebSocketDisconnect),
        browser.websocket_connect(f"/viewer/{token}/ws", headers=headers),
    ):
        pass


def test_a_closed_view_is_one_line(sessions, twin):
    with client(sessions) as browser:
        answer = browser.get("/viewer/guessed/geometry")
        assert answer.status_code == 404 and "no longer open" in answer.text
        assert browser.get(f"/viewer/{sessions.open(twin)}/photo.png").text == "This view has no photograph."
        with pytest.raises(WebSocketDisconnect), browser.websocket_connect("/viewer/guessed/ws", headers=SAME_ORIGIN):
            pass
