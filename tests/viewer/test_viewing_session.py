"""A session moves a model while somebody watches, does what is wished, and survives nonsense."""

import json
import struct
import threading
import time

import numpy as np
import pytest

from studio.viewing import Mark, Sessions, SimSession, Trajectory, ViewerError


class Watcher:
    """Somebody who looks at a session from the same process."""

    def __init__(self, session: SimSession):
        self.session, self.news, self.pictures = session, threading.Event(), 0
        self.leave = session.watch(self._hear)

    def _hear(self):
        self.pictures += 1
        self.news.set()

    def until(self, holds, seconds: float = 10):
        """Waits for news until `holds(status, picture)`."""
        deadline = time.monotonic() + seconds
        while not holds(self.status, self.picture):
            assert self.news.wait(max(0, deadline - time.monotonic())), f"never came: {self.status} {self.picture}"
            self.news.clear()
        return self.picture

    @property
    def status(self) -> dict:
        return json.loads(self.session.status)

    @property
    def picture(self) -> dict:
        blob = self.session.picture
        at, begin, end, bodies, contacts = struct.unpack_from("<dddII", blob)
        poses = np.frombuffer(blob, "<f4", bodies * 7, 32).reshape(-1, 7)
        rows = np.frombuffer(blob, "<f4", contacts * 6, 32 + bodies * 28).reshape(-1, 6)
        return {"time": at, "begin": begin, "end": end, "poses": poses, "contacts": rows}


@pytest.fixture
def watcher(twin):
    session = SimSession(twin, marks=[Mark(0.2, "cube is gone", "failed")])
    yield Watcher(session)
    session.close()


def test_play_moves_and_pause_holds(watcher):
    watcher.session.wish({"op": "play"})
    watcher.until(lambda s, p: s["playing"] and p["time"] > 0.1)
    watcher.session.wish({"op": "pause"})
    held = watcher.until(lambda s, p: not s["playing"])["time"]
    watcher.session.wish({"op": "contacts", "on": False})
    watcher.session.wish({"op": "step", "count": 3})
    assert watcher.until(lambda s, p: p["time"] > held)["time"] == pytest.approx(held + 0.006)


def test_seek_and_reset_go_where_they_say(watcher):
    watcher.session.wish({"op": "step", "count": 500})
    far = watcher.until(lambda s, p: p["time"] > 0.9)
    watcher.session.wish({"op": "seek", "time": 0.5})
    near = watcher.until(lambda s, p: p["time"] < 0.9)
    assert 0.48 < near["time"] <= 0.5 and near["end"] == far["time"]
    watcher.session.wish({"op": "seek", "time": 1})
    assert np.array_equal(watcher.until(lambda s, p: p["time"] > 0.9)["poses"], far["poses"])
    watcher.session.wish({"op": "reset"})
    assert watcher.until(lambda s, p: p["time"] == 0)["end"] == 0


def test_contacts_are_sent_only_when_wished_and_hold_the_weight_up(watcher, twin):
    watcher.session.wish({"op": "step", "count": 1000})
    assert len(watcher.until(lambda s, p: p["time"] > 1.9)["contacts"]) == 0
    watcher.session.wish({"op": "contacts", "on": True})
    rows = watcher.until(lambda s, p: len(p["contacts"]))["contacts"]
    weight = twin.body_mass[[twin.body(n).id for n in ("cube", "ball", "carton")]].sum() * 9.81
    assert rows[:, 5].sum() == pytest.approx(weight, rel=0.05)


def test_pushing_through_the_session_starts_the_physics(watcher, twin):
    push = {"op": "push", "body": twin.body("cube").id, "point": [0, 0, 0], "target": [-0.2, 0.1, 0.03]}
    watcher.session.wish(push)
    moved = watcher.until(lambda s, p: np.linalg.norm(p["poses"][0, :2] - [-0.1, 0]) > 0.05)
    assert moved["time"] > 0


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"op": "fly"}, "did not understand"),
        ({"nothing": 1}, "did not understand"),
        ({"op": "seek", "time": "soon"}, "did not understand"),
        ({"op": "seek", "time": float("nan")}, "did not understand"),
        ({"op": "push", "body": 1, "point": [0], "target": [0, 0, 0]}, "did not understand"),
        ({"op": "push", "body": 0, "point": [0, 0, 0], "target": [0, 0, 0]}, "stands fixed"),
        ({"op": "push", "body": 10**9, "point": [0, 0, 0], "target": [0, 0, 0]}, "stands fixed"),
    ],
)
def test_a_wish_that_makes_no_sense_ends_as_a_notice_and_the_session_goes_on(watcher, wish, said):
    watcher.session.wish(wish)
    assert watcher.until(lambda s, p: said in s["notice"]["text"])["time"] == 0
    watcher.session.wish({"op": "step"})
    assert watcher.until(lambda s, p: p["time"] > 0)["time"] > 0


def test_nothing_is_computed_when_nobody_watches(twin):
    session = SimSession(twin)
    watcher = Watcher(session)
    session.wish({"op": "play"})
    watcher.until(lambda s, p: p["time"] > 0.05)
    watcher.leave()
    time.sleep(0.1)
    held = session.time
    time.sleep(0.3)
    assert session.time == held and session.watchers == 0
    again = Watcher(session)
    again.until(lambda s, p: p["time"] > held)
    session.close()


def test_a_recording_plays_to_its_end_cannot_be_pushed_and_starts_over(twin):
    qpos = np.tile(twin.qpos0, (11, 1))
    qpos[:, 0] = np.linspace(0, 0.1, 11)
    session = SimSession(twin, trajectory=Trajectory(np.linspace(0, 0.2, 11), qpos))
    watcher = Watcher(session)
    session.wish({"op": "play"})
    end = watcher.until(lambda s, p: p["time"] == pytest.approx(0.2) and not s["playing"])
    assert end["poses"][0, 0] == pytest.approx(0.1)
    session.wish({"op": "push", "body": 1, "point": [0, 0, 0], "target": [0, 0, 0]})
    watcher.until(lambda s, p: "recording" in s["notice"]["text"])
    session.wish({"op": "play"})
    watcher.until(lambda s, p: p["time"] < 0.2)
    session.close()


def test_ten_bodies_need_less_than_forty_kilobytes_a_second(twin):
    for contacts in (False, True):
        session = SimSession(twin)
        session.wish({"op": "contacts", "on": contacts})
        watcher = Watcher(session)
        watcher.until(lambda s, p, wanted=contacts: s["contacts"] == wanted)
        assert (32 + 10 * 28 + 10 * 4 * 24 * contacts) * 30 < 40_000
        assert len(session.picture) == 32 + 28 * 4 + 24 * len(watcher.picture["contacts"])
        session.close()


def test_sessions_are_few_unguessable_and_go_when_idle(twin):
    sessions = Sessions(most=2, idle_seconds=1000)
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


def test_a_model_that_cannot_be_shown_says_why_in_one_line(tmp_path):
    (tmp_path / "scene.xml").write_text("<mujoco><worldbody><geom/></worldbody></mujoco>")
    for model in (tmp_path / "scene.xml", tmp_path / "gone.xml", "<mujoco><nonsense/></mujoco>"):
        with pytest.raises(ViewerError, match="cannot be shown: MuJoCo says") as caught:
            SimSession(model)
        assert "\n" not in str(caught.value)
