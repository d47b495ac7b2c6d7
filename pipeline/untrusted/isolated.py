"""Call a reader on a file from outside in a child process: confined, bounded in memory and time, without keys.

A server process imports the readers once and forks a child for each call, so that a call costs tens of milliseconds.
The child sends JSON and plain arrays, which are checked here; nothing is unpickled.
"""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import StudioError
from pipeline.store import parse_json
from pipeline.untrusted.fork_connection import ForkConnection
from pipeline.untrusted.worker_process import PROCESSOR

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2",
    "MUJOCO_GL": "disable", "PYTHONHASHSEED": "0", "HOME": "/", "PATH": "/usr/bin:/bin", **PROCESSOR,
}  # fmt: skip
"""The complete environment of the server and its children: no keys, no path of the user. librealsense needs HOME."""
MAX_HEADER_BYTES = 64 << 20
MAX_REPLY_BYTES = 2 << 30
ARRAY_KINDS = "biuf"
"""Kinds of numpy types that a child may send: booleans, integers and floats."""


class IsolationError(StudioError):
    """A reader that failed on a file: its message, or that it exceeded a limit or crashed."""


@dataclass(frozen=True)
class Limits:
    """Limits of one call."""

    seconds: float = 60.0
    """Wall-clock and processor time."""
    memory_mb: int = 3072
    """On top of what the server has mapped."""
    scratch_mb: int = 0
    """Largest file in a temporary folder of its own; 0 for no folder."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Reply:
    """What a reader returned."""

    value: Any
    """A JSON value."""
    arrays: tuple[np.ndarray, ...] = ()


def is_supported() -> bool:
    """Whether this platform can fork; where it cannot, readers run in this process."""
    return hasattr(os, "fork")


def call(
    function: str, arguments: Mapping[str, Any], readable: Sequence[Path], *, limits: Limits = DEFAULT_LIMITS,
    imports: Sequence[str] = (), programs: Sequence[Path] = (), device_events: bool = False,
) -> Reply:  # fmt: skip
    """Call one of our functions in a confined child. Raises IsolationError.

    Args:
        function: "module:name" of a function that takes JSON arguments and returns a Reply.
        arguments: Its keyword arguments.
        readable: Files and folders that it may read, besides Python's libraries.
        limits: Limits of the child.
        imports: Modules that the server imports first, because they are slow or load the system's libraries.
        programs: Programs that it may start, which are confined with it.
        device_events: Whether it may listen for new devices, as librealsense insists on.
    """
    request = {"function": function, "arguments": dict(arguments), "imports": [*imports]}
    request |= {"readable": [str(Path(path).absolute()) for path in readable], "programs": [str(p) for p in programs]}
    request |= {"seconds": limits.seconds, "memory_mb": limits.memory_mb, "scratch_mb": limits.scratch_mb}
    request["device_events"] = device_events
    with tempfile.TemporaryDirectory(prefix="grs-reader-") if limits.scratch_mb else nullcontext() as scratch:
        return _call(request | {"scratch": scratch}, limits)


def _call(request: dict[str, Any], limits: Limits) -> Reply:
    for is_retry in (False, True):
        server = _running_server()
        try:
            connection = server.connect()
        except OSError as error:
            _forget(server)
            if is_retry:
                raise IsolationError(f"the process that opens files does not start ({error})") from None
            continue
        with connection:
            return _exchange(connection, request, limits)
    raise AssertionError("unreachable")


def shut_down() -> None:
    """Stop the server and its children. The next call starts a new one."""
    if _server is not None:
        _forget(_server)


class _Server(ForkConnection):
    """The fork server of readers."""

    def __init__(self) -> None:
        control, server_end = socket.socketpair()
        arguments = [str(server_end.fileno()), json.dumps([str(ROOT), *filter(None, sys.path)])]
        with server_end:
            process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", str(Path(__file__).with_name("fork_server.py")), *arguments],
                env=ENVIRONMENT, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, pass_fds=[server_end.fileno()], start_new_session=True,
            )  # fmt: skip
        super().__init__(process, control)


_server: _Server | None = None
_lock = threading.Lock()


def _running_server() -> _Server:
    global _server
    with _lock:
        if _server is None or not _server.alive:
            _server = _Server()
        return _server


def _forget(server: _Server) -> None:
    global _server
    with _lock:
        if _server is server:
            _server = None
    server.close()


atexit.register(shut_down)


def _exchange(connection: socket.socket, request: dict[str, Any], limits: Limits) -> Reply:
    """Send a request and return the reply; kill the child when its time is up."""
    deadline, child = time.monotonic() + limits.seconds, 0
    received = bytearray()
    try:
        connection.sendall(json.dumps(request).encode() + b"\n")
        child = int(_receive_line(connection, received, deadline + 60, 32) or 0)  # a new server imports first
        deadline = time.monotonic() + limits.seconds
        header = _receive_line(connection, received, deadline, MAX_HEADER_BYTES)
        return _reply(header, connection, received, deadline)
    except TimeoutError:
        raise IsolationError(f"it takes longer than {limits.seconds:g} s to read; make it smaller") from None
    except (EOFError, OSError):
        raise IsolationError("it takes too much memory or time to read, or is damaged; make it smaller") from None
    except (ValueError, KeyError, TypeError):
        raise IsolationError("its reader answered with nonsense; the file may be an attack") from None
    finally:
        if child > 1:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)


def _reply(header: bytes, connection: socket.socket, received: bytearray, deadline: float) -> Reply:
    message = parse_json(header)
    if "error" in message:
        raise IsolationError(" ".join(str(message["error"]).split())[:500])
    arrays, total = [], 0
    for kind, shape in message["arrays"]:
        dtype = np.dtype(str(kind))
        if dtype.kind not in ARRAY_KINDS or not all(isinstance(n, int) and n >= 0 for n in shape) or len(shape) > 8:
            raise ValueError
        size = prod(shape) * dtype.itemsize
        total += size
        if total > MAX_REPLY_BYTES:
            raise ValueError
        arrays.append(np.frombuffer(_receive(connection, received, size, deadline), dtype).reshape(shape))
    return Reply(message["value"], tuple(arrays))


def _receive_line(connection: socket.socket, received: bytearray, deadline: float, most: int) -> bytes:
    start = 0
    while (end := received.find(b"\n", start)) < 0:
        start = len(received)
        if start > most:
            raise ValueError
        received += _chunk(connection, deadline)
    line = bytes(received[:end])
    del received[: end + 1]
    return line


def _receive(connection: socket.socket, received: bytearray, size: int, deadline: float) -> bytearray:
    while len(received) < size:
        received += _chunk(connection, deadline)
    content = received[:size]
    del received[:size]
    return content


def _chunk(connection: socket.socket, deadline: float) -> bytes:
    if not select.select([connection], [], [], max(0.0, deadline - time.monotonic()))[0]:
        raise TimeoutError
    chunk = connection.recv(1 << 20)
    if not chunk:
        raise EOFError
    return chunk
