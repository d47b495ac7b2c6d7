"""The fork server and the wardens: a process that imported MuJoCo and the kit once, and per run one that watches.

    studio ── socket ──> server ──fork──> warden ──fork──> child (confined; the program runs here)

The server does nothing but fork. A warden holds the clock and counts the bytes; it kills the child when either runs
out or when the studio hangs up, with all that is in its control group, and sends one JSON line about how it ended, then
what the child wrote, unread.
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
from dataclasses import asdict, dataclass
from typing import NoReturn

from pipeline.simulation import cgroup
from pipeline.simulation.confine import MEGABYTE

SPARE_MB = 256
"""What a run's control group allows beyond its own limit, so that a program hits that first, which says so."""


@dataclass(frozen=True)
class Ending:
    """How a child ended, as its warden saw it."""

    cause: str
    """"done": by itself; "timeout": its time was up; "output": it wrote more than it may; "cancelled"."""
    code: int | None = None
    """Exit code, or None where a signal ended it."""
    signal: int | None = None
    seconds: float = 0.0
    """Wall clock from fork to end."""


def serve(control_fd: int) -> None:
    """Forks a warden for every connection that arrives on the control socket, until that closes."""
    control = socket.socket(fileno=control_fd)
    try:
        from pipeline.simulation import child, confine

        hello = {"coverage": confine.coverage(), "groups": cgroup.available()}
    except Exception as error:  # whatever is wrong with the installation, the studio shall be able to say it
        control.sendall(json.dumps({"error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        return
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens need no one to wait for them
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the studio's Ctrl-C closes the control socket, which ends us
    gc.collect()
    gc.freeze()  # children then share these pages
    control.sendall(json.dumps(hello).encode() + b"\n")
    while True:
        _, fds, _, _ = socket.recv_fds(control, 1, 1)
        if not fds:
            return
        if os.fork() == 0:
            control.close()
            with contextlib.suppress(Exception):
                _guard_run(socket.socket(fileno=fds[0]), child.answer)
            os._exit(0)
        os.close(fds[0])


def _guard_run(studio: socket.socket, answer) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = json.loads(studio.makefile("rb").readline())
    results, ours = os.pipe()
    began = time.monotonic()
    group = cgroup.group((job["memory_mb"] + SPARE_MB) * MEGABYTE)
    pid = os.fork()
    if pid == 0:
        group.join()
        _become_child(ours, job, answer)
    os.close(ours)
    cause, output = _watch(results, studio, began + job["seconds"], job["output_mb"] * MEGABYTE)
    code, by = _end(pid, patience=0.2 if cause == "done" else 0.0)
    group.close()
    seconds = time.monotonic() - began
    ending = Ending(cause, code, by, seconds)
    studio.sendall(json.dumps(asdict(ending)).encode() + b"\n" + output)


def _become_child(results: int, job: dict, answer) -> NoReturn:
    """Keeps the one pipe as descriptor 3, nothing else, and answers the job on it."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(results, 3, inheritable=False)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(4, 1024)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
            score.write("1000")  # should memory run out after all, this one goes first
    code = 1
    try:
        answer(job, os.fdopen(3, "wb"))
        code = 0
    finally:
        os._exit(code)


def _watch(results: int, studio: socket.socket, deadline: float, most: int) -> tuple[str, bytes]:
    """Reads until the child closes its pipe, its time is up, it wrote too much, or the studio hangs up."""
    output = bytearray()
    eyes = select.poll()
    eyes.register(results, select.POLLIN)
    eyes.register(studio, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0:
        for fd, _ in eyes.poll(left * 1000):
            if fd != results:
                return "cancelled", bytes(output)
            piece = os.read(results, 1 << 16)
            if not piece:
                return "done", bytes(output)
            output += piece
            if len(output) > most:
                return "output", b""
    return "timeout", bytes(output)


def _end(pid: int, patience: float) -> tuple[int | None, int | None]:
    """Gives a child seconds to go by itself, then kills it with all its group; exit code and signal."""
    until = time.monotonic() + patience
    while time.monotonic() < until and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.001)
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return (code, None) if code >= 0 else (None, -code)
