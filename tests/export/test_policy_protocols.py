"""Policies are served and asked by openpi, GR00T, LeRobot, vla-eval and HTTP; what answers wrongly ends in one line."""

import json
import pickle
import re
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import twins
import websockets.sync.server
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("gymnasium", reason='pip install "grs-studio[gymnasium]"')
pytest.importorskip("msgpack", reason='pip install "grs-studio[policies]"')
pytest.importorskip("zmq", reason='pip install "grs-studio[policies]"')
pytest.importorskip("grpc", reason='pip install "grs-studio[policies]"')

import groot_codec

from pipeline.closed_loop import interface_policy
from pipeline.closed_loop.episodes import opened, run_policy
from pipeline.closed_loop.interface_policy import Client, InterfacePolicy
from pipeline.closed_loop.interfaces import InterfaceError, Translation, built_in, read_interface
from pipeline.closed_loop.interfaces.interface import Entry, Interface
from pipeline.closed_loop.interfaces.translation import picture_for
from pipeline.closed_loop.policies import open_policy
from pipeline.closed_loop.policy import PolicyError
from pipeline.closed_loop.protocols import lerobot_data as lerobot
from pipeline.closed_loop.protocols.clients import open_server
from pipeline.closed_loop.protocols.groot import answer
from pipeline.closed_loop.protocols.http import HttpPolicy
from pipeline.closed_loop.protocols.messages import MessageError, pack, unpack
from pipeline.closed_loop.protocols.plain_pickle import Call, PickleError, dumps, loads
from pipeline.closed_loop.serving import ServedPolicy, recorded_motion
from studio.__main__ import main

SOAK = Path(twins.ROOT) / "build" / "soak"
LAYOUT = twins.SEEDS[0]
STATE = {"key": ["states"], "values": [{"read": "joints", "count": 4}, {"read": "gripper"}]}
PROMPT = {"key": ["prompt"], "text": "instruction"}
PHOTO = {"key": ["observation/image"], "camera": "photo", "size": [64, 64], "drawn": [64, 48]}
GRIP = {"move": "gripper", "threshold": 0.5}
VELOCITY = [{"move": "joint_velocity", "count": 4, "scale": 3.0}, GRIP]
MOVES = {
    "openpi": VELOCITY,
    "vla-eval": [{"move": "tool_translation", "scale": 0.2}, {"move": "tool_rotation", "scale": 0.5}, GRIP],
    "groot": [{"move": "joint_position"}, {"move": "gripper", "open": 1.0, "closed": -1.0, "threshold": 0.0}],
    "lerobot": [{"move": "actuators"}],
}
"""Each protocol is tried with actions of another kind."""


def interface(columns: list, *observation: dict, axes: int = 0, key: str = "actions") -> Interface:
    """Return an interface of a robot without pictures, unless they are named."""
    seen = [row | {"axes": axes} for row in (STATE, PROMPT, *observation)]
    action = [{"key": [key], "columns": columns, "axes": min(axes, 1)}]
    return Interface.model_validate_json(
        json.dumps({"rate_hz": 15, "replan_after": 8, "observation": seen, "action": action, "name": "test"})
    )


@contextmanager
def served(folder: Path, protocol: str, chosen: Interface, play: Any = recorded_motion) -> Iterator[int]:
    """Yield the port at which something is served."""
    server = open_server(protocol, lambda: ServedPolicy(folder, chosen, play), "127.0.0.1", 0)
    thread = server.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join()


def toml(path: Path, chosen: Interface) -> Path:
    """Write an interface as a person writes one."""
    data = chosen.model_dump(mode="json", exclude={"name"}, exclude_none=True)
    top = [f"{key} = {json.dumps(value)}" for key, value in data.items() if key not in ("observation", "action")]
    tables = [
        f"[[{name}]]\n" + "\n".join(f"{key} = {_toml(value)}" for key, value in row.items())
        for name in ("observation", "action")
        for row in data[name]
    ]
    path.write_text("\n".join([*top, *tables]))
    return path


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else json.dumps(value)


@pytest.mark.parametrize("protocol", [*MOVES, "http"])
def test_a_demonstration_that_is_served_solves_what_it_solves_here(environment, tmp_path, protocol):
    lerobots = protocol == "lerobot"
    chosen = interface(MOVES.get(protocol, VELOCITY), axes=2 * (protocol == "groot"), key="action" * lerobots or "act")
    if lerobots:
        state = {"key": ["observation.state"], "values": [{"read": "actuators"}]}
        chosen = chosen.model_copy(update={"observation": (Entry(**state), Entry(**PROMPT | {"key": ["task"]}))})
    file = toml(tmp_path / "mine.toml", chosen)
    with served(environment, protocol, chosen) as port, opened(environment, False) as env:
        ending = "/act" if protocol == "http" else f"?interface={file}"
        done = run_policy(env, open_policy(f"{protocol}://127.0.0.1:{port}{ending}", env), LAYOUT, 12.0)
    assert done.success, done.reason
    assert done.answers and done.answers["count"] > 5 and read_interface(str(file)).action == chosen.action


@pytest.mark.parametrize("columns", [*MOVES.values(), VELOCITY])
def test_the_states_that_a_served_answer_means_are_those_that_were_served(environment, columns):
    with opened(environment, False) as env:
        env.reset(options={"layout": LAYOUT})
        there = Translation(interface(columns), env)
        motion, begin = recorded_motion(env, LAYOUT), there.robot.commanded()
        states = there.robot.units.action(motion.at(np.arange(1, 80) / 15, env.world.suction))
        state, reached = begin, []
        for row in there.rows(there.encoded(states, begin)[0]):
            state = there.target(row, state)
            reached.append(state)
    assert np.abs(np.array(reached) - states)[:, :4].max() < 2e-3, "metres and radians"
    assert np.array_equal(np.array(reached)[:, 4], states[:, 4])


@pytest.mark.parametrize("columns", [*MOVES.values(), VELOCITY])
def test_a_served_function_that_does_nothing_leaves_the_clients_robot_where_it_is(environment, columns):
    with opened(environment, False) as env:
        still = ServedPolicy(environment, interface(columns), open_policy("hold", env))
        still.begin(None, "")
        joints = np.array([0.02, -0.03, -0.04, 0.3])
        answer = still.answer({"states": np.append(joints, 0.0), "prompt": "Stack."})
        there = Translation(interface(columns), env)
        state = np.append(joints, 0.0)
        for row in there.rows(answer):
            state = there.target(row, state)
    assert state == pytest.approx(np.append(joints, 0.0), abs=1e-6)
    still.close()


class Slow(Client):
    """A server that takes so many seconds for an answer, on a clock that only it moves."""

    def __init__(self, seconds: float, monkeypatch: pytest.MonkeyPatch):
        self._now, self._seconds, self.asked = 0.0, seconds, []
        clock = SimpleNamespace(monotonic=lambda: self._now)
        monkeypatch.setattr(interface_policy, "time", clock)

    def begin(self, layout: int, instruction: str) -> None:
        self.asked.clear()

    def ask(self, message: dict[str, Any], step: int) -> Any:
        self._now += self._seconds
        self.asked.append(step)
        return {"actions": np.zeros((16, 5))}

    def close(self) -> None:
        pass


@pytest.mark.parametrize(("took", "real", "replan", "late", "steps"), [
    (0.05, False, 0, False, [0, 8, 16, 24]), (0.5, False, 0, True, [0, 8, 16, 24]), (0.5, True, 0, True, [0, 8]),
    (0.05, False, 16, False, [0, 16]),
])  # fmt: skip
def test_in_real_time_the_robot_waits_for_a_slow_server_and_late_answers_are_counted(
    environment, monkeypatch, took, real, replan, late, steps
):
    with opened(environment, False) as env:
        client = Slow(took, monkeypatch)
        slow = InterfacePolicy(env, client, interface(VELOCITY), replan, real)
        done = run_policy(env, slow, LAYOUT, 2.0 if not real else 1.5)
    assert client.asked == steps and done.answers == {
        "count": len(steps), "late": len(steps) * late, "milliseconds": 1000 * took
    }  # fmt: skip


# ---------------------------------------------------------------------- what a robot lacks, and files of interfaces


@pytest.mark.parametrize(("name", "words"), [
    ("droid", "expects the camera external; the twin's robot has the cameras photo"),
    ("aloha", "expects the camera cam_high"),
])  # fmt: skip
def test_an_interface_that_the_robot_does_not_have_is_refused_with_what_it_has(
    environment, name, words, tmp_path, capsys
):
    policy = f"openpi://127.0.0.1:9?interface={name}"
    assert main(["evaluate-policy", str(environment), "--policy", policy, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert words in error and error.count("\n") == 1
    with (
        opened(environment, False) as env,
        pytest.raises(InterfaceError, match=r"expects 7 joints; .* has 4 .*x, y, z"),
    ):
        Translation(interface([{"move": "joint_velocity", "count": 7}]), env)


def test_a_file_of_an_interface_says_what_is_wrong_with_it(tmp_path):
    assert built_in() == ("aloha", "droid", "groot", "lerobot", "libero", "vla_eval")
    file, good = tmp_path / "mine.toml", (twins.ROOT / "pipeline/closed_loop/interfaces/droid.toml").read_text()
    for text, words in (
        ("rate_hz = [", "cannot be read"),
        (good.replace("rate_hz = 15", "rate_hz = 0"), "rate_hz: "),
        (good.replace('"gripper", count = 1 }', '"hand" }', 1), "observation.3.values.0.read: "),
        (good.replace('text = "instruction"', ""), "needs one of camera, text and values"),
        (good + "speed = 3", "action.0.speed: "),
        ("a = " + "[" * 5000 + "]" * 5000, "cannot be read"),
    ):
        file.write_text(text)
        with pytest.raises(InterfaceError, match=words) as caught:
            read_interface(str(file))
        assert "\n" not in str(caught.value)
    with pytest.raises(InterfaceError, match="there is no interface 'moon'; there are: aloha"):
        read_interface("moon")


def test_a_picture_keeps_its_aspect_on_black_and_comes_back_as_it_was():
    picture = np.full((48, 64, 3), 200, np.uint8)
    picture[:, :32] = 10
    entry = Entry(**PHOTO | {"mirrored": True, "channels_first": True})
    found = picture_for(entry, picture)
    assert found.shape == (3, 64, 64) and not found[:, :8].any() and not found[:, 56:].any()
    assert (found[:, 30, 5], found[:, 30, 60]) == (pytest.approx(200), pytest.approx(10))


# ---------------------------------------------------------------------- messages

KEYS = st.text(max_size=5).filter(lambda key: not key.startswith("__"))
ARRAYS = st.one_of(arrays(kind, st.tuples(st.integers(0, 3), st.integers(1, 4)), elements=st.integers(0, 1))
                   for kind in ("<f4", "<f8", "u1", "<i8", "?"))  # fmt: skip
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.floats(allow_nan=False), st.text(), ARRAYS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)), max_leaves=8,
)  # fmt: skip


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return (
        one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
        if isinstance(one, dict)
        else one == other
    )


@given(VALUES, st.sampled_from(["openpi", "groot", "vla-eval"]))
def test_a_message_comes_back_as_it_was_sent(value, style):
    assert same(unpack(pack(value, style), style), value)
    if style == "groot":
        assert pack(value, style) == groot_codec.to_bytes(value), "byte for byte"


ARRAY = {"__ndarray__": True, "data": b"\0" * 8, "dtype": "<f8", "shape": [1]}


@pytest.mark.parametrize("data", [
    b"\xc1", "text", b"\x81" * 3000, pack(ARRAY | {"shape": [10**15]}, "vla-eval"), b"\x91" * 40 + b"\xc0",
    pack(ARRAY | {"dtype": "O"}, "vla-eval"),
    pack(ARRAY | {"shape": [-1]}, "vla-eval"), pack(ARRAY | {"dtype": "<f8," * 9}, "vla-eval"), b"\xdd\xff\xff\xff\xff",
    pack({"__image__": True, "format": "png", "data": b"GIF89a"}, "vla-eval"),
])  # fmt: skip
def test_bytes_that_are_no_message_are_refused_before_they_take_memory(data):
    with pytest.raises(MessageError):
        unpack(data, "vla-eval")


def test_an_array_whose_file_claims_more_than_it_has_is_refused():
    file = bytearray(groot_codec.encode(np.zeros(4))["as_npy"])
    claims = bytes(file).replace(b"(4,), }" + b" " * 12, b"(4000000000000,), }", 1)
    assert claims != bytes(file)
    for data in (bytes(file[:-1]), claims, bytes(file).replace(b"(4,)", b"(((("), b"\x93NUMPY\x01\0\xff\xff", b""):
        with pytest.raises(MessageError):
            unpack(pack({"__ndarray_class__": True, "as_npy": data}, "groot"), "groot")


# ---------------------------------------------------------------------- pickles

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)), max_leaves=10,
)  # fmt: skip


@given(PLAIN, st.integers(3, 5))
def test_plain_data_are_read_from_every_pickle_and_written_as_one(value, protocol):
    assert loads(pickle.dumps(value, protocol)) == value
    assert pickle.loads(dumps(value)) == value


class Evil:
    def __reduce__(self):
        return exec, ("raise SystemExit('it was run')",)


def test_a_pickle_is_never_run_and_what_is_not_data_is_named():
    assert loads(pickle.dumps([Evil()])) == [Call("builtins.exec", ("raise SystemExit('it was run')",))]
    for data, words in (
        (pickle.dumps([Evil()]), "a TimedAction is expected"),
        (b"\x80\x04]r\xff\xff\xff\xff.", "a list of 1 to 500"),  # a memo that CPython's reader makes room for
        (b"\x80\x04\x8d" + b"\xff" * 8, "broken"), (b"", "broken"), (b"(" * 100, "broken"), (b"\x80\x040.", "part POP"),
        (b"cos\nsystem\n(S'x'\ntR.", "part STRING"), (b"\x80\x04]" + b"2" * 10 + b"e.", "part DUP"),
    ):  # fmt: skip
        with pytest.raises(PickleError, match=words):
            lerobot.read_actions(data)


def test_actions_are_read_as_torch_pickles_them_and_ours_are_read_by_it(monkeypatch):
    torch = pytest.importorskip("torch")
    module = ModuleType(lerobot.HELPERS)
    for name in ("lerobot", "lerobot.async_inference"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, lerobot.HELPERS, module)
    for name in ("TimedAction", "TimedObservation", "RemotePolicyConfig"):
        setattr(module, name, type(name, (), {"__module__": lerobot.HELPERS}))

    def timed(action: Any) -> Any:
        one = module.TimedAction()  # type: ignore[attr-defined]
        one.action, one.timestep, one.timestamp = action, 0, 0.0
        return one

    chunk = torch.arange(12.0).reshape(4, 3)
    for rows in (chunk, chunk.double(), chunk.half(), chunk.T):
        assert np.array_equal(lerobot.read_actions(pickle.dumps([timed(row) for row in rows])), rows.double().numpy())
    for action, words in ((chunk.int()[0], "storage of floats"), (chunk, "one axis"), ([1.0], "tensor is expected")):
        with pytest.raises(PickleError, match=words):
            lerobot.read_actions(pickle.dumps([timed(action)]))
    (first, second) = pickle.loads(lerobot.written_actions(np.arange(6.0).reshape(2, 3), 1.0, 7, 15))
    assert second.action.tolist() == [3, 4, 5] and (first.timestep, second.timestep) == (7, 8)
    seen = {"a": np.float32(1.5), "photo": np.zeros((4, 5, 3), np.uint8), "task": "Stack."}
    features = {
        "observation.state": {"dtype": "float32", "names": ["a"]},
        "observation.images.photo": {"dtype": "image"},
    }
    for protocol in (4, 5):
        found = lerobot.message_of(loads(pickle.dumps(seen, protocol)), features)
        assert found["observation.state"].tolist() == [1.5] and found["task"] == "Stack."
        assert np.array_equal(found["observation.images.photo"], seen["photo"])
    raw, described = lerobot.robot_observation(
        {"observation.images.photo": seen["photo"], "observation.state": np.ones(2)}
    )
    back = pickle.loads(dumps(raw))
    assert np.array_equal(back["photo"], seen["photo"]) and described["observation.state"]["shape"] == (2,)


# ---------------------------------------------------------------------- what goes wrong


def answering(*frames: Any) -> Any:
    """Return a websocket handler that answers each message with the next of some frames, and then closes."""

    def handle(connection: Any) -> None:
        connection.send(frames[0])
        for frame in frames[1:]:
            connection.recv()
            connection.send(frame)
        for _ in connection:
            pass

    return handle


def actions(value: Any) -> bytes:
    return pack({"actions": value}, "openpi")


HELLO = pack({}, "openpi")
NAN = np.full((8, 5), np.nan, np.float32)


SHAPE = 'an array of shape (8, 7); expected is "actions" of shape (K, 5), K from 1 to 500'


@contextmanager
def wrong_server(folder: Path, *frames: Any) -> Iterator[str]:
    """Yield the SPEC of a server that sends some frames."""
    file = toml(folder / "mine.toml", interface(VELOCITY))
    handler = answering(*frames) if frames else (lambda connection: connection.close())
    with websockets.sync.server.serve(handler, "127.0.0.1", 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"openpi://127.0.0.1:{server.socket.getsockname()[1]}?interface={file}"


@pytest.mark.parametrize(("frames", "words"), [
    ((HELLO, actions(NAN)), "NaN or infinity"), ((HELLO, actions("left")), "no numbers"), ((), "closed the connection"),
    ((HELLO, pack({"action": 1}, "openpi")), "the policy answered action; expected"), ((HELLO,), "within 0.3 s"),
    ((HELLO, b"\xc1"), "sent no message of openpi: it is not msgpack"), ((pack([1], "openpi"),), "did not begin with"),
    ((HELLO, "Traceback:\n  File\n\x1b[2JKeyError: no hunter22\n"), "failed: KeyError: no ***"),
])  # fmt: skip
def test_an_answer_that_is_none_is_said_in_one_line(environment, tmp_path, monkeypatch, frames, words):
    monkeypatch.setattr("pipeline.closed_loop.protocols.websocket.ANSWER_SECONDS", 0.3)
    monkeypatch.setenv("GRS_POLICY_KEY", "hunter22")
    with (
        wrong_server(tmp_path, *frames) as spec, opened(environment, False) as env,
        pytest.raises(PolicyError, match=re.escape(words)) as caught,
    ):  # fmt: skip
        run_policy(env, open_policy(spec, env), LAYOUT, 0.5)
    assert not {"\n", "\x1b"} & set(str(caught.value))


def test_the_episodes_before_a_wrong_answer_are_kept(environment, tmp_path, capsys):
    with wrong_server(tmp_path, HELLO, actions(np.zeros((8, 7)))) as spec:
        options = ["--policy", "hold", "--policy", spec, "--seconds", "0.5", "--out", str(tmp_path / "out")]
        assert main(["evaluate-policy", str(environment), *options]) == 2
    assert SHAPE in capsys.readouterr().err.splitlines()[-1]
    kept = (tmp_path / "out" / "outcomes.jsonl").read_text().splitlines()
    assert [json.loads(line)["policy"] for line in kept] == ["hold"] * len(twins.SEEDS)


def test_a_server_of_another_protocol_or_none_is_named_with_what_its_address_begins_with(environment, monkeypatch):
    monkeypatch.setattr("pipeline.closed_loop.protocols.websocket.CONNECT_SECONDS", 1)

    def ask(spec: str) -> str:
        with opened(environment, False) as env, pytest.raises(PolicyError) as caught:
            run_policy(env, open_policy(spec, env), LAYOUT, 0.5)
        return str(caught.value)

    vla, robots = read_interface("vla_eval"), read_interface("lerobot")
    with (
        served(environment, "vla-eval", vla) as sockets, served(environment, "lerobot", robots) as rpc,
        served(environment, "groot", read_interface("groot")) as zeromq, served(environment, "http", robots) as web,
    ):  # fmt: skip
        for protocol, port, words in (
            ("groot", rpc, "a gRPC server (HTTP/2), and a ZeroMQ server is expected; begin it with lerobot://"),
            ("groot", 9, "cannot be reached; start"), ("openpi", 9, "cannot be reached; start"),
            ("lerobot", sockets, "a websocket server"), ("vla-eval", zeromq, "a ZeroMQ server"),
            ("openpi", web, "is the address of a server without TLS (http://)"),
        ):  # fmt: skip
            assert words in ask(f"{protocol}://127.0.0.1:{port}?interface={INTERFACES[protocol]}")
        assert "begin it with openpi:// or vla-eval://" in ask(f"http://127.0.0.1:{sockets}/act")


class Tls(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if self.request.recv(1 << 16):
            self.request.sendall(b"\x15\x03\x03\0\x02\x02\x46")


def test_a_server_with_tls_is_named(environment):
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tls) as server, opened(environment, False) as env:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        spec = f"http://127.0.0.1:{server.server_address[1]}/act"
        with pytest.raises(PolicyError, match=r"a server with TLS \(https://\); change the address"):
            run_policy(env, open_policy(spec, env), LAYOUT, 0.5)
        server.shutdown()


INTERFACES = {"openpi": "vla_eval", "groot": "groot", "lerobot": "lerobot", "vla-eval": "vla_eval"}


def test_groots_own_codec_asks_us_and_is_asked_with_its_token(environment, monkeypatch):
    wanted = np.linspace(-0.1, 0.1, 64, dtype=np.float32).reshape(1, 16, 4)
    seen: list[Any] = []

    def get_action(observation: Any, options: Any) -> list:
        seen.append(observation)
        return [{"joints": wanted, "gripper": np.zeros((1, 16, 1), np.float32)}, {}]

    chosen, endpoints = read_interface("groot"), {"reset": lambda options: {}, "get_action": get_action}
    monkeypatch.setenv("GRS_POLICY_KEY", "secret")
    with groot_codec.server(endpoints, "secret") as port, opened(environment, False) as env:
        run_policy(env, open_policy(f"groot://127.0.0.1:{port}", env), LAYOUT, 0.2)
        monkeypatch.setenv("GRS_POLICY_KEY", "")
        with pytest.raises(PolicyError, match="Unauthorized: Invalid API token"):
            run_policy(env, open_policy(f"groot://127.0.0.1:{port}", env), LAYOUT, 0.2)
    (first,) = seen
    assert first["video"]["photo"].shape == (1, 1, 240, 320, 3) and first["state"]["joints"].dtype == np.float32
    assert first["state"]["joints"].shape == (1, 1, 4)
    assert first["language"]["annotation.human.task_description"][0][0].startswith("Put the red cube")
    ours = ServedPolicy(environment, chosen, recorded_motion)
    ours.begin(None, "")

    def asked(**request: Any) -> Any:
        return groot_codec.from_bytes(pack(answer(ours, groot_codec.to_bytes(request), "key"), "groot"))

    action, info = asked(endpoint="get_action", data={"observation": first, "options": None}, api_token="key")
    assert action["joints"].shape == (1, 16, 4) and info == {}
    assert asked(endpoint="ping", api_token="key")["status"] == "ok"
    assert asked(endpoint="get_modality_config", api_token="key")["state"]["as_json"]["modality_keys"] == [
        "joints",
        "gripper",
    ]
    for request, words in (({"endpoint": "kill", "api_token": "key"}, "no endpoint 'kill'"), ({}, "Unauthorized")):
        assert words in asked(**request)["error"]
    assert "msgpack" in answer(ours, b"\xc1", "")["error"]
    ours.close()


def test_a_server_with_a_key_refuses_a_client_without(environment, monkeypatch):
    monkeypatch.setenv("GRS_POLICY_KEY", "hunter22")
    with served(environment, "openpi", read_interface("vla_eval")) as port, opened(environment, False) as env:
        spec = f"openpi://127.0.0.1:{port}?interface=vla_eval"
        run_policy(env, open_policy(spec, env), LAYOUT, 0.2)
        monkeypatch.setenv("GRS_POLICY_KEY", "")
        with pytest.raises(PolicyError, match="refuses the key of GRS_POLICY_KEY"):
            run_policy(env, open_policy(spec, env), LAYOUT, 0.2)


def test_what_cannot_be_served_or_is_no_address_is_said_in_one_line(environment, tmp_path, capsys, monkeypatch):
    serve = ["serve-policy", str(environment), "--protocol", "openpi", "--port", "0", "--policy"]
    ask = ["evaluate-policy", str(environment), "--out", str(tmp_path), "--policy"]
    for arguments, words in (
        ([*serve, "openpi://127.0.0.1:1"], "cannot be served; choose demonstration"),
        ([*serve, "hold", "--interface", "moon"], "there is no interface 'moon'"),
        ([*serve, "hold"], "the interface droid expects the camera external"),
        ([*serve, f"{tmp_path}/none.py:act", "--interface", "vla_eval"], "none.py does not exist"),
        ([*ask, "openpi://127.0.0.1"], "is no address; it is PROTOCOL://HOST:PORT"),
        ([*ask, "groot://a:1?speed=3"], "the option speed is not known; there are: interface"),
        ([*ask, "groot://a:1?time=fast"], "time=fast is neither simulated nor real"),
        ([*ask, "groot://a:1?replan=0x"], "replan=0x is no number"), ([*ask, "groot://a:x"], "is no address"),
    ):  # fmt: skip
        assert main(arguments) == 2
        error = capsys.readouterr().err
        assert words in error and error.count("\n") == 1
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "zmq" else SimpleNamespace())
    assert main([*ask, "groot://127.0.0.1:1"]) == 2
    assert 'groot needs the package zmq; install it by: pip install "grs-studio[policies]"' in capsys.readouterr().err


def test_the_command_serves_a_function_until_it_is_interrupted(environment, tmp_path):
    (tmp_path / "mine.py").write_text("def act(observation, instruction):\n    return [[0.1] * 5] * 3\n")
    command = ["serve-policy", str(environment), "--policy", f"{tmp_path}/mine.py:act", "--protocol", "http"]
    with subprocess.Popen(
        [sys.executable, "-m", "studio", *command, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout
        said = server.stdout.readline()
        asked = HttpPolicy(re.sub(r".* at (http://\S+), .*", r"\1", said.strip()) + "/act")
        asked.begin(LAYOUT, "Stack the cubes.")
        assert asked.act({"state": np.zeros(19), "objects": np.zeros((2, 7))}, 0.0) == [[0.1] * 5] * 3
        server.send_signal(signal.SIGINT)
    assert server.returncode == 0


# ---------------------------------------------------------------------- the real packages

REAL = {"openpi": "openpi", "vla-eval": "vla_eval", "lerobot": "lerobot"}
"""The environment of each protocol in build/soak."""


def real(protocol: str, script: str, *arguments: object) -> list[str]:
    python = SOAK / REAL[protocol] / "bin" / "python"
    return [str(python), "-I", str(Path(__file__).with_name(script)), protocol, *map(str, arguments)]


@contextmanager
def real_server(protocol: str, folder: Path, recorded: dict[str, np.ndarray], chosen: Interface) -> Iterator[int]:
    """Yield the port of a real package's server, or of GR00T's as its source has it, that plays recorded actions."""
    if protocol == "groot":
        at: dict[str, Any] = {}

        def reset(options: dict) -> dict:
            rows = recorded[str(options["layout"])]
            at.update(rows=iter(rows), last=rows[0], chunk=np.zeros((1, chosen.replan_after, 5), np.float32))
            return {}

        def get_action(observation: Any, options: Any) -> list:
            for number in range(chosen.replan_after):
                at["chunk"][0, number] = at["last"] = next(at["rows"], at["last"])
            chunk = at["chunk"]
            return [{"joints": chunk[..., :4], "gripper": chunk[..., 4:]}, {}]

        with groot_codec.server({"reset": reset, "get_action": get_action}) as port:
            yield port
        return
    np.savez(folder / "actions.npz", **recorded)
    command = real(protocol, "real_policy_server.py", folder / "actions.npz", chosen.replan_after)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout
        try:
            yield int(next(line for line in server.stdout if line.strip().isdecimal()))
        finally:
            server.terminate()


@pytest.mark.soak
@pytest.mark.parametrize("protocol", [*REAL, "groot"])
def test_a_demonstration_served_by_the_real_package_solves_all_that_it_solves_here(environment, tmp_path, protocol):
    chosen = interface(VELOCITY, PHOTO) if protocol == "openpi" else read_interface(INTERFACES[protocol])
    file, recorded = INTERFACES[protocol], {}
    if protocol == "openpi":
        file = toml(tmp_path / "mine.toml", chosen)
    with opened(environment, False) as env:
        layouts = env.layouts
        for layout in layouts:
            env.reset(options={"layout": layout})
            there, motion = Translation(chosen, env), recorded_motion(env, layout)
            times = np.arange(0, motion.times[-1] * chosen.rate_hz + 1) / chosen.rate_hz
            states = there.robot.units.action(motion.at(times, env.world.suction))
            recorded[str(layout)] = there.rows(there.encoded(states[1:], states[0])[0])
    with real_server(protocol, tmp_path, recorded, chosen) as port:
        spec, out = f"{protocol}://127.0.0.1:{port}?interface={file}", tmp_path / "out"
        assert main(["evaluate-policy", str(environment), "--policy", spec, "--out", str(out)]) == 0
    (found,) = json.loads((out / "evaluation.json").read_text())["policies"]
    assert [row["success"] for row in found["episodes"]] == [True] * len(layouts)
    each = [row["answers"]["milliseconds"] * row["answers"]["count"] for row in found["episodes"]]
    actions = sum(len(rows) for rows in recorded.values())
    print(f"{protocol}: {len(layouts)} layouts, {sum(each) / actions:.2f} ms an action")


@pytest.mark.soak
@pytest.mark.parametrize("protocol", REAL)
def test_the_real_client_of_each_protocol_gets_what_is_served(environment, tmp_path, protocol):
    chosen = read_interface(INTERFACES[protocol])
    with opened(environment, False) as env:
        env.reset(options={"layout": LAYOUT})
        there = Translation(chosen, env)
        motion = recorded_motion(env, LAYOUT)
        begin = 0 if protocol == "lerobot" else 8
        times = np.arange(begin, begin + 17) / chosen.rate_hz
        states = there.robot.units.action(motion.at(times, env.world.suction))
        wanted = there.rows(there.encoded(states[1:], states[0])[0])
    picture = np.random.default_rng(3).integers(0, 256, (240, 321, 3), np.uint8)
    message = {"picture": picture, "state": there.robot.now(), "text": "Stack."}
    np.savez(tmp_path / "message.npz", **message)
    with served(environment, protocol, chosen) as port:
        command = real(protocol, "real_policy_client.py", port, tmp_path / "message.npz")
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert np.abs(np.array(json.loads(done.stdout.splitlines()[-1])) - wanted).max() < 1e-5
    if protocol == "openpi":
        ours = picture_for(Entry(**PHOTO | {"size": (200, 224)}), picture)
        assert np.array_equal(np.load(tmp_path / "padded.npy"), ours), "pixel by pixel"
