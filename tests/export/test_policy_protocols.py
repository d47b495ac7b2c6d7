"""Policies are served and asked by openpi, GR00T, LeRobot, vla-eval and HTTP; what answers wrongly ends in one line."""

import json
import re
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import groot_codec
import numpy as np
import pytest
import tomlkit
import twins
import websockets.sync.server
from twins import SOAK

from pipeline.closed_loop import PolicyError, interface_policy, open_policy
from pipeline.closed_loop.episodes import opened, run_policy
from pipeline.closed_loop.interface_policy import Client, InterfacePolicy
from pipeline.closed_loop.interfaces import Translation, read_interface
from pipeline.closed_loop.interfaces.interface import Entry, Interface
from pipeline.closed_loop.interfaces.translation import picture_for
from pipeline.closed_loop.protocols.clients import open_server
from pipeline.closed_loop.protocols.groot import answer
from pipeline.closed_loop.protocols.http import HttpPolicy
from pipeline.closed_loop.protocols.messages import pack
from pipeline.closed_loop.protocols.zeromq import GREETING, READY
from pipeline.closed_loop.serving import ServedPolicy, recorded_motion
from studio.__main__ import main

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
INTERFACES = {"openpi": "vla_eval", "groot": "groot", "lerobot": "lerobot", "vla-eval": "vla_eval"}
"""The interface of each protocol that a twin's robot has."""


def interface(columns: list, *observation: dict, axes: int = 0, key: str = "actions") -> Interface:
    """Return an interface of a robot without pictures, unless they are named."""
    seen = [row | {"axes": axes} for row in (STATE, PROMPT, *observation)]
    action = [{"key": [key], "columns": columns, "axes": min(axes, 1)}]
    data = {"rate_hz": 15, "replan_after": 8, "observation": seen, "action": action, "name": "test"}
    return Interface.model_validate_json(json.dumps(data))


@contextmanager
def served(folder: Path, protocol: str, chosen: Interface, play: Any = recorded_motion) -> Iterator[int]:
    server = open_server(protocol, lambda: ServedPolicy(folder, chosen, play), "127.0.0.1", 0)
    thread = server.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join()


def toml(path: Path, chosen: Interface) -> Path:
    """Write an interface as a person writes one."""
    path.write_text(tomlkit.dumps(chosen.model_dump(mode="json", exclude={"name"}, exclude_none=True)))
    return path


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
def test_late_answers_are_counted_and_awaited_in_real_time(environment, monkeypatch, took, real, replan, late, steps):
    with opened(environment, False) as env:
        client = Slow(took, monkeypatch)
        slow = InterfacePolicy(env, client, interface(VELOCITY), replan, real)
        done = run_policy(env, slow, LAYOUT, 2.0 if not real else 1.5)
    assert client.asked == steps and done.answers == {
        "count": len(steps), "late": len(steps) * late, "milliseconds": 1000 * took
    }  # fmt: skip


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


class Tls(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if self.request.recv(1 << 16):
            self.request.sendall(b"\x15\x03\x03\0\x02\x02\x46")


class Unending(socketserver.BaseRequestHandler):
    """A ZeroMQ server whose answer has no last frame."""

    def handle(self) -> None:
        with suppress(OSError):
            self.request.sendall(GREETING + bytes([4, len(READY)]) + READY)
            while True:
                self.request.sendall(b"\x03" + (10**6).to_bytes(8, "big") + bytes(10**6))


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
    for handler, spec, words in (
        (Tls, "http://127.0.0.1:{}/act", "server with TLS (https://); change the address"),
        (Unending, "groot://127.0.0.1:{}?interface=groot", "answered more than 64 MB"),
    ):
        with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            assert words in ask(spec.format(server.server_address[1]))
            server.shutdown()


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
    config = asked(endpoint="get_modality_config", api_token="key")
    assert config["state"]["as_json"]["modality_keys"] == ["joints", "gripper"]
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


def test_what_cannot_be_served_or_is_no_address_is_said_in_one_line(environment, tmp_path, refused, monkeypatch):
    serve = ["serve-policy", environment, "--protocol", "openpi", "--port", "0", "--policy"]
    ask = ["evaluate-policy", environment, "--out", tmp_path, "--policy"]
    for arguments, words in (
        ([*serve, "openpi://127.0.0.1:1"], "cannot be served; choose demonstration"),
        ([*serve, "hold"], "the interface droid expects the camera external"),
        ([*serve, f"{tmp_path}/none.py:act", "--interface", "vla_eval"], "none.py does not exist"),
        ([*ask, "openpi://127.0.0.1:9?interface=aloha"], "expects the camera cam_high"),
        ([*ask, "openpi://127.0.0.1"], "is no address; it is PROTOCOL://HOST:PORT"),
        ([*ask, "groot://a:1?speed=3"], "the option speed is not known; there are: interface"),
        ([*ask, "groot://a:1?time=fast"], "time=fast is neither simulated nor real"),
        ([*ask, "groot://a:1?replan=0x"], "replan=0x is no number"), ([*ask, "groot://a:x"], "is no address"),
    ):  # fmt: skip
        assert words in refused(*arguments)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "zmq" else SimpleNamespace())
    line = refused(*ask, "groot://127.0.0.1:1")
    assert 'groot needs the package zmq; install it by: pip install "grs-studio[policies]"' in line


def test_the_command_serves_a_function_until_it_is_interrupted(environment, tmp_path):
    (tmp_path / "mine.py").write_text("def act(observation, instruction):\n    return [[0.1] * 5] * 3\n")
    command = [sys.executable, "-m", "studio", "serve-policy", str(environment), "--protocol", "http", "--port", "0"]
    command += ["--policy", f"{tmp_path}/mine.py:act"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        said = server.stdout.readline()
        asked = HttpPolicy(re.sub(r".* at (http://\S+), .*", r"\1", said.strip()) + "/act")
        asked.begin(LAYOUT, "Stack the cubes.")
        assert asked.act({"state": np.zeros(19), "objects": np.zeros((2, 7))}, 0.0) == [[0.1] * 5] * 3
        server.send_signal(signal.SIGINT)
    assert server.returncode == 0


REAL = {"openpi": "openpi", "vla-eval": "vla_eval", "lerobot": "lerobot"}
"""The environment of each protocol in build/soak."""


def real(protocol: str, script: str, *arguments: object) -> list[str]:
    python = SOAK / REAL[protocol] / "bin" / "python"
    return [str(python), "-I", str(Path(__file__).with_name(script)), protocol, *map(str, arguments)]


@contextmanager
def real_server(protocol: str, folder: Path, recorded: dict[str, np.ndarray], chosen: Interface) -> Iterator[int]:
    """Yield the port of a real package's server that plays recorded actions."""
    np.savez(folder / "actions.npz", **recorded)
    command = real(protocol, "real_policy_server.py", folder / "actions.npz", chosen.replan_after)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as server:
        assert server.stdout
        try:
            yield int(next(line for line in server.stdout if line.strip().isdecimal()))
        finally:
            server.terminate()


@pytest.mark.soak
@pytest.mark.parametrize("protocol", REAL)
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
        jobs = "1" if protocol == "openpi" else "2"  # its server knows a layout by the order of the connections
        assert main(["evaluate-policy", str(environment), "--policy", spec, "--out", str(out), "--jobs", jobs]) == 0
    (found,) = json.loads((out / "evaluation.json").read_text())["policies"]
    assert [row["success"] for row in found["episodes"]] == [True] * len(layouts)


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
