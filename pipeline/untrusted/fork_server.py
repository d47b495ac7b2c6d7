"""The server of `isolated`: forks a child for each request, confines it, and lets it call one function.

studio ── socket ──> server (our code only) ──fork──> child (confined; the file is opened here)
"""

import functools
import gc
import importlib
import json
import os
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

PACKAGE = Path(__file__).resolve().parents[1]
"""Our own code, some of which is imported late."""


def serve(control: socket.socket) -> None:
    """Fork a child for every connection received on the control socket, until that closes: with the studio's end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C closes the control socket, which ends this process
    while True:
        _, fds, _, _ = socket.recv_fds(control, 1, 1)
        _reap()
        if not fds:
            return
        with socket.socket(fileno=fds[0]) as connection:
            try:
                request = json.loads(connection.makefile("rb").readline())
                _warm_up(request["function"].partition(":")[0], *request["imports"])
                server = os.getpid()
                if os.fork() == 0:
                    control.close()
                    _answer(connection, request, server)
                    os._exit(0)
            except Exception as error:  # a broken installation: the studio says so
                with suppress(OSError):
                    connection.sendall(b"0\n" + _error_line(f"Reading files fails: {type(error).__name__}: {error}"))


def _reap() -> None:
    """Forget the children that have ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass


@functools.cache
def _warm_up(module: str, *more: str) -> None:
    """Import a reader, what its `prepare` imports, and other modules, once for all children."""
    from pipeline.confinement import namespaces, platform_coverage

    if platform_coverage()["namespaces"]:  # this also imports what confining takes
        namespaces.enter()
    prepare = getattr(importlib.import_module(module), "prepare", None)
    if prepare is not None:
        prepare()
    for name in more:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children then share these pages


def _answer(connection: socket.socket, request: dict[str, Any], server: int) -> None:
    """Confine this process, call the function and send what it returns."""
    from pipeline.errors import StudioError

    os.setsid()
    connection.sendall(f"{os.getpid()}\n".encode())
    out = os.fdopen(os.dup(connection.fileno()), "wb")  # write() is allowed in confinement, send() is not
    try:
        _confine(request, server)
        module, _, name = request["function"].partition(":")
        reply = getattr(sys.modules[module], name)(**request["arguments"])
        header = {"value": reply.value, "arrays": [(array.dtype.str, array.shape) for array in reply.arrays]}
        out.write(json.dumps(header).encode() + b"\n")
        for array in reply.arrays:
            out.write(memoryview(array if array.flags.c_contiguous else array.copy()).cast("B"))
        out.flush()
    except MemoryError:
        _fail(out, f"it takes more than {request['memory_mb']} MB of memory to read; make it smaller")
    except StudioError as error:
        _fail(out, str(error))
    except BaseException as error:
        _fail(out, f"it cannot be read ({type(error).__name__}: {error})")
    finally:
        os._exit(0)


def _confine(request: dict[str, Any], server: int) -> None:
    from pipeline.confinement import confine, end_with_parent

    end_with_parent(server)
    tempfile.tempdir = request["scratch"]
    confine(
        [*(Path(path) for path in request["readable"]), PACKAGE],
        [Path(request["scratch"])] if request["scratch"] else [],
        [Path(program) for program in request["programs"]],
        seconds=request["seconds"], memory_mb=request["memory_mb"], file_mb=request["scratch_mb"],
        device_events=request["device_events"],
    )  # fmt: skip


def _fail(out: BinaryIO, error: str) -> None:
    out.write(_error_line(error))
    out.flush()


def _error_line(error: str) -> bytes:
    return json.dumps({"error": error[:2000]}).encode() + b"\n"


if __name__ == "__main__":
    sys.path[:] = [*json.loads(sys.argv[2])]
    serve(socket.socket(fileno=int(sys.argv[1])))
