"""Control group of one run: limits memory and processes, and kills them together, where this process may create one.

Version 2 (https://docs.kernel.org/admin-guide/cgroup-v2.html), or the controllers "memory" and "pids" of version 1. It
backs the resource limits of confinement.py, which apply everywhere on Linux: those limit mapped memory, this one used
memory.
"""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
MAX_TASKS = 64
"""Maximum number of processes and threads of one run."""


@dataclass(frozen=True)
class ControlGroup:
    """Folders of one control group; empty if none could be created."""

    folders: tuple[Path, ...]

    def join(self) -> None:
        """Move the calling process into the group, permanently."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                (folder / "cgroup.procs").write_text("0")

    def close(self) -> None:
        """Kill all processes in the group and remove it."""
        for folder in self.folders:
            deadline = time.monotonic() + 0.5
            while not _try_remove(folder) and time.monotonic() < deadline:
                time.sleep(0.005)  # processes that are exiting are still in it


def _try_remove(folder: Path) -> bool:
    """Kill what is in a folder's group and remove it; return whether it is gone."""
    with contextlib.suppress(OSError, ValueError):
        for pid in (folder / "cgroup.procs").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
    with contextlib.suppress(OSError):
        folder.rmdir()
    return not folder.exists()


def create_group(memory: int) -> ControlGroup:
    """Create a group limited to `memory` bytes below this process's own; it has no folders if that is not permitted."""
    folders: list[Path] = []
    name = f"grs-{os.getpid()}"
    for parent, limits in _parents(memory):
        folder = parent / name
        try:
            folder.mkdir()
            folders.append(folder)
            for file, value in limits.items():
                (folder / file).write_text(str(value))
        except OSError:
            ControlGroup(tuple(folders)).close()
            return ControlGroup(())
    return ControlGroup(tuple(folders))


def remove_abandoned() -> None:
    """Remove the groups of processes that were killed before they could remove their own."""
    for parent, _ in _parents(0):
        for folder in parent.glob("grs-*"):
            if not Path("/proc", folder.name.removeprefix("grs-")).exists():
                _try_remove(folder)


def is_available() -> bool:
    """Whether a group can be created on this system."""
    group = create_group(1 << 30)
    group.close()
    return bool(group.folders)


def _parents(memory: int) -> list[tuple[Path, dict[str, int]]]:
    """Return the folders of this process's own groups, each with the limits of a new group in it."""
    try:
        own = [line.split(":", 2) for line in OWN_CGROUP.read_text().splitlines()]
    except OSError:
        return []
    paths = {name: path.lstrip("/") for _, names, path in own for name in names.split(",")}
    if (CGROUP_ROOT / "cgroup.controllers").is_file():
        parent = CGROUP_ROOT / paths.get("", "")
        controllers = (parent / "cgroup.subtree_control").read_text().split() if parent.is_dir() else []
        limits = {"memory.max": memory, "memory.swap.max": 0, "pids.max": MAX_TASKS}
        return [(parent, limits)] if {"memory", "pids"} <= set(controllers) else []
    if not {"memory", "pids"} <= set(paths):
        return []
    return [
        (CGROUP_ROOT / "memory" / paths["memory"], {"memory.limit_in_bytes": memory}),
        (CGROUP_ROOT / "pids" / paths["pids"], {"pids.max": MAX_TASKS}),
    ]
