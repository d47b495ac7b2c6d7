"""Another process that has a project open, as a second studio would."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOLD = """
import sys
from pathlib import Path
from pipeline.store import WriterLock, announce
announce(sys.argv[2])
lock = WriterLock.acquire(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def open_elsewhere(folder: Path, address: str = "http://127.0.0.1:7861") -> Iterator[subprocess.Popen[str]]:
    """Hold the writer's lock of a project in another process until the end of the block."""
    command, pipe = [sys.executable, "-c", HOLD, str(folder), address], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout and process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
