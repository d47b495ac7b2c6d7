"""What LeRobot's asynchronous inference sends: messages of protobuf with pickles in them, read and written as data.

Read from lerobot 0.4.4: async_inference/helpers.py, transport/utils.py and transport/services.proto.
"""

import io
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from pipeline.closed_loop.policy import MAX_CHUNK
from pipeline.closed_loop.protocols.plain_pickle import Call, PickleError, dumps, load, loads

HELPERS = "lerobot.async_inference.helpers"
PART_BYTES = 2_000_000
"""Of an observation, in one message."""
BEGIN, MIDDLE, END = 1, 2, 3
"""States of a transfer."""
STORAGES = {"torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8", "torch.HalfStorage": "<f2"}


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
            features[key] = {"dtype": "image", "shape": tuple(value.shape), "names": ["height", "width", "channels"]}
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
