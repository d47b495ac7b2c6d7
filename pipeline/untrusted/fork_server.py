"""Fork servers: processes with a clean environment that have imported what their children need, and fork one for each
connection. The kernel ends a server with the studio, and its children with it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import importlib, json, sys
sys.path[:0] = json.loads(sys.argv[1])
importlib.import_module(sys.argv[2]).serve(int(sys.argv[3]), int(sys.argv[4]))
"""
PROCESSOR = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if name in os.environ}
"""What a user sets where OpenBLAS takes the processor for another: a child that lacks it rounds in another way."""
ENVIRONMENT = {
    "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin",
    "HOME": "/",  # librealsense needs one
    "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2",
    "MUJOCO_GL": "disable",  # children never draw
    "PYTHONHASHSEED": "0",  # sets have the same order in every run
    **PROCESSOR,
}  # fmt: skip
"""The complete environment of children without network: no keys, no path of the user."""


class ForkServer:
    """A running fork server, and the socket over which it is asked for children. May be used from any thread."""

    def __init__(self, module: str, environment: Mapping[str, str] = ENVIRONMENT, folders: Sequence[str] = ()):
        """Start the server. Raises OSError.

        Args:
            module: has `serve(control, studio)`, which takes the descriptor of a socket and the studio's process id;
                over that socket comes one byte and one descriptor for each child: its end of a connection.
            environment: of the server and its children.
            folders: where they find modules, besides ours and the libraries.
        """
        if not hasattr(os, "fork"):
            raise OSError("it takes Linux or macOS")
        self._control, server_end = socket.socketpair()
        with server_end:
            try:
                self._process = _start(module, environment, [str(ROOT), *folders], server_end.fileno())
            except OSError:
                self._control.close()
                raise
        self._lock = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the server runs."""
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """Return a connection to a new child. Raises OSError."""
        connection, child_end = socket.socketpair()
        with child_end, self._lock:
            try:
                socket.send_fds(self._control, [b"."], [child_end.fileno()])
            except OSError:
                connection.close()
                raise
        return connection

    def close(self) -> None:
        """End the server, by force if it does not end by itself within 2 s."""
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def connections(control: socket.socket) -> Iterator[socket.socket]:
    """Yield, in the server, the connection of each child that the studio asks for, until the studio closes the socket.

    Ctrl-C, which the studio's whole terminal gets, closes it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while fds := socket.recv_fds(control, 1, 1)[1]:
        yield socket.socket(fileno=fds[0])


def _start(
    module: str, environment: Mapping[str, str], folders: Sequence[str], control: int
) -> subprocess.Popen[bytes]:
    """Start the process from a thread that lives as long: the kernel ends a child with the thread that started it."""
    started: Future[subprocess.Popen[bytes]] = Future()
    arguments = [json.dumps(folders), module, str(control), str(os.getpid())]

    def own() -> None:
        try:
            process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", "-c", SCRIPT, *arguments],
                env=dict(environment), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, pass_fds=[control], start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return started.set_exception(error)
        started.set_result(process)
        process.wait()

    threading.Thread(target=own, daemon=True, name=f"owner of {module}").start()
    return started.result()
