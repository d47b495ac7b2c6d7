"""A control group for one run, where this process may make one: memory and processes bounded, all killed together.

Of version 2 (https://docs.kernel.org/admin-guide/cgroup-v2.html), or of version 1's "memory" and "pids" side by side.
It stands behind the limits of confine.py, which hold everywhere on Linux: those count what is mapped, this what is
used.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
TASKS = 64
"""Processes and threads that one run may have."""


@dataclass(frozen=True)
class Group:
    """The folders that are one group; none where nothing may be made."""

    folders: tuple[Path, ...]

    def join(self) -> None:
        """Moves the calling process in, for good."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text("0")

    def close(self) -> None:
        """Kills whoever is left in it, and takes it down."""
        for folder in self.folders:
            until = time.monotonic() + 0.5
            while not _gone(folder) and time.monotonic() < until:
                time.sleep(0.005)  # the dying are still in it


def _gone(folder: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        for pid in (folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def group(memory: int) -> Group:
    """A new group with room for `memory` bytes, below the one this process is in; without folders where refused."""
    made: list[Path] = []
    name = f"grs-{os.getpid()}"
    for parent, limits in _places(memory):
        folder = parent / name
        try:
            folder.mkdir()
            made.append(folder)
            for file, value in limits.items():
                (folder / file).write_text(str(value))
        except OSError:
            Group(tuple(made)).close()
            return Group(())
    return Group(tuple(made))


def available() -> bool:
    """Whether a group can be made here."""
    found = group(1 << 30)
    found.close()
    return bool(found.folders)


def _places(memory: int) -> list[tuple[Path, dict[str, int]]]:
    """Where this process's own groups are, and the files that limit a new one there."""
    try:
        own = [line.split(":", 2) for line in OWN.read_text().splitlines()]
    except OSError:
        return []
    paths = {name: path.lstrip("/") for _, names, path in own for name in names.split(",")}
    if (ROOT / "cgroup.controllers").is_file():
        below = ROOT / paths.get("", "")
        ready = (below / "cgroup.subtree_control").read_text().split() if below.is_dir() else []
        limits = {"memory.max": memory, "memory.swap.max": 0, "pids.max": TASKS}
        return [(below, limits)] if {"memory", "pids"} <= set(ready) else []
    if not {"memory", "pids"} <= set(paths):
        return []
    return [
        (ROOT / "memory" / paths["memory"], {"memory.limit_in_bytes": memory}),
        (ROOT / "pids" / paths["pids"], {"pids.max": TASKS}),
    ]
