"""A view moves its model while it is watched, in the process and over HTTP, and survives invalid commands."""

import json
import struct
from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from offline_studio import wait_until
from starlette.websockets import WebSocketDisconnect

from studio.viewer import Photograph, ViewerError, ViewRegistry, ViewSession, mount
from studio.web import static_files
from studio.web.access import Access
from studio.web.gate import Gate


class Watcher:
    """Watches a view from the same process."""

    def __init__(self, session: ViewSession):
        self.session, self.leave = session, session.watch(lambda: None)

    def until(self, holds):
        """Wait until `holds(status, snapshot)`; return the snapshot."""
        wait_until(lambda: holds(self.status, self.snapshot), "such a status and snapshot")
        return self.snapshot

    @property
    def status(self) -> dict:
        return json.loads(self.session.status)

    @property
    def snapshot(self) -> dict:
        blob = self.session.snapshot
        at, begin, end, bodies, contacts = struct.unpack_from("<dddII", blob)
        assert len(blob) == 32 + 28 * bodies + 24 * contacts, "ten bodies need less than 40 kB a second"
        poses = np.frombuffer(blob, "<f4", bodies * 7, 32).reshape(-1, 7)
        rows = np.frombuffer(blob, "<f4", contacts * 6, 32 + bodies * 28).reshape(-1, 6)
        return {"time": at, "begin": begin, "end": end, "poses": poses, "contacts": rows}


@pytest.fixture
def watcher(twin):
    session = ViewSession(twin)
    yield Watcher(session)
    session.close()


def test_contacts_are_sent_on_command_and_carry_the_weight(watcher, twin):
    watcher.session.enqueue({"op": "step", "count": 1000})
    assert len(watcher.until(lambda s, p: p["time"] > 1.9)["contacts"]) == 0
    watcher.session.enqueue({"op": "contacts", "on": True})
    rows = watcher.until(lambda s, p: len(p["contacts"]))["contacts"]
    weight = twin.body_mass[[twin.body(n).id for n in ("cube", "ball", "carton")]].sum() * 9.81
    assert rows[:, 5].sum() == pytest.approx(weight, rel=0.05)


NUMBERS = st.one_of(st.floats(), st.integers(), st.sampled_from([10**400, -(2**63), 1e308, None, "1", True, [], {}]))
POINTS = st.lists(NUMBERS, max_size=4)
FIELDS = {
    "step": {"count": NUMBERS}, "speed": {"value": NUMBERS}, "seek": {"time": NUMBERS},
    "joint": {"number": NUMBERS, "value": NUMBERS},
    "push": {"body": st.just(1) | NUMBERS, "point": POINTS, "target": POINTS},
}  # fmt: skip
COMMANDS = st.one_of(st.fixed_dictionaries({"op": st.just(op), **fields}) for op, fields in FIELDS.items())


@given(st.lists(COMMANDS, max_size=5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_number_in_a_command_ends_the_view_or_reaches_the_physics(watcher, commands):
    session = watcher.session
    for command in commands:
        with suppress(ViewerError):
            session.enqueue(json.dumps(command))
        with suppress(ViewerError):
            session.enqueue(command)
    session.enqueue({"op": "reset"})
    session.enqueue({"op": "contacts", "on": (on := not json.loads(session.status)["contacts"])})
    wait_until(lambda: json.loads(session.status)["contacts"] is on, "the view's answer")
    assert np.isfinite(np.frombuffer(session.snapshot, "<f8", 3)).all()


def test_nothing_is_computed_without_a_viewer_and_views_are_few_unguessable_and_closed_when_idle(twin):
    session = ViewSession(twin)
    watcher = Watcher(session)
    session.enqueue({"op": "play"})
    watcher.until(lambda s, p: p["time"] > 0.05)
    watcher.leave()
    times = []
    for on in (True, False, True):  # the view's thread executes commands though nobody watches
        session.enqueue({"op": "contacts", "on": on})
        wait_until(lambda on=on: json.loads(session.status)["contacts"] is on, "the command's effect")
        times.append(session.time)
    assert len(set(times)) == 1 and session.watchers == 0
    held = times[0]
    returned = Watcher(session)
    returned.until(lambda s, p: p["time"] > held)
    session.close()
    sessions = ViewRegistry(capacity=2, idle_seconds=1000)
    tokens = [sessions.open(twin) for _ in range(2)]
    Watcher(sessions.get(tokens[0]))
    tokens.append(sessions.open(twin))
    assert len(sessions) == 2 and len(set(tokens)) == 3 and min(map(len, tokens)) >= 32
    with pytest.raises(ViewerError, match="no longer open"):
        sessions.get(tokens[1])  # the one nobody watched
    assert sessions.get(tokens[0]).watchers == 1
    sessions.get(tokens[2]).last_used -= 2000
    with pytest.raises(ViewerError, match="Open it again"):
        sessions.get(tokens[2])
    sessions.close()
    assert len(sessions) == 0


def test_an_invalid_model_is_one_line(tmp_path):
    (tmp_path / "scene.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    for model in (tmp_path / "scene.xml", tmp_path / "gone.xml", "<mujoco><nonsense/></mujoco>"):
        with pytest.raises(ViewerError, match=r"cannot be shown\. MuJoCo:") as caught:
            ViewSession(model)
        assert "\n" not in str(caught.value)


SAME_ORIGIN = {"origin": "http://127.0.0.1", "host": "127.0.0.1"}


@pytest.fixture
def sessions():
    sessions = ViewRegistry()
    yield sessions
    sessions.close()


@pytest.fixture
def browser(sessions) -> TestClient:
    app = FastAPI()
    static_files.mount(app)
    mount(app, sessions)
    app.add_middleware(Gate, access=Access(), find_user=lambda _: None)
    with TestClient(app, "http://127.0.0.1") as browser:
        yield browser


def test_the_page_its_parts_and_a_view_are_served_and_a_closed_one_is_one_line(sessions, browser, twin):
    token = sessions.open(twin, photo=Photograph(np.full((4, 6, 3), 200, np.uint8)))
    page = browser.get("/viewer/")
    assert "default-src 'none'" in page.headers["content-security-policy"] and "importmap" in page.text
    assert "javascript" in browser.get("/static/vendor/three/build/three.module.js").headers["content-type"]
    (length,) = struct.unpack_from("<I", blob := browser.get(f"/viewer/{token}/geometry").content)
    assert json.loads(blob[4 : 4 + length])["picture"] is True
    assert browser.get(f"/viewer/{token}/photo.png").content.startswith(b"\x89PNG")
    answer = browser.get("/viewer/guessed/geometry")
    assert answer.status_code == 404 and "no longer open" in answer.text
    assert browser.get(f"/viewer/{sessions.open(twin)}/photo.png").text == "This view has no photograph."
    with pytest.raises(WebSocketDisconnect), browser.websocket_connect("/viewer/guessed/ws", headers=SAME_ORIGIN):
        pass


MISREAD = "did not understand"
INFINITE_PUSH = '{"op": "push", "body": Infinity, "point": [0, 0, 0], "target": [0, 0, 0]}'


FIXED_PUSH = '{"op": "push", "body": 0, "point": [0, 0, 0], "target": [0, 0, 0]}'


@pytest.mark.parametrize(("bad", "said"), [
    ("not json", MISREAD), ('\n\x00{"op": "step"}', MISREAD), ('{"op": "step", "count": Infinity}', MISREAD),
    (INFINITE_PUSH, MISREAD), ("x" * 5000, MISREAD), (FIXED_PUSH, "is fixed"),
])  # fmt: skip
def test_a_bad_command_is_answered_to_its_sender_and_the_others_go_on(sessions, browser, twin, bad, said):
    watch = partial(browser.websocket_connect, f"/viewer/{(token := sessions.open(twin))}/ws", headers=SAME_ORIGIN)
    with watch() as sender, watch() as other:
        sender.send_text(bad)
        while (answer := sender.receive()).get("bytes") or '"error"' not in answer["text"]:
            pass
        assert said in answer["text"] and len(answer["text"]) < 400 and "\\u0000" not in answer["text"]
        sender.send_json({"op": "step", "count": 10})
        while not (message := other.receive()).get("bytes") or struct.unpack_from("<d", message["bytes"])[0] == 0:
            assert said not in message.get("text", "")
        assert sessions.get(token).watchers == 2
    assert sessions.get(token).watchers == 0, "closing the page ends the streaming"
