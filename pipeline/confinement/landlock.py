"""Landlock: restricts files, TCP, abstract sockets and signals of this process, as far as the kernel's version can.

https://docs.kernel.org/userspace-api/landlock.html; constants from linux/landlock.h.
"""

import contextlib
import ctypes
import functools
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from pipeline.confinement.libc import call

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System call numbers, the same on every architecture."""
CREATE_RULESET_VERSION = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REMOVE_DIR, REMOVE_FILE, MAKE_DIR, MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
FIRST_VERSION_RIGHTS = (1 << 13) - 1
"""Every access to files that version 1 knows."""
TCP_BIND_AND_CONNECT = 0b11
ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

READABLE = READ_FILE | READ_DIR
WRITABLE = READABLE | WRITE_FILE | TRUNCATE | MAKE_DIR | MAKE_REG | REMOVE_DIR | REMOVE_FILE | REFER
FILE_ONLY = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""Rights that a rule on a file, not a folder, may give."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


@functools.cache
def version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none or was started without it."""
    if sys.platform != "linux":
        return 0
    try:
        return call("syscall", CREATE_RULESET, None, 0, CREATE_RULESET_VERSION)
    except (OSError, AttributeError):
        return 0


def restrict(readable: Iterable[Path], writable: Iterable[Path] = (), executable: Iterable[Path] = ()) -> None:
    """Refuse this process every file but these, all TCP, and (version 6) signals to processes that it did not start.

    It must have a single thread and no-new-privileges set. Raises OSError.

    Args:
        readable: Files and folders that stay readable. Those that do not exist are skipped.
        writable: Files and folders that stay readable and writable.
        executable: Programs, and the libraries that they load, that may be executed.
    """
    handled = _file_rights()
    # The fields after `files` came with versions 4 and 6; an older kernel accepts them while they are 0.
    ruleset = _Ruleset(
        handled, TCP_BIND_AND_CONNECT if version() >= 4 else 0, ABSTRACT_SOCKETS_AND_SIGNALS if version() >= 6 else 0
    )
    rules = call("syscall", CREATE_RULESET, ruleset, ctypes.sizeof(ruleset), 0)
    try:
        for rights, paths in ((READABLE, readable), (WRITABLE, writable), (READABLE | EXECUTE, executable)):
            for path in paths:
                _allow(rules, path, rights & handled)
        call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _file_rights() -> int:
    """Return every access to files that this kernel's version can refuse."""
    later = {REFER: 2, TRUNCATE: 3, IOCTL_DEV: 5}
    return FIRST_VERSION_RIGHTS | sum(right for right, since in later.items() if version() >= since)


def _allow(rules: int, path: Path, rights: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            allowed = rights if path.is_dir() else rights & FILE_ONLY
            call("syscall", ADD_RULE, rules, 1, _PathBeneath(allowed, folder), 0)
        finally:
            os.close(folder)
