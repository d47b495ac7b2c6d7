"""Call one of our functions on files from outside in a child process: confined, limited, and without keys.

    with confined.errors_as(FrameError, path.name):
        for event in confined.call("pipeline.frame.reader:read", {"path": str(path)}, [path]):
            ...

A server process forks a child for each call, so that a call costs tens of milliseconds. What the child sends is checked
here; nothing is unpickled. Every way in which a call can fail is one sentence of this module.
"""

import atexit
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import StudioError, single_line
from pipeline.store import parse_json
from pipeline.untrusted.fork_server import ForkServer
from pipeline.untrusted.messages import MessageReader, receive

CHILD = "pipeline.untrusted.confined_child"
START_SECONDS = 60.0
"""How long a new server may import before its first child runs."""
DIED = "it takes too much memory or time to read, or is damaged and crashed its reader; make it smaller"
NO_START = "the process that opens files does not start ({})"
NONSENSE = "it made its reader answer with nonsense, so it may be an attack"
NETWORK_VARIABLES = re.compile(
    r"PATH|HOME|LANG|XDG_CACHE_HOME|GRS_OBJAVERSE|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|\w+_proxy|\w+_PROXY"
)
"""Variables that a download needs: the proxy, the index, certificates. No key is among them."""


class ConfinedError(StudioError):
    """Why a call has no result: the message of our function, or a sentence about "it", the file that was read."""

    def about(self, name: str) -> str:
        """Return the message with the file's name in it."""
        return re.sub("^it ", f"{name} ", str(self))


@contextmanager
def errors_as(error: type[StudioError], name: str) -> Iterator[None]:
    """Raise what fails in calls as another error, about a file of this name.

    That includes values that whoever uses an answer cannot use.
    """
    try:
        yield
    except ConfinedError as failure:
        raise error(failure.about(name)) from None
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise error(ConfinedError(NONSENSE).about(name)) from None


@dataclass(frozen=True)
class Limits:
    """Limits of one call."""

    seconds: float = 60.0
    """Processor time."""
    is_wall_clock: bool = True
    """Whether that is the limit of wall-clock time too; a call that a person can stop needs none."""
    memory_mb: int = 3072
    """On top of what the server has mapped."""
    file_mb: int = 0
    """Largest file that may be written into a temporary folder of its own; 0 for no folder."""


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Event:
    """What a function sends."""

    value: Any
    """A JSON value."""
    arrays: tuple[np.ndarray, ...] = ()
    """Booleans, integers and floats."""


class Progress(Event):
    """What a function sends before it has finished."""


class Result(Event):
    """What a function returns."""


def is_supported() -> bool:
    """Whether this platform can fork; where it cannot, readers run in this process."""
    return hasattr(os, "fork")


def call(
    function: str, arguments: Mapping[str, Any], readable: Iterable[Path], stop: threading.Event | None = None, *,
    limits: Limits = DEFAULT_LIMITS, writable: Iterable[Path] = (), warm: Sequence[str] = (),
    programs: Iterable[Path] = (), device_events: bool = False,
) -> Iterator[Event]:  # fmt: skip
    """Call one of our functions in a confined child; yield its progress and last its result.

    Ends without a result when `stop` is set. Raises ConfinedError. The child, with all that it started, ends with the
    iterator.

    Args:
        function: "module:name" of a function that takes JSON arguments and returns a Result. It may have a parameter
            `send`, which sends a Progress. What its module's `prepare` does happens before the child is confined.
        arguments: Its keyword arguments.
        readable: Files and folders that it may read, besides Python's libraries.
        stop: Ends the call.
        limits: Limits of the child.
        writable: Folders that it may write, besides its temporary one.
        warm: Modules that the server imports first and once, because they are slow or load the system's libraries.
        programs: Programs that it may start, which are confined with it.
        device_events: Whether it may listen for new devices, as librealsense insists on.
    """
    paths = {"readable": _absolute(readable), "writable": _absolute(writable), "programs": _absolute(programs)}
    request = {"function": function, "arguments": dict(arguments), "warm": [*warm], "network": False, **paths}
    request |= {"device_events": device_events} | asdict(limits)
    with tempfile.TemporaryDirectory(prefix="grs-reader-") if limits.file_mb else nullcontext() as scratch:
        request |= {"scratch": scratch, "writable": [*paths["writable"], *([scratch] if scratch else [])]}
        yield from _events(_connect(), request, limits, stop)


def call_with_network(
    function: str, arguments: Mapping[str, Any], stop: threading.Event, memory_mb: int
) -> Iterator[Event]:
    """Call one of our downloaders as `call` does, but in a child that is not confined: with the network, and no keys.

    It opens no file from outside.
    """
    limits = Limits(is_wall_clock=False, memory_mb=memory_mb)
    request = {"function": function, "arguments": dict(arguments), "warm": [], "network": True, "scratch": None}
    try:
        server = ForkServer(CHILD, network_environment(), [*filter(None, sys.path)])
    except OSError as error:
        raise ConfinedError(NO_START.format(error)) from None
    try:
        yield from _events(server.connect(), request | asdict(limits), limits, stop)
    except OSError as error:
        raise ConfinedError(NO_START.format(error)) from None
    finally:
        server.close()


def network_environment() -> dict[str, str]:
    """Return the variables of this process that a download needs."""
    return {name: value for name, value in os.environ.items() if NETWORK_VARIABLES.fullmatch(name)}


def result_of(events: Iterator[Event]) -> Result:
    """Return the result of a call that nothing stops. Raises ConfinedError."""
    return next(event for event in events if isinstance(event, Result))


def shut_down() -> None:
    """Stop the server and its children. The next call starts a new one."""
    if _server is not None:
        _forget(_server)


_server: ForkServer | None = None
_lock = threading.Lock()
atexit.register(shut_down)


def _connect() -> socket.socket:
    """Return a connection to a new child; restart the server once if it has died. Raises ConfinedError."""
    global _server
    for is_retry in (False, True):
        server = None
        try:
            with _lock:
                if _server is None or not _server.alive:
                    _server = ForkServer(CHILD, folders=[*filter(None, sys.path)])
                server = _server
            return server.connect()
        except OSError as error:
            if server is not None:
                _forget(server)
            if is_retry:
                raise ConfinedError(NO_START.format(error)) from None
    raise AssertionError("unreachable")


def _forget(server: ForkServer) -> None:
    global _server
    with _lock:
        if _server is server:
            _server = None
    server.close()


def _events(
    connection: socket.socket, request: dict[str, Any], limits: Limits, stop: threading.Event | None
) -> Iterator[Event]:
    """Send a request, and yield what its child sends until its result or the stop; kill the child at the end."""
    reader, child, seconds = MessageReader(), 0, limits.seconds if limits.is_wall_clock else inf
    try:
        connection.settimeout(START_SECONDS)
        connection.sendall(json.dumps(request).encode() + b"\n")
        for line, _ in receive(connection, reader, time.monotonic() + START_SECONDS + seconds, stop):
            child = int(_checked(line, limits)["process"])
            break
        for line, arrays in receive(connection, reader, time.monotonic() + seconds, stop):
            message = _checked(line, limits)
            if "progress" in message:
                yield Progress(message["progress"], arrays)
            else:
                yield Result(message["result"], arrays)
                return
    except TimeoutError:
        raise ConfinedError(f"it takes longer than {limits.seconds:g} s to read; make it smaller") from None
    except (EOFError, OSError):
        raise ConfinedError(DIED) from None
    except (ValueError, KeyError, TypeError):
        raise ConfinedError(NONSENSE) from None
    finally:
        connection.close()
        if child > 1:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)


def _checked(line: bytes, limits: Limits) -> dict[str, Any]:
    """Return a message of a child. Raises ConfinedError for a failure, ValueError for nonsense."""
    message = parse_json(line)
    if "failure" not in message:
        return message
    if message["failure"] == "memory":
        raise ConfinedError(f"it takes more than {limits.memory_mb} MB of memory to read; make it smaller")
    # Characters of a child's message
    text = single_line(str(message["text"]))[:600]
    raise ConfinedError(text if message["failure"] == "refused" else f"it cannot be read ({text})")


def _absolute(paths: Iterable[Path]) -> list[str]:
    return [str(Path(path).absolute()) for path in paths]
