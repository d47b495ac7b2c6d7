"""The studio's side of the fork server: starts it, and exchanges a job for the messages of a confined child."""

import os
import select
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

from pipeline.simulation.sandbox.child_report import ChildReader
from pipeline.simulation.sandbox.protocol import RunCancelled, SandboxError
from pipeline.simulation.sandbox.supervisor import FRAME, OUTPUT, ChildExit
from pipeline.store import parse_json
from pipeline.untrusted.fork_connection import ForkConnection
from pipeline.untrusted.worker_process import PROCESSOR

ROOT = Path(__file__).resolve().parents[3]
SERVER_SCRIPT = """
import os, sys
os.nice(5)
sys.path.insert(0, sys.argv[1])
from pipeline.simulation.sandbox.supervisor import serve
serve(int(sys.argv[2]), int(sys.argv[3]))
"""
"""Its children are nicer than the studio, which has pages to answer while they compute."""
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MUJOCO_GL": "disable",  # the child never draws
    "PYTHONHASHSEED": "0",  # sets have the same order in every run
    **PROCESSOR,
}
"""The complete environment of the server and its children: no keys, no paths."""


class ServerProcess(ForkConnection):
    """The fork server, started with an empty environment and fresh memory. The kernel ends it with this process."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError("Programs run on Linux and macOS only; everything up to the task works on this system.")
        control, server_end = socket.socketpair()
        with server_end:
            super().__init__(_start(server_end), control)
        control.settimeout(60)
        hello = self._read_hello()
        if "error" in hello:
            self.close()
            raise SandboxError(f"The sandbox cannot start: {hello['error']}; run `make setup` again.")
        self.coverage: dict[str, bool] = hello["coverage"]
        """Which of confinement.platform_coverage this platform has."""
        self.groups: bool = hello.get("groups", False)
        """Whether every run gets its own control group."""

    def _read_hello(self) -> dict:
        try:
            with self._control.makefile("rb") as lines:
                return parse_json(lines.readline() or '{"error": "it exited immediately"}')
        except OSError as error:
            return {"error": f"it does not respond ({error})"}


def _start(server_end: socket.socket) -> subprocess.Popen:
    """Start the process from a thread that lives as long: the kernel ends a child with the thread that started it."""
    started: Future[subprocess.Popen] = Future()
    command = [sys.executable, "-s", "-P", "-B", "-c", SERVER_SCRIPT, str(ROOT)]

    def own() -> None:
        try:
            process = subprocess.Popen(
                [*command, str(server_end.fileno()), str(os.getpid())],
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[server_end.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            return started.set_exception(SandboxError(f"The sandbox cannot start: {error}; run `make setup` again."))
        started.set_result(process)
        process.wait()

    threading.Thread(target=own, daemon=True, name="sandbox server").start()
    return started.result()


def exchange(
    connection: socket.socket, job: bytes, seconds: float, cancel: threading.Event | None, reader: ChildReader
) -> ChildExit | None:
    """Send the job, feed the child's output to the reader, and return how the child exited; None if nobody says so.

    Closing the connection ends the child: when `cancel` is set, and at the first message that the reader refuses.
    Raises SandboxError.
    """
    with connection:
        connection.sendall(job)
        received, deadline = bytearray(), time.monotonic() + seconds
        while time.monotonic() < deadline:
            raise_if_set(cancel)
            if not select.select([connection], [], [], 0.05)[0]:
                continue
            chunk = connection.recv(1 << 17)
            if not chunk:
                return None
            received += chunk
            while len(received) >= FRAME.size:
                kind, size = FRAME.unpack_from(received)
                if len(received) < FRAME.size + size:
                    break
                payload = bytes(received[FRAME.size : FRAME.size + size])
                del received[: FRAME.size + size]
                if kind != OUTPUT:
                    return ChildExit(**parse_json(payload))
                if not reader.feed(payload):
                    return ChildExit("refused")
    raise SandboxError("The sandbox does not respond; restart the studio.")


def raise_if_set(cancel: threading.Event | None) -> None:
    """Raise RunCancelled if the event is set."""
    if cancel is not None and cancel.is_set():
        raise RunCancelled("The run was cancelled.")
