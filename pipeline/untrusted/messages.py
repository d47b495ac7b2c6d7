"""What the studio and its confined children send each other: lines of JSON, each after the arrays that belong to it.

An array is sent as .npy, whose first byte begins no line of JSON. Of .npy, only the header that numpy writes for plain
numbers is read, and nothing is ever unpickled.
"""

import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from io import BytesIO
from math import prod
from typing import Any, BinaryIO

import numpy as np

MAX_LINE_BYTES = 64 << 20
MAX_ARRAY_BYTES = 2 << 30
"""Of all arrays of one message."""
MAX_DIMENSIONS = 8
CHUNK_BYTES = 1 << 20
LOOK_SECONDS = 0.05
"""Pause between two looks whether somebody stops."""
MAGIC = b"\x93NUMPY\x01\x00"
"""First bytes of version 1 of the format. Two bytes with the header's length follow.
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html"""
HEADER = re.compile(rb"\{'descr': '([<|][biuf]\d\d?)', 'fortran_order': False, 'shape': \(([\d, ]{0,160})\), \} *\n")
"""A header of booleans, integers or floats in C order."""

Message = tuple[bytes, tuple[np.ndarray, ...]]
"""A line of JSON and the arrays that belong to it."""


def write_message(out: BinaryIO, value: Any, arrays: Sequence[np.ndarray] = ()) -> None:
    """Send a JSON value with the arrays that belong to it."""
    pieces = [piece for array in arrays for piece in _npy(array)]
    line = json.dumps(value, allow_nan=False).encode()
    out.write(b"".join([*pieces, line, b"\n"]))  # at once, for each write wakes the other side
    out.flush()


def _npy(array: np.ndarray) -> tuple[bytes, memoryview]:
    array = np.asarray(array, array.dtype.newbyteorder("<"), order="C")
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    return header.getvalue(), array.reshape(-1).view(np.uint8).data


class MessageReader:
    """Splits what comes from the other side into messages."""

    def __init__(self) -> None:
        self.takes_arrays = True
        """Whether arrays are allowed from here on."""
        self._received = bytearray()
        self._searched = 0
        """Bytes in which no line ends."""
        self._arrays: list[np.ndarray] = []

    @property
    def waiting_bytes(self) -> int:
        """Bytes of the message that is not complete yet."""
        return len(self._received) + sum(array.nbytes for array in self._arrays)

    def feed(self, data: bytes) -> Iterator[Message]:
        """Yield each message that ends in these bytes: its line and its arrays. Raises ValueError for anything else."""
        self._received += data
        while True:
            if self._received.startswith(MAGIC[:1]):
                if not self._take_array():
                    return
                continue
            end = self._received.find(b"\n", self._searched)
            self._searched = len(self._received) if end < 0 else 0
            if max(end, self._searched) > MAX_LINE_BYTES:
                raise ValueError(f"a line of more than {MAX_LINE_BYTES >> 20} MB")
            if end < 0:
                return
            line, arrays = bytes(self._received[:end]), tuple(self._arrays)
            del self._received[: end + 1]
            self._arrays = []
            yield line, arrays

    def _take_array(self) -> bool:
        """Move an array from the bytes to the arrays; return False if it is not complete yet."""
        received = self._received
        if not self.takes_arrays or not received[: len(MAGIC)].startswith(MAGIC[: len(received)]):
            raise ValueError("bytes that are no message")
        start = len(MAGIC) + 2
        start += int.from_bytes(received[len(MAGIC) : start], "little")
        if len(received) < max(start, len(MAGIC) + 2):
            return False
        header = HEADER.fullmatch(received, len(MAGIC) + 2, start)
        if header is None:
            raise ValueError("an array with another header than that of plain numbers")
        try:
            dtype = np.dtype(header[1].decode())
        except TypeError:
            raise ValueError("an array of unknown numbers") from None
        shape = [int(length) for length in header[2].split(b",") if length.strip()]
        end = start + prod(shape) * dtype.itemsize
        total = end + sum(array.nbytes for array in self._arrays)
        if len(shape) > MAX_DIMENSIONS or max(total, *shape, 0) > MAX_ARRAY_BYTES:
            raise ValueError(f"arrays of more than {MAX_ARRAY_BYTES >> 30} GB")
        if len(received) < end:
            return False
        self._arrays.append(np.ndarray(shape, dtype, received[start:end]))
        del received[:end]
        return True


def receive(
    connection: socket.socket, reader: MessageReader, deadline: float, stop: threading.Event | None
) -> Iterator[Message]:
    """Yield the messages that come over a connection, until `stop` is set.

    Raises TimeoutError at the deadline, of time.monotonic(), EOFError at the connection's end, another OSError if it
    fails, and ValueError for what is no message.
    """
    yield from reader.feed(b"")  # what an earlier call has received and not yielded
    while not (stop is not None and stop.is_set()):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        connection.settimeout(min(LOOK_SECONDS, remaining))
        try:
            chunk = connection.recv(CHUNK_BYTES)
        except TimeoutError:
            continue
        if not chunk:
            raise EOFError
        yield from reader.feed(chunk)
