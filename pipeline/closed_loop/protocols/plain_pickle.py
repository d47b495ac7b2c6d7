"""Reads and writes pickles as data: nothing is imported, and nothing is called.

LeRobot's asynchronous inference sends Python objects as pickles. A reader that runs them would run whatever a server
sends. This one interprets the opcodes that numbers, texts, containers and plain objects need. It returns a `Call` where
a pickle would call something; whoever reads it decides what a known name means.
"""

import io
import pickletools
import struct
from dataclasses import dataclass
from typing import Any

MAX_OPCODES = 2_000_000
MARK = object()


class PickleError(ValueError):
    """A pickle that has something else than data in it, or that is broken."""


@dataclass
class Name:
    """What a pickle would import: "module.name"."""

    text: str


@dataclass
class Call:
    """What a pickle would make: an object of a class, or what a function returns."""

    name: str
    args: tuple
    state: Any = None
    """What the object would be set to."""


CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
VALUES = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
    "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
SKIPPED = {"PROTO", "FRAME"}


def loads(data: bytes) -> Any:
    """Return what a pickle holds, as data. Raises PickleError."""
    return load(io.BytesIO(data))


def load(file: io.BytesIO) -> Any:
    """Return what the next pickle of a file holds, as data; the file stands behind it. Raises PickleError."""
    reader = _Reader()
    try:
        for number, (opcode, argument, _) in enumerate(pickletools.genops(file)):
            if number > MAX_OPCODES:
                raise PickleError(f"it has more than {MAX_OPCODES} parts")
            if opcode.name == "STOP":
                return reader.stack.pop()
            reader.read(opcode.name, argument)
    except (IndexError, KeyError, TypeError, AttributeError, ValueError, struct.error) as error:
        raise error if isinstance(error, PickleError) else PickleError("it is a broken pickle") from None
    raise PickleError("it is a broken pickle")


class _Reader:
    """The machine of a pickle, without imports and calls."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def read(self, name: str, argument: Any) -> None:
        """Carry out one opcode."""
        stack = self.stack
        if name in SKIPPED:
            return
        if name in VALUES:
            stack.append(argument)
        elif name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in TUPLES:
            stack.append(self._last(TUPLES[name]))
        elif name in ("MEMOIZE", "BINPUT", "LONG_BINPUT"):
            self._memo[len(self._memo) if argument is None else argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self._memo[argument])
        elif name == "MARK":
            stack.append(MARK)
        elif name in ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"):
            stack.append({"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}[name]())
        else:
            self._combine(name, argument)

    def _combine(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("APPEND", "APPENDS"):
            items = self._last(1) if name == "APPEND" else self._to_mark()
            _own(stack[-1], list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = self._last(2) if name == "SETITEM" else self._to_mark()
            target = stack[-1]
            if not isinstance(target, Call):  # what a call returned may be a dictionary, such as OrderedDict
                _own(target, dict).update(zip(items[::2], items[1::2], strict=True))
        elif name == "TUPLE":
            stack.append(tuple(self._to_mark()))
        elif name == "GLOBAL":
            stack.append(Name(argument.replace(" ", ".", 1)))
        elif name == "STACK_GLOBAL":
            module, inner = self._last(2)
            stack.append(Name(f"{module}.{inner}"))
        elif name in ("NEWOBJ", "REDUCE"):
            made, args = self._last(2)
            stack.append(Call(_own(made, Name).text, _own(args, tuple)))
        elif name == "BUILD":
            state = stack.pop()
            _own(stack[-1], Call).state = state
        elif name == "BINPERSID":
            stack.append(Call("persistent", (stack.pop(),)))
        else:
            raise PickleError(f"it has the part {name}, which data does not need")

    def _last(self, count: int) -> tuple:
        if len(self.stack) < count:
            raise PickleError("it is a broken pickle")
        found = tuple(self.stack[-count:])
        del self.stack[-count:]
        return found

    def _to_mark(self) -> list:
        at = len(self.stack) - 1
        while self.stack[at] is not MARK:
            at -= 1
            if at < 0:
                raise PickleError("it is a broken pickle")
        found = self.stack[at + 1 :]
        del self.stack[at:]
        return found


def _own(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise PickleError("it is a broken pickle")
    return value


# ---------------------------------------------------------------------- writing


def dumps(value: Any) -> bytes:
    """Return the pickle (protocol 3) of numbers, texts, bytes, lists, tuples, dictionaries, `Name` and `Call`."""
    out = io.BytesIO()
    out.write(b"\x80\x03")
    _write(value, out)
    out.write(b".")
    return out.getvalue()


def _write(value: Any, out: io.BytesIO) -> None:
    if value is None or isinstance(value, bool):
        out.write({None: b"N", True: b"\x88", False: b"\x89"}[value])
    elif isinstance(value, int):
        data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
        out.write(b"\x8a" + bytes([len(data)]) + data)
    elif isinstance(value, float):
        out.write(b"G" + struct.pack(">d", value))
    elif isinstance(value, str):
        data = value.encode()
        out.write(b"X" + struct.pack("<I", len(data)) + data)
    elif isinstance(value, bytes):
        out.write(b"B" + struct.pack("<I", len(value)) + value)
    elif isinstance(value, list):
        _write_items(b"](", value, b"e", out)
    elif isinstance(value, dict):
        _write_items(b"}(", [one for pair in value.items() for one in pair], b"u", out)
    elif isinstance(value, tuple):
        _write_items(b"(", list(value), b"t", out)
    elif isinstance(value, Name):
        module, _, inner = value.text.rpartition(".")
        out.write(f"c{module}\n{inner}\n".encode())
    elif isinstance(value, Call):
        _write(Name(value.name), out)
        _write(value.args, out)
        out.write(b"R" if value.state is None else b"\x81")
        if value.state is not None:
            _write(value.state, out)
            out.write(b"b")
    else:
        raise PickleError(f"a {type(value).__name__} cannot be written")


def _write_items(begin: bytes, items: list, end: bytes, out: io.BytesIO) -> None:
    out.write(begin)
    for item in items:
        _write(item, out)
    out.write(end)
