"""Training and evaluation in a process of their own: the command `grs-studio learn`, as a person would type it.

Training keeps a core busy for minutes and would keep requests waiting for Python's interpreter lock; a process of its
own can also be killed at any moment, because what it has learned is kept at every evaluation.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.store import parse_json

PREFIX = "grs-studio: "
MEMORY_BYTES = 8_000_000_000
"""Of data; training with eight environments takes 1 to 2 GB."""


class TrainingProcess:
    """One run of `grs-studio learn`."""

    def __init__(
        self, project: Path, options: Sequence[str], on_progress: Callable[[dict[str, Any]], object],
        workspace: Path | None = None,
    ):  # fmt: skip
        """`on_progress` gets what `TrainingJob.progress` holds, or {message}, in the thread of `run`.

        `workspace` is where skills are kept; None for that of the environment.
        """
        self._environment = {"OMP_NUM_THREADS": "1"} | ({"GRS_WORKSPACE": str(workspace)} if workspace else {})
        self._command = [
            sys.executable, "-m", "studio.bounded", str(MEMORY_BYTES), str(os.getpid()),
            "learn", str(project), "--json", *options,
        ]  # fmt: skip
        self._on_progress, self._lock = on_progress, threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def run(self) -> str:
        """Run to the end; return why it failed in one line, empty if it did not or was stopped."""
        environment = os.environ | self._environment
        with self._lock:
            if self._stopped:
                return ""
            process = self._process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", start_new_session=True, env=environment,
            )  # fmt: skip
        last = ""
        assert process.stdout is not None
        with process.stdout as lines:
            for line in filter(None, map(str.strip, lines)):
                try:
                    self._on_progress(dict(parse_json(line)))
                except (ValueError, TypeError):
                    last = line
                    self._on_progress({"message": line})
        process.wait()
        if process.returncode == 0 or self._stopped:
            return ""
        if process.returncode < 0:
            return f"its process was ended by {signal.Signals(-process.returncode).name}"
        return last.removeprefix(PREFIX) or f"its process ended with code {process.returncode}"

    def stop(self) -> None:
        """End the process; what it learned up to its last evaluation is kept. May be called from any thread."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                with suppress(OSError):
                    os.killpg(self._process.pid, signal.SIGKILL)
