"""Runs generated code out of harm's way, and answers with data that has been looked at.

    with Sandbox() as sandbox:
        report, record = sandbox.run(program, project_dir)

What is and what is not covered on which platform: docs/sandbox.md, and `Sandbox.protection` in words.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pipeline.simulation.program import Program, Report
from pipeline.simulation.testimony import Limits, RunRecord, SandboxError, read

__all__ = ["Cancelled", "Limits", "RunRecord", "Sandbox", "SandboxError"]

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
sys.path.insert(0, sys.argv[1])
from pipeline.simulation.warden import serve
serve(int(sys.argv[2]))
"""
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MUJOCO_GL": "disable",  # the child never draws
    "PYTHONHASHSEED": "0",  # the order of sets must not differ from run to run
}
"""All that the server and its children know of ours: no keys, no paths."""

USUAL = Limits()


class Cancelled(SandboxError):
    """The run was stopped by whoever asked for it."""


class Sandbox:
    """A fork server and as many runs side by side as there are cores. May be used from several threads."""

    def __init__(self) -> None:
        self._server: _Server | None = None
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(os.cpu_count() or 1)

    def __enter__(self) -> "Sandbox":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server and, with it, every run. The next run starts a new one."""
        with self._lock:
            if self._server:
                self._server.close()
            self._server = None

    @property
    def protection(self) -> tuple[str, ...]:
        """What holds on this platform and what does not, a sentence each. Raises SandboxError."""
        has = self._serving().coverage
        return (
            "No file can be written; only the project's scene and Python's libraries can be read (Landlock)."
            if has["files"]
            else "NOT covered: files. This system has no Landlock, so a program could read what you can, or worse.",
            "No network, no new process, no signals to others (seccomp)."
            if has["calls"]
            else "NOT covered: network and processes. This system has no seccomp, so a program could use both.",
            "Memory, time and output are bounded."
            if has["memory"]
            else "Time and output are bounded. NOT covered: memory, which this system cannot bound.",
        )

    @property
    def covered(self) -> bool:
        """Whether everything is. Where not, ask before running a program nobody has read. Raises SandboxError."""
        return all(self._serving().coverage.values())

    def run(
        self,
        program: Program,
        project_dir: Path,
        seeds: Sequence[int] = (0,),
        checks: bool = True,
        limits: Limits = USUAL,
        cancel: threading.Event | None = None,
    ) -> tuple[Report, RunRecord | None]:
        """Builds and rolls out the program for each seed, then runs its checks on the first seed's simulation.

        The record is of the first seed's rollout, None where it did not come to that. Raises SandboxError where the
        machinery is broken, Cancelled where `cancel` was set.
        """
        job = {
            "simulation": program.simulation,
            "checks": program.checks,
            "project": str(Path(project_dir).resolve()),
            "seeds": [int(seed) for seed in seeds],
            "checks_too": checks,
            "seconds": limits.seconds,
            "memory_mb": limits.memory_mb,
            "output_mb": limits.output_mb,
        }
        while not self._places.acquire(timeout=0.05):
            _stop_if(cancel)
        try:
            answer = self._ask(json.dumps(job).encode() + b"\n", limits, cancel)
        finally:
            self._places.release()
        return read(answer, limits)

    def _ask(self, job: bytes, limits: Limits, cancel: threading.Event | None) -> bytes:
        """The warden's answer; a server found dead is started again, once."""
        for last in (False, True):
            server = self._serving()
            try:
                if answer := _converse(server.connect(), job, limits.seconds + 5, cancel):
                    return answer
            except OSError as error:
                if last:
                    raise SandboxError(f"The sandbox cannot be reached ({error}); restart the studio.") from error
            with self._lock:
                if self._server is server and not server.alive:
                    server.close()
                    self._server = None
        raise SandboxError("The sandbox died twice while running this program; restart the studio.")

    def _serving(self) -> "_Server":
        with self._lock:
            if self._server is None:
                self._server = _Server()
            return self._server


class _Server:
    """The fork server's process, started clean: nothing of our environment, nothing of our memory."""

    def __init__(self) -> None:
        if not hasattr(os, "fork"):
            raise SandboxError("Programs can only be run on Linux or macOS; everything up to the task works here too.")
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-s", "-P", "-B", "-c", START, str(ROOT), str(theirs.fileno())],
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._lock = threading.Lock()
        self._control.settimeout(60)
        hello = json.loads(self._control.makefile("rb").readline() or '{"error": "it ended at once"}')
        if "error" in hello:
            self.close()
            raise SandboxError(f"The sandbox cannot start: {hello['error']}; run `make setup` again.")
        self.coverage: dict[str, bool] = hello["coverage"]
        """Which of "files", "calls", "memory" this platform protects."""

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def connect(self) -> socket.socket:
        """A line to a warden of one's own."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            try:
                socket.send_fds(self._control, [b"."], [theirs.fileno()])
            except OSError:
                ours.close()
                raise
        return ours

    def close(self) -> None:
        self._control.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _converse(line: socket.socket, job: bytes, seconds: float, cancel: threading.Event | None) -> bytes:
    """Sends the job and reads until the warden hangs up; hanging up ourselves makes it kill the child."""
    with line:
        line.sendall(job)
        pieces, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            _stop_if(cancel)
            if select.select([line], [], [], 0.05)[0]:
                piece = line.recv(1 << 20)
                if not piece:
                    return b"".join(pieces)
                pieces.append(piece)
    raise SandboxError("The sandbox does not answer; restart the studio.")


def _stop_if(cancel: threading.Event | None) -> None:
    if cancel is not None and cancel.is_set():
        raise Cancelled("The run was stopped.")
