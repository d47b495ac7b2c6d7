"""The studio in a process of its own on two cores, and the memory that it and its children use."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
CORES = 2


class Usage(NamedTuple):
    memory: float
    """MB that are resident."""
    descriptors: int
    threads: int


class ServerProcess:
    """The command `grs-studio` with these options and environment; use it in a `with` block."""

    def __init__(self, workspace: Path, *options: str, **environment: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, "-m", "studio", "--port", str(self.port), "--workspace", str(workspace), *options]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GRS_") and name != "DISPLAY"}
        self._process = subprocess.Popen(command, cwd=ROOT, env=kept | environment, start_new_session=True)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(self._process.pid, set(sorted(os.sched_getaffinity(0))[:CORES]))

    def __enter__(self) -> "ServerProcess":
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return self
            except OSError:
                assert self._process.poll() is None, "the studio ended while starting"
                time.sleep(0.2)

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)

    def memory(self) -> float:
        """Return the MB in use by the process and all its children, shared pages counted once."""
        return sum(_proportional(process) for process in _tree(self._process.pid)) / 1e6

    def usage(self) -> Usage:
        """Return what the process itself uses."""
        own = Path(f"/proc/{self._process.pid}")
        pages = int((own / "statm").read_text().split()[1])
        memory = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return Usage(round(memory, 1), len(os.listdir(own / "fd")), len(os.listdir(own / "task")))


def _tree(process: int) -> list[int]:
    children: list[int] = []
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            children += map(int, tasks.read_text().split())
    return [process, *(each for child in children for each in _tree(child))]


def _proportional(process: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0
