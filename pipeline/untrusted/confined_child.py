"""The other side of `confined`: a fork server whose children confine themselves, call one function and send its events.

studio ── socket ──> server (our code only) ──fork──> child (confined; the file is opened here)
"""

import functools
import gc
import importlib
import inspect
import json
import os
import socket
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.confinement import MEGABYTE, confine, end_with_parent, namespaces, platform_coverage
from pipeline.errors import StudioError
from pipeline.untrusted.fork_server import connections
from pipeline.untrusted.messages import write_message

PACKAGE = Path(__file__).resolve().parents[1]
"""Our own code, some of which is imported late."""


def serve(control_fd: int, studio: int) -> None:
    """Fork a child for every connection received on the control socket, until that closes: with the studio's end."""
    end_with_parent(studio)
    control, server = socket.socket(fileno=control_fd), os.getpid()
    for connection in connections(control):
        _reap()
        with connection:
            try:
                request = json.loads(connection.makefile("rb").readline())
                _warm_up(request["network"], *request["warm"])
                if os.fork() == 0:
                    control.close()
                    end_with_parent(server)
                    _answer(connection, request)
            except Exception as error:  # a broken installation: the studio says so
                with suppress(OSError), connection.makefile("wb") as out:
                    write_message(out, {"failure": "refused", "text": f"Reading files fails: {_described(error)}"})


def _reap() -> None:
    """Forget the children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


@functools.cache
def _warm_up(network: bool, *modules: str) -> None:
    """Import modules once for all children."""
    if not network and platform_coverage()["namespaces"]:  # this also imports what confining takes
        namespaces.enter()
    for name in modules:
        _prepared(name)
    gc.collect()
    gc.freeze()  # children then share these pages


@functools.cache
def _prepared(name: str) -> Any:
    """Return a module after its `prepare`, which imports what it would import late and could not when confined."""
    module = importlib.import_module(name)
    getattr(module, "prepare", lambda: None)()
    return module


def _answer(connection: socket.socket, request: dict[str, Any]) -> None:
    """Confine this process, call the function, send its events, and end."""
    os.setsid()
    out = os.fdopen(os.dup(connection.fileno()), "wb")  # write() is allowed in confinement, send() is not

    def send(kind: str, value: Any, arrays: Sequence[np.ndarray] = (), **more: str) -> None:
        write_message(out, {kind: value, **more}, arrays)

    try:
        send("process", os.getpid())
        _use_scratch(request["scratch"])
        module, _, name = request["function"].partition(":")
        function, arguments = getattr(_prepared(module), name), request["arguments"]
        if "send" in inspect.signature(function).parameters:
            arguments["send"] = lambda event: send("progress", event.value, event.arrays)
        if problem := _confine(request):
            return send("failure", "refused", text=problem)
        threading.Thread(target=_end_with, args=(connection,), daemon=True).start()
        result = function(**arguments)
        send("result", result.value, result.arrays)
    except MemoryError:
        send("failure", "memory")
    except StudioError as error:
        send("failure", "refused", text=str(error)[:2000])
    except BaseException as error:
        send("failure", "error", text=_described(error)[:2000])
    finally:
        os._exit(0)


def _use_scratch(folder: str | None) -> None:
    if folder:
        tempfile.tempdir = folder
        os.environ.update(dict.fromkeys(("TMPDIR", "HOME", "XDG_CACHE_HOME"), folder))


def _confine(request: dict[str, Any]) -> str:
    """Give up what the function does not need; return why that failed."""
    if request["network"]:
        import resource

        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (request["memory_mb"] * MEGABYTE,) * 2)
        return ""
    paths = {key: [Path(path) for path in request[key]] for key in ("readable", "writable", "programs")}
    try:
        confine(
            [*paths["readable"], PACKAGE], paths["writable"], paths["programs"], seconds=request["seconds"],
            memory_mb=request["memory_mb"], file_mb=request["file_mb"], device_events=request["device_events"],
        )  # fmt: skip
    except OSError as error:  # never open a file with less confinement than the platform has
        return f"the process that opens files cannot be confined ({error.strerror or error}); nothing was read"
    return ""


def _end_with(connection: socket.socket) -> None:
    """End this process when the studio closes the connection, where the kernel cannot do it."""
    os.read(connection.fileno(), 1)
    os._exit(1)


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
