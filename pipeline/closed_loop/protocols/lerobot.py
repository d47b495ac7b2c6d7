"""LeRobot's asynchronous inference: gRPC, whose messages hold pickles. They are read and written as data.

Read from lerobot 0.4.4: async_inference/{policy_server,robot_client,helpers}.py and transport/services.proto. A client
calls Ready and SendPolicyInstructions once, then SendObservations and GetActions.
"""

import io
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import grpc
import numpy as np

from pipeline.closed_loop.interface_policy import Client
from pipeline.closed_loop.policy import ANSWER_SECONDS, PolicyError
from pipeline.closed_loop.protocols.address import Address
from pipeline.closed_loop.protocols.messages import MAX_BYTES
from pipeline.closed_loop.protocols.plain_pickle import Call, PickleError, dumps, load, loads
from pipeline.closed_loop.protocols.what_answers import GRPC, why_no_answer
from pipeline.closed_loop.serving import MakeServed, RunningServer, ServedPolicy, failure_text
from pipeline.errors import StudioError
from pipeline.store import parse_json

SERVICE = "transport.AsyncInference"
HELPERS = "lerobot.async_inference.helpers"
LOAD_SECONDS = 600.0
"""For a server to load a checkpoint."""
PART_BYTES = 2_000_000
"""Of an observation, in one message."""
BEGIN, MIDDLE, END = 1, 2, 3
"""States of a transfer."""
ACTIONS_PER_CHUNK = 50
BYTES = [("grpc.max_receive_message_length", MAX_BYTES), ("grpc.max_send_message_length", MAX_BYTES)]
STORAGES = {"torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8", "torch.HalfStorage": "<f2"}
MAX_CHUNK = 500


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
            "lerobot_features": features, "actions_per_chunk": ACTIONS_PER_CHUNK, "device": "cpu", "rename_map": {},
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


def robot_observation(message: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an observation as LeRobot's robots give it, and the features that describe it."""
    raw: dict[str, Any] = {}
    features: dict[str, Any] = {}
    for key, value in message.items():
        if not isinstance(value, np.ndarray):
            continue
        if value.ndim == 3:
            raw[key.removeprefix("observation.images.")] = Call(
                "numpy.ndarray", (tuple(value.shape), value.dtype.str, value.tobytes())
            )
            features[key] = {
                "dtype": "image", "shape": tuple(value.shape), "names": ["height", "width", "channels"]
            }  # fmt: skip
        else:
            names = [f"{key}_{number}" for number in range(value.size)]
            raw |= dict(zip(names, map(float, value.ravel()), strict=True))
            features[key] = {"dtype": "float32", "shape": (value.size,), "names": names}
    return raw, features


# ---------------------------------------------------------------------- messages of protobuf


def parts(data: bytes) -> Iterator[bytes]:
    """Yield the messages in which bytes are sent: {transfer_state = 1, data = 2}."""
    for begin in range(0, len(data), PART_BYTES):
        part = data[begin : begin + PART_BYTES]
        state = END if begin + PART_BYTES >= len(data) else BEGIN if begin == 0 else MIDDLE
        yield bytes([8, state]) + written(2, part)


def written(number: int, data: bytes) -> bytes:
    """Return a message of protobuf with one field of bytes."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def field(message: bytes, number: int) -> bytes:
    """Return a field of bytes of a message; empty if it has none. Raises PickleError for a broken message."""
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        length, at = _read_varint(message, at)
        if tag & 7 == 2:
            if tag >> 3 == number:
                return message[at : at + length]
            at += length
        elif tag & 7 != 0:
            raise PickleError("it is a broken message")
    return b""


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift < 64:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at
    raise PickleError("it is a broken message")


# ---------------------------------------------------------------------- pickles


def read_actions(data: bytes) -> np.ndarray:
    """Return the actions (K, A) of a pickled list of TimedAction. Raises PickleError."""
    found = loads(data)
    if not isinstance(found, list) or not 1 <= len(found) <= MAX_CHUNK:
        raise PickleError(f"a list of 1 to {MAX_CHUNK} TimedAction is expected")
    rows = []
    for one in found:
        if not isinstance(one, Call) or one.name != f"{HELPERS}.TimedAction" or not isinstance(one.state, dict):
            raise PickleError("a TimedAction is expected")
        rows.append(read_tensor(one.state.get("action")))
    if len({row.shape for row in rows}) != 1 or rows[0].ndim != 1:
        raise PickleError("the actions are no vectors of one length")
    return np.array(rows, float)


def read_tensor(value: Any) -> np.ndarray:
    """Return a pickled tensor of floats on the CPU, or a list that a tensor is made from. Raises PickleError."""
    if isinstance(value, Call) and value.name == "torch.tensor" and len(value.args) == 1:
        return np.array(value.args[0], float)
    if not isinstance(value, Call) or value.name != "torch._utils._rebuild_tensor_v2" or len(value.args) < 4:
        name = value.name if isinstance(value, Call) else type(value).__name__
        raise PickleError(f"an action is a {name[:60]}, and a tensor is expected")
    storage, offset, size, stride = value.args[:4]
    if not isinstance(storage, Call) or storage.name != "torch.storage._load_from_bytes":
        raise PickleError("the storage of a tensor is expected")
    numbers = read_storage(storage.args[0])
    if not all(type(one) is int and one >= 0 for one in (offset, *size, *stride)) or len(size) != 1 != len(stride):
        raise PickleError("a tensor of one axis is expected")
    last = offset + (size[0] - 1) * stride[0]
    if not 1 <= size[0] <= 1000 or last >= len(numbers) or stride[0] == 0:
        raise PickleError("a tensor is larger than its storage")
    return numbers[offset : last + 1 : stride[0]]


def read_storage(data: Any) -> np.ndarray:
    """Return the numbers of a storage as torch.save wrote it before its zip format. Raises PickleError."""
    if not isinstance(data, bytes):
        raise PickleError("the bytes of a storage are expected")
    file = io.BytesIO(data)
    for _ in range(3):  # a magic number, a version, what the machine's integers are
        load(file)
    saved = load(file)
    load(file)  # keys of the storages, of which there is one
    kind = saved.args[0] if isinstance(saved, Call) and saved.name == "persistent" else None
    name = getattr(kind[1], "text", "") if isinstance(kind, tuple) and len(kind) > 4 else ""
    if name not in STORAGES:
        raise PickleError(f"a storage of floats is expected, and it is {name[:40] or 'none'}")
    (count,) = struct.unpack("<q", file.read(8).ljust(8, b"\0"))
    rest, size = file.read(), np.dtype(STORAGES[name]).itemsize
    if count < 1 or count * size != len(rest):
        raise PickleError("a storage is cut off")
    return np.frombuffer(rest, STORAGES[name])


def read_value(value: Any) -> Any:
    """Return a number, text or array of an observation that LeRobot's robots give. Raises PickleError."""
    if not isinstance(value, Call):
        return value
    name, args, state = value.name.replace("numpy._core.", "numpy.core."), value.args, value.state
    if name == "numpy.core.multiarray._reconstruct" and isinstance(state, tuple) and len(state) == 5:
        return _read_array(state[1], state[2], state[4], bool(state[3]))
    if name == "numpy.core.numeric._frombuffer" and len(args) == 4:
        return _read_array(args[2], args[1], args[0], args[3] == "F")
    if name == "numpy.ndarray" and len(args) == 3:
        return _read_array(args[0], args[1], args[2], False)
    if name == "numpy.core.multiarray.scalar" and len(args) == 2:
        return float(_read_array((1,), args[0], args[1], False)[0])
    raise PickleError(f"an observation has a {value.name[:60]}; numbers, texts and arrays of numpy are expected")


def _read_array(shape: Any, kind: Any, data: Any, fortran: bool) -> np.ndarray:
    if isinstance(kind, Call):  # numpy.dtype("f4", False, True), whose state begins with version and byte order
        order = kind.state[1] if isinstance(kind.state, tuple) and len(kind.state) > 1 else "<"
        kind = f"{order}{kind.args[0]}"
    try:
        dtype = np.dtype(kind)
        if dtype.kind not in "biuf":
            raise TypeError
        return np.frombuffer(bytes(data), dtype).reshape(shape, order="F" if fortran else "C")
    except (TypeError, ValueError):
        raise PickleError("an array is broken") from None


# ---------------------------------------------------------------------- server


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


WAIT_SECONDS = 2.0
"""For an observation, before GetActions answers nothing, as LeRobot's server does."""


def message_of(observation: Any, features: dict[str, Any]) -> dict[str, Any]:
    """Return the message of an observation that a robot's client sends. Inverse of `robot_observation`."""
    if not isinstance(observation, dict):
        raise PickleError("an observation is a dictionary")
    values = {key: read_value(value) for key, value in observation.items()}
    message: dict[str, Any] = {"task": values.get("task", "")}
    for key, feature in features.items():
        try:
            if feature["dtype"] in ("image", "video"):
                message[key] = values[key.removeprefix("observation.images.")]
            else:
                message[key] = np.array([values[name] for name in feature["names"]], float)
        except (KeyError, TypeError, ValueError):
            raise PickleError(f"the observation lacks what the feature {str(key)[:60]} names") from None
    return message


def written_actions(actions: np.ndarray, begun: float, step: int, rate: float) -> bytes:
    """Return actions (K, A) as the pickle that a robot's client reads."""
    return dumps([
        Call(f"{HELPERS}.TimedAction", (), {
            "timestamp": begun + number / rate, "timestep": step + number,
            "action": Call("torch.tensor", (list(map(float, action)),)),
        })
        for number, action in enumerate(actions)
    ])  # fmt: skip


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
