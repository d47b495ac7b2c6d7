"""A command of the studio in a process of its own, which may crash, hang or be killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

PREFIX = "grs-studio: "
"""Begins the one line that a command prints when it fails."""
STOPPED = "it was stopped"


def bounded_command(words: Sequence[str], memory_bytes: int) -> list[str]:
    """Return what starts `grs-studio WORDS` with bounded memory, as long as this process lives."""
    return [sys.executable, "-m", "studio.bounded", str(memory_bytes), str(os.getpid()), *words]


class BoundedProcess:
    """One run of a command."""

    def __init__(
        self,
        words: Sequence[str],
        memory_bytes: int,
        on_line: Callable[[str], object],
        environment: Mapping[str, str] | None = None,
        seconds: float | None = None,
        reads_output: bool = False,
        hints: tuple[str, str] = ("", ""),
    ):
        """
        Args:
            words: of the command, after `grs-studio`.
            on_line: is called, in the thread of `run`, with each line of its standard error. Lines for which it returns
                something true do not say why the command failed.
            environment: variables that it has besides those of this process.
            seconds: that it may take.
            reads_output: whether lines of its standard output count too.
            hints: what a person can do if it took too long, and if it was ended by the system.
        """
        self._command, self._on_line, self._environment = bounded_command(words, memory_bytes), on_line, environment
        self._seconds, self._reads_output, self._hints = seconds, reads_output, hints
        self._process: subprocess.Popen[str] | None = None
        self._killed = False
        self._lock = threading.Lock()

    def run(self) -> str:
        """Run to the end; return why it failed in one line, empty if it did not."""
        late = threading.Event()
        with self._lock:
            if self._killed:
                return STOPPED
            process = self._process = self._start()
        timer = threading.Timer(self._seconds or threading.TIMEOUT_MAX, lambda: (late.set(), _kill(process)))
        timer.start()
        try:
            last = self._follow(process)
        finally:
            timer.cancel()
            _kill(process)  # whatever it started ends with it
        if late.is_set():
            return f"it took longer than {self._seconds:g} s{self._hints[0]}"
        if process.returncode == 0:
            return ""
        if self._killed:
            return STOPPED
        if process.returncode < 0:
            return f"its process was ended by {signal.Signals(-process.returncode).name}{self._hints[1]}"
        return last.removeprefix(PREFIX) or f"its process ended with code {process.returncode}"

    def kill(self) -> None:
        """End it, with all that it started. May be called from another thread, before, during and after `run`."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                _kill(self._process)

    def _start(self) -> "subprocess.Popen[str]":
        streams = (subprocess.PIPE, subprocess.STDOUT) if self._reads_output else (subprocess.DEVNULL, subprocess.PIPE)
        return subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1], text=True, errors="replace",
            start_new_session=True, env=os.environ | dict(self._environment or {}),
        )  # fmt: skip

    def _follow(self, process: "subprocess.Popen[str]") -> str:
        """Report each line; return the last one that may say why the process failed."""
        last = ""
        printed = process.stdout or process.stderr
        assert printed is not None
        with printed as lines:
            for line in filter(None, map(str.strip, lines)):
                if not self._on_line(line):
                    last = line
        process.wait()
        return last


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process and those of its session."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
