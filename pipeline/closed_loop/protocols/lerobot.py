"""LeRobot's asynchronous inference: gRPC, whose messages hold pickles. They are read and written as data.

Read from lerobot 0.4.4: async_inference/{policy_server,robot_client,helpers}.py and transport/services.proto. A client
calls Ready and SendPolicyInstructions once, then SendObservations and GetActions.
"""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import grpc

from pipeline.closed_loop.interface_policy import Client
from pipeline.closed_loop.policy import ANSWER_SECONDS, MAX_BYTES, PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.lerobot_data import (
    HELPERS,
    field,
    message_of,
    parts,
    read_actions,
    robot_observation,
    written,
    written_actions,
)
from pipeline.closed_loop.protocols.plain_pickle import Call, PickleError, dumps, loads
from pipeline.closed_loop.protocols.what_answers import GRPC, why_no_answer
from pipeline.closed_loop.serving import MakeServed, RunningServer, ServedPolicy, failure_text
from pipeline.errors import StudioError
from pipeline.store import parse_json

SERVICE = "transport.AsyncInference"
LOAD_SECONDS = 600.0
"""For a server to load a checkpoint."""
WAIT_SECONDS = 2.0
"""For an observation, before GetActions answers nothing, as LeRobot's server does."""
ACTIONS_PER_CHUNK = 50
BYTES = [("grpc.max_receive_message_length", MAX_BYTES), ("grpc.max_send_message_length", MAX_BYTES)]


class LerobotClient(Client):
    """Asks a policy server of LeRobot."""

    _instructed: ClassVar[dict[str, bytes]] = {}
    """The instructions that each address got from this process last: a server loads its policy once."""

    def __init__(self, address: Address):
        self._address = address
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._channel = grpc.insecure_channel(f"{host}:{address.port}", BYTES)
        self._task = ""

    def begin(self, layout: int, instruction: str) -> None:
        """Begin an episode. Raises PolicyError."""
        self._call("Ready", b"", 2 * ANSWER_SECONDS)
        self._task = instruction

    def prepare(self, message: dict[str, Any]) -> None:
        """Have the server load its policy, unless this process asked for the same last. Raises PolicyError."""
        _, features = robot_observation(message)
        setup = dumps(Call(f"{HELPERS}.RemotePolicyConfig", (), {
            "policy_type": self._policy_type(), "pretrained_name_or_path": self._address.checkpoint or "-",
            "lerobot_features": features, "actions_per_chunk": ACTIONS_PER_CHUNK,
            "device": self._address.device, "rename_map": {},
        }))  # fmt: skip
        if self._instructed.get(self._address.text) != setup:
            try:
                self._call("SendPolicyInstructions", written(1, setup), LOAD_SECONDS)
            except PolicyError as error:
                more = "" if self._address.checkpoint else "; add ?checkpoint=FOLDER, which that server has to load"
                raise PolicyError(f"{error}{more}") from None
            self._instructed[self._address.text] = setup

    def ask(self, message: dict[str, Any], step: int) -> Any:
        """Return the answer to an observation. Raises PolicyError."""
        raw, _ = robot_observation(message)
        observation = Call(f"{HELPERS}.TimedObservation", (), {
            "timestamp": time.time(), "timestep": step, "observation": raw | {"task": self._task}, "must_go": True,
        })  # fmt: skip
        self._call("SendObservations", dumps(observation), ANSWER_SECONDS, streams=True)
        data = field(self._call("GetActions", b"", ANSWER_SECONDS), 1)
        if not data:
            raise PolicyError(f"{self._address.text} answered no actions; the log of the policy server says why")
        try:
            return {"action": read_actions(data)}
        except PickleError as error:
            raise PolicyError(f"{self._address.text} sent no actions of LeRobot: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()

    def _policy_type(self) -> str:
        """Return the type of the policy, of the address or of its checkpoint."""
        config = Path(self._address.checkpoint) / "config.json"
        if self._address.type or not self._address.checkpoint:
            return self._address.type or "act"
        try:
            return str(parse_json(config.read_text(encoding="utf-8"))["type"])
        except (OSError, ValueError, KeyError, TypeError):
            raise PolicyError(f"{config} does not tell the policy's type; add &type=act, or another") from None

    def _call(self, name: str, data: bytes, seconds: float, streams: bool = False) -> bytes:
        """Return the bytes that a method of the service answers."""
        method, plain = f"/{SERVICE}/{name}", (lambda sent: sent)
        try:
            if streams:
                return self._channel.stream_unary(method, plain, plain)(parts(data), timeout=seconds)
            return self._channel.unary_unary(method, plain, plain)(data, timeout=seconds)
        except grpc.RpcError as error:
            self._instructed.pop(self._address.text, None)
            code = error.code()  # type: ignore[attr-defined]
            if code == grpc.StatusCode.DEADLINE_EXCEEDED:
                raise PolicyError(f"{self._address.text} did not answer within {seconds:g} s") from None
            if code == grpc.StatusCode.UNAVAILABLE:
                raise PolicyError(
                    f"{self._address.text} {why_no_answer(self._address.host, self._address.port, GRPC)}"
                ) from None
            raise self._address.failed(f"{name}: {error.details()}") from None  # type: ignore[attr-defined]


class _Session:
    """The one client of a server: its features, its last observation, and the answers to it."""

    def __init__(self, served: ServedPolicy):
        self._served, self._lock = served, threading.Condition()
        self._served.begin(None, "")
        self._features: dict[str, Any] = {}
        self._waiting: dict[str, Any] | None = None

    def ready(self, data: bytes, context: Any) -> bytes:
        with self._lock:
            self._served.begin(None, "")
            self._waiting = None
        return b""

    def instruct(self, data: bytes, context: Any) -> bytes:
        config = self._read(field(data, 1), "RemotePolicyConfig", context)
        self._features = config.get("lerobot_features") if isinstance(config.get("lerobot_features"), dict) else {}
        return b""

    def observe(self, messages: Iterator[bytes], context: Any) -> bytes:
        data = b""
        for one in messages:
            data += field(one, 2)
            if len(data) > MAX_BYTES:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"an observation has over {MAX_BYTES} bytes")
        with self._lock:
            self._waiting = self._read(data, "TimedObservation", context)
            self._lock.notify()
        return b""

    def act(self, data: bytes, context: Any) -> bytes:
        with self._lock:
            if not self._lock.wait_for(lambda: self._waiting is not None, timeout=WAIT_SECONDS):
                return b""
            assert self._waiting is not None
            seen, self._waiting = self._waiting, None
            try:
                step = int(seen.get("timestep", 0))
                message = message_of(seen.get("observation"), self._features)
                rate = self._served.interface.rate_hz
                answer = self._served.answer(message, step / rate)
            except (StudioError, PickleError, TypeError, ValueError) as error:
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, failure_text(error))
        return written(1, written_actions(next(iter(answer.values())), float(seen["timestamp"]), step, rate))

    def _read(self, data: bytes, name: str, context: Any) -> dict[str, Any]:
        try:
            found = loads(data)
            if (
                not isinstance(found, Call)
                or found.name.rpartition(".")[2] != name
                or not isinstance(found.state, dict)
            ):
                raise PickleError(f"a {name} is expected")
            return found.state
        except PickleError as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, failure_text(error))
            raise


def serve(make: MakeServed, host: str, port: int) -> RunningServer:
    """Return a server that answers as LeRobot's policy server does, one client at a time."""
    session, plain = _Session(make()), (lambda data: data)
    unary = {"Ready": session.ready, "SendPolicyInstructions": session.instruct, "GetActions": session.act}
    handlers = {name: grpc.unary_unary_rpc_method_handler(call, plain, plain) for name, call in unary.items()}
    handlers["SendObservations"] = grpc.stream_unary_rpc_method_handler(session.observe, plain, plain)
    server = grpc.server(ThreadPoolExecutor(4), options=BYTES)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    number = server.add_insecure_port(f"{host}:{port}")
    server.start()
    return RunningServer(number, server.wait_for_termination, lambda: server.stop(grace=0))
