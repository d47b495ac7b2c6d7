"""Start worker processes that touch files from outside: with a clean environment, and ended with this process."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import importlib, json, sys
sys.path[:] = json.loads(sys.argv[1])
importlib.import_module(sys.argv[2]).main()
"""
PROCESSOR = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE") if name in os.environ}
"""What a user sets where OpenBLAS takes the processor for another: a worker that lacks it rounds in another way."""
ENVIRONMENT = {
    "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MUJOCO_GL": "disable",
    "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin", **PROCESSOR,
}  # fmt: skip
"""The environment of a worker without network: no keys, no paths of the user."""
NETWORK_VARIABLES = re.compile(
    r"PATH|HOME|LANG|XDG_CACHE_HOME|GRS_OBJAVERSE|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|\w+_proxy|\w+_PROXY"
)
"""Variables that a download needs: the proxy, the index, certificates. No key is among them."""
MAX_LINE_BYTES = 16 << 20


class WorkerCrashedError(Exception):
    """A worker that ended with an error or was killed by a limit, or whose line is too long."""


def network_environment() -> dict[str, str]:
    """Return the variables of this process that a download needs."""
    return {name: value for name, value in os.environ.items() if NETWORK_VARIABLES.fullmatch(name)}


def run_worker(
    module: str, request: Mapping[str, Any], environment: Mapping[str, str], stop: threading.Event
) -> Iterator[bytes]:
    """Run `main` of a module in a process of its own; yield the lines that it prints, until `stop` is set.

    The request, with the id of this process as "parent", is the first line of its standard input, which stays open as
    long as this process lives. Raises WorkerCrashedError. The worker and all that it started are killed at the end.
    """
    process = subprocess.Popen(
        [sys.executable, "-s", "-P", "-B", "-c", SCRIPT, json.dumps([str(ROOT), *filter(None, sys.path)]), module],
        cwd="/", env=dict(environment), start_new_session=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield from _lines(process, {**request, "parent": os.getpid()}, stop)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _lines(process: subprocess.Popen[bytes], request: dict[str, Any], stop: threading.Event) -> Iterator[bytes]:
    assert process.stdin is not None and process.stdout is not None
    lines: Queue[bytes | None] = Queue(maxsize=64)
    out = process.stdout

    def read() -> None:
        line: bytes | None = b""
        while line is not None:
            line = out.readline(MAX_LINE_BYTES) or None
            while True:
                try:
                    lines.put(line, timeout=1)
                    break
                except Full:
                    if process.returncode is not None:  # nobody takes the lines any more
                        return

    with suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    threading.Thread(target=read, daemon=True, name="worker output").start()
    while not stop.is_set():
        try:
            line = lines.get(timeout=0.2)
        except Empty:
            continue
        if line is None:
            if process.wait() != 0:
                raise WorkerCrashedError
            return
        if not line.endswith(b"\n"):
            raise WorkerCrashedError
        yield line
