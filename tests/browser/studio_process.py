"""The command `studio` in a process of its own."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Studio:
    """The command `studio` in a process of its own; `settings` are variables of its environment."""

    program: tuple[str, ...] = ("-m", "studio")

    def __init__(self, workspace: Path, host: str = "127.0.0.1", **settings: str):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
            free.bind((host, 0))
            self.port = free.getsockname()[1]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"
        self.workspace, self.host, self.settings = workspace, host, settings
        self.start()

    def start(self) -> None:
        """Start the process and wait until it answers."""
        command = [sys.executable, *self.program, "--host", self.host, "--port", str(self.port)]
        command += ["--workspace", str(self.workspace)]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GRS_") and name != "DISPLAY"}
        self.process = subprocess.Popen(command, cwd=ROOT, env=plain | self.settings, start_new_session=True)
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=5).close()
                return
            except OSError:
                assert self.process.poll() is None, "the studio ended while starting"
                time.sleep(0.2)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        """End the process, by force if it does not end by itself."""
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()


class CheckedStudio(Studio):
    """The same, which checks that each view declares all that it reads, and fails at its end if one does not."""

    program = (str(Path(__file__).with_name("checked_views.py")),)

    def __init__(self, workspace: Path, **settings: str):
        self.stale = workspace.parent / f"{workspace.name} stale views.txt"
        super().__init__(workspace, **settings, PYTHONPATH=str(ROOT), STALE_VIEWS=str(self.stale))

    def close(self) -> None:
        super().close()
        assert not self.stale.exists(), self.stale.read_text()
