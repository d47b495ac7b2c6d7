"""Confine this process permanently: no files, no network, no new processes, no privileges, bounded memory.

The kernel enforces it, so no code in the process can undo it. Where a platform lacks a mechanism, `platform_coverage`
reports it and the others still apply.
"""

import functools
import os
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from pipeline.confinement import landlock, namespaces, privileges, system_calls

if sys.platform != "win32":
    import resource

MEGABYTE = 1 << 20
SYSTEM_LIBRARIES = tuple(map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache")))
"""What a program needs besides its own file to start."""


def platform_coverage() -> dict[str, bool]:
    """Return which protections this platform has.

    "files": files cannot be opened (Landlock); "calls": no network, no process, no signal (seccomp); "memory": limited;
    "namespaces": other files cannot even be asked about.
    """
    return {
        "files": landlock.version() > 0,
        "calls": system_calls.library() is not None,
        "memory": sys.platform == "linux",
        "namespaces": namespaces.is_permitted(),
    }


def confine(
    readable: Iterable[Path], writable: Iterable[Path] = (), programs: Iterable[Path] = (), *,
    seconds: float, memory_mb: int, file_mb: int = 0, device_events: bool = False,
) -> None:  # fmt: skip
    """Confine this process, which must have a single thread. Cannot be undone. Raises OSError.

    Args:
        readable: Files and folders that stay readable, besides Python's libraries. Missing ones are skipped.
        writable: Files and folders that stay readable and writable.
        programs: Programs that may be started; they are confined as this process is.
        seconds: Limit of processor time; a fallback for the parent's.
        memory_mb: Memory that the process may use in addition to what it has now.
        file_mb: Largest file that it may write.
        device_events: Whether the kernel's messages about new devices may be received, as librealsense does.
    """
    _require_single_thread()
    readable, writable, programs = [*readable, *library_folders()], list(writable), list(programs)
    executable = [*programs, *SYSTEM_LIBRARIES] if programs else []
    seccomp = system_calls.library()  # import while files can still be read
    _set_limits(seconds, memory_mb, file_mb)
    if namespaces.is_permitted():
        namespaces.enter()
        namespaces.change_root([*readable, *executable], writable)
    if sys.platform == "linux":
        privileges.drop_capabilities()
    if landlock.version() > 0:
        landlock.restrict(readable, writable, executable)
    if seccomp is not None:
        system_calls.restrict(seccomp, bool(writable), bool(programs), device_events)


@functools.cache
def library_folders() -> tuple[Path, ...]:
    """Return the folders of Python's standard library and packages, for imports that numpy or MuJoCo defer.

    A folder that is reached through a link, as in a linked virtual environment, is there under both names.
    """
    folders = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple({*folders, *(folder.resolve() for folder in folders)})


def _require_single_thread() -> None:
    """Raise OSError if this process has threads: the kernel would confine only the one that asks."""
    if sys.platform == "linux" and (threads := len(os.listdir("/proc/self/task"))) > 1:
        raise OSError(f"a process with {threads} threads cannot be confined; confine it before it starts any")


def _set_limits(seconds: float, memory_mb: int, file_mb: int) -> None:
    now = _address_space()
    limits = {"CPU": int(seconds) + 2, "FSIZE": file_mb * MEGABYTE, "CORE": 0, "NOFILE": 64, "MEMLOCK": 0}
    # macOS cannot bound the address space of a process that has mapped the system's shared cache.
    if now is not None:
        limits["AS"] = now + memory_mb * MEGABYTE
    for name, limit in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def _address_space() -> int | None:
    """Return the bytes mapped now; None if the platform does not report them."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None
