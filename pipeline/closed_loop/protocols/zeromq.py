"""A REQ socket of ZeroMQ whose answers are bounded in bytes and time.

libzmq bounds each frame of a message (ZMQ_MAXMSGSIZE) and not their number: it keeps what a server sends until the last
frame is there. ZMTP 3.0 with the mechanism NULL: https://rfc.zeromq.org/spec/23/
"""

import socket
import struct
import time

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x05READY\x0bSocket-Type" + struct.pack(">I", 3) + b"REQ"
MORE, LONG, COMMAND = 1, 2, 4
"""Flags of a frame: others of its message follow; its size has eight bytes; it is none of a message."""
MAX_FRAMES = 1000
"""Of one answer, commands such as heartbeats included. An answer has two."""


class ZeroMQError(Exception):
    """What a server sent is no answer. The message is the rest of a sentence that begins with the server."""


class RequestSocket:
    """A connection to a REP socket."""

    def __init__(self, host: str, port: int, seconds: float, max_bytes: int):
        """Connect. Raises ZeroMQError, OSError, and TimeoutError if it takes longer than that."""
        self._max_bytes, self._end = max_bytes, time.monotonic() + seconds
        self._socket = socket.create_connection((host, port), seconds)
        try:
            self._socket.sendall(GREETING)
            greeting = self._read(64)
            if greeting[0] != 0xFF or greeting[10] < 3 or greeting[12:32].rstrip(b"\0") != b"NULL":
                raise ZeroMQError("does not speak ZMTP 3 without encryption")
            self._socket.sendall(bytes([COMMAND, len(READY)]) + READY)
            flags, body = self._frame(max_bytes)
            if not flags & COMMAND or not body.startswith(b"\x05READY"):
                raise ZeroMQError("refuses a REQ socket")
        except BaseException:
            self.close()
            raise

    def ask(self, question: bytes, seconds: float) -> bytes:
        """Return the answer to a question. Raises ZeroMQError, OSError, and TimeoutError after those seconds."""
        self._end = time.monotonic() + seconds
        self._socket.settimeout(seconds)
        self._socket.sendall(bytes([MORE, 0, LONG]) + struct.pack(">Q", len(question)) + question)
        left, parts = self._max_bytes, []
        for _ in range(MAX_FRAMES):
            flags, body = self._frame(left)
            left -= len(body)
            if not flags & COMMAND:
                parts.append(body)
                if not flags & MORE:
                    return b"".join(parts[1:])  # the first one, which is empty, is the envelope of REP
        raise ZeroMQError("answered without end")

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _frame(self, max_bytes: int) -> tuple[int, bytes]:
        """Return flags and body of the next frame."""
        flags = self._read(1)[0]
        size = struct.unpack(">Q", self._read(8))[0] if flags & LONG else self._read(1)[0]
        if size > max_bytes:
            raise ZeroMQError(f"answered more than {self._max_bytes // 10**6} MB")
        return flags, self._read(size)

    def _read(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            if (seconds := self._end - time.monotonic()) <= 0:
                raise TimeoutError
            self._socket.settimeout(seconds)
            if not (block := self._socket.recv(min(count - len(data), 1 << 20))):
                raise ConnectionError("the connection was closed")
            data += block
        return bytes(data)
