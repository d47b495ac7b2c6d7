"""Fork server and supervisors: a process that has imported MuJoCo and the kit once, and one supervisor per run.

    studio ── socket ──> server ──fork──> supervisor ──fork──> child (confined; the program runs here)

The server only forks. A supervisor enforces the limits of processor time and output: it kills the child with its
control group when one is exceeded or when the studio disconnects. It forwards the child's output as it comes, each
piece as an array of bytes that it does not parse; its last message says how the child exited. The kernel kills each
process when its parent ends.
"""

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import BinaryIO, NoReturn

import numpy as np

from pipeline.confinement import MEGABYTE, end_with_parent, namespaces, platform_coverage
from pipeline.simulation.sandbox import cgroup
from pipeline.untrusted.fork_server import connections
from pipeline.untrusted.messages import write_message

IDLE_SECONDS = 30.0
"""How long a child may sleep in all: physics and honest programs never do. Waiting for a core is no sleep."""


@dataclass(frozen=True)
class ChildExit:
    """How a child exited, as its supervisor observed it."""

    cause: str
    """How it ended: "done", by itself; "timeout", "idle" or "output", the limit exceeded; "cancelled", the studio
    disconnected; "refused": the studio refused a message of it."""
    code: int | None = None
    """Exit code; None if a signal ended it."""
    signal: int | None = None
    """Number of that signal; None if it exited."""
    seconds: float = 0.0
    """Wall-clock time from fork to exit."""
    processor: float = 0.0
    """Processor time."""


def serve(control_fd: int, studio: int) -> None:
    """Fork a supervisor for every connection received on the control socket, until that closes.

    `studio` is the process id of the studio, with which this process ends.
    """
    end_with_parent(studio)
    # The children are nicer than the studio, which has pages to answer while they compute
    os.nice(5)
    control = socket.socket(fileno=control_fd)
    try:
        coverage = platform_coverage()
        if coverage["namespaces"]:
            namespaces.enter()  # once for all children
        from pipeline.simulation.sandbox import worker

        worker.prepare()
        hello = {"coverage": coverage, "groups": cgroup.is_available()}
    except Exception as error:  # report a broken installation to the studio
        control.sendall(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        return
    cgroup.remove_abandoned()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors are reaped automatically
    gc.collect()
    gc.freeze()  # children then share these pages
    control.sendall(json.dumps(hello).encode() + b"\n")
    server = os.getpid()
    for connection in connections(control):
        if os.fork() == 0:
            end_with_parent(server)
            control.close()
            with contextlib.suppress(Exception):
                _supervise(connection, worker.run_job)
            os._exit(0)
        connection.close()


def _supervise(studio: socket.socket, run_job: Callable[[dict, BinaryIO], None]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = json.loads(studio.makefile("rb").readline())
    # How long a message may wait for the studio to read it
    studio.settimeout(30.0)
    out = studio.makefile("wb")
    results, child_end = os.pipe()
    supervisor = os.getpid()
    # 256: added to a run's memory limit for its control group, so that the resource limit, which reports itself, acts
    # first
    group = cgroup.create_group((job["memory_mb"] + 256) * MEGABYTE)
    pid = os.fork()
    if pid == 0:
        end_with_parent(supervisor)
        group.join()
        _become_child(child_end, job, run_job)
    os.close(child_end)
    cause, clock, child_exit = "cancelled", _Clock(pid), None
    try:
        cause = _forward(results, studio, out, clock, job)
    finally:
        child_exit = _terminate(pid, cause, clock)
        group.close()
    write_message(out, asdict(child_exit))


class _Clock:
    """The time of a child."""

    def __init__(self, pid: int) -> None:
        self._pid, self._start = pid, time.monotonic()

    @property
    def seconds(self) -> float:
        """Wall-clock time since the fork."""
        return time.monotonic() - self._start

    def read(self) -> tuple[float, float]:
        """Return the seconds that the child has computed, and those that it has slept: neither run nor waited to run.

        Where the system does not tell, all of the time counts as computing.
        """
        seconds = self.seconds
        try:
            computed = time.clock_gettime((~self._pid << 3) | 2)  # clock_getcpuclockid(3)
            with open(f"/proc/{self._pid}/schedstat") as file:
                ran, waited = map(int, file.read().split()[:2])
        except (OSError, ValueError):
            return seconds, 0.0
        return computed, seconds - (ran + waited) * 1e-9


def _become_child(results: int, job: dict, run_job: Callable[[dict, BinaryIO], None]) -> NoReturn:
    """Run the job with the result pipe as descriptor 3 and no other descriptor open."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(results, 3, inheritable=False)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.closerange(4, 1024)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # if memory runs out, the kernel kills this process first
    code = 1
    try:
        run_job(job, os.fdopen(3, "wb"))
        code = 0
    finally:
        os._exit(code)


def _forward(results: int, studio: socket.socket, out: BinaryIO, clock: _Clock, job: dict) -> str:
    """Forward output until the child closes its pipe, a limit is exceeded, or the studio disconnects; return which."""
    sent = 0
    poller = select.poll()
    poller.register(results, select.POLLIN)
    poller.register(studio, select.POLLIN)
    while (remaining := job["seconds"] - clock.read()[0]) > 0:
        if clock.read()[1] > IDLE_SECONDS:
            return "idle"
        # 1.0: how often a child's time is looked at, at least
        for fd, _ in poller.poll(1000 * min(1.0, max(remaining, 0.01))):
            if fd != results:
                return "cancelled"
            chunk = os.read(results, 1 << 16)
            if not chunk:
                return "done"
            sent += len(chunk)
            if sent > job["output_mb"] * MEGABYTE:
                return "output"
            write_message(out, {}, [np.frombuffer(chunk, np.uint8)])
    return "timeout"


def _terminate(pid: int, cause: str, clock: _Clock) -> ChildExit:
    """Wait for a child that is done to exit, then kill it and its group; return how it exited."""
    deadline = time.monotonic() + (0.2 if cause == "done" else 0.0)
    while time.monotonic() < deadline and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    computed = used.ru_utime + used.ru_stime
    return ChildExit(cause, code if code >= 0 else None, -code if code < 0 else None, clock.seconds, computed)
