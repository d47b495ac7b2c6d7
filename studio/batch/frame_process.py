"""Runs one frame of a batch in a process of its own, which may crash, hang or be killed."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from pipeline.project import STAGES

PREFIX = "grs-studio: "
"""Begins the one line that a command prints when it fails."""


@dataclass(frozen=True)
class Bounds:
    """Limits of one frame's process."""

    seconds: float = 1800.0
    memory_gb: float = 8.0


@dataclass(frozen=True)
class FrameTask:
    """One frame to run, with all that its process needs to know, on this machine or on another."""

    frame: str
    """Absolute path."""
    out: str
    """Absolute path of its project's folder."""
    options: tuple[str, ...] = ()
    """Options of `grs-studio run`."""
    bounds: Bounds = Bounds()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that its process has besides those of the process that starts it."""


StageReport = Callable[[str], object]
"""Is called with the name of each stage that begins."""


class RunningFrame(Protocol):
    """A frame that is run, wherever that is."""

    def run(self) -> str:
        """Run the frame to its end; return why it failed, empty if it did not."""
        ...

    def kill(self) -> None:
        """End it, with all that it started. May be called from another thread, before, during and after `run`."""
        ...


class FrameProcess:
    """A frame that is run in a process on this machine."""

    def __init__(self, task: FrameTask, on_stage: StageReport):
        self.task, self._on_stage = task, on_stage
        self._process: subprocess.Popen[str] | None = None
        self._killed = False
        self._lock = threading.Lock()

    def run(self) -> str:
        """Run the frame to its end; return why it failed, empty if it did not."""
        bounds, late = self.task.bounds, threading.Event()
        with self._lock:
            if self._killed:
                return "it was stopped"
            process = self._process = self._start()
        timer = threading.Timer(bounds.seconds, lambda: (late.set(), _kill(process)))
        timer.start()
        try:
            last = self._follow(process)
        finally:
            timer.cancel()
            _kill(process)  # whatever it started ends with it
        if late.is_set():
            return f"it took longer than {bounds.seconds:g} s; --timeout gives it more"
        if process.returncode == 0:
            return ""
        if process.returncode < 0:
            reason = signal.Signals(-process.returncode).name
            return f"its process was ended by {reason}; it may need more memory than --memory {bounds.memory_gb:g}"
        return last.removeprefix(PREFIX) or f"its process ended with code {process.returncode}"

    def kill(self) -> None:
        """End the process, with all that it started."""
        with self._lock:
            self._killed = True
            if self._process is not None:
                _kill(self._process)

    def _start(self) -> "subprocess.Popen[str]":
        task, memory = self.task, int(self.task.bounds.memory_gb * 1e9)
        command = [sys.executable, "-m", "studio.bounded", str(memory), str(os.getpid()), "run", task.frame]
        return subprocess.Popen(
            [*command, "--out", task.out, *task.options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
            env=os.environ | dict(task.environment),
        )  # fmt: skip

    def _follow(self, process: "subprocess.Popen[str]") -> str:
        """Report each new stage; return the last line that the process printed."""
        last, stage = "", ""
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                line = line.strip()
                last = line or last
                now = line.partition(":")[0]
                if now in STAGES and now != stage:
                    stage = now
                    self._on_stage(stage)
        process.wait()
        return last


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process and those of its session."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
