"""One writer a folder: a lock on a file in it, shared by all of this process and refused to every other.

The kernel releases it when the process ends, however it ends. On file systems without locks nothing is refused.
"""

import json
import os
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.store import parse_json
from pipeline.store.file_lock import try_lock
from pipeline.store.storage_errors import StoreError, saving

LOCK_FILE = ".writer.lock"
_guard = threading.RLock()
_address = ""
_held: "weakref.WeakValueDictionary[tuple[int, int], WriterLock]" = weakref.WeakValueDictionary()
_open_files: set[int] = set()


class LockedError(StoreError):
    """Another process writes to the folder."""


@dataclass(frozen=True)
class Holder:
    """The process that writes to a folder."""

    pid: int
    since: str
    """Local date and time."""
    address: str = ""
    """Address of its studio, empty for a command."""

    def __str__(self) -> str:
        studio = f", the studio at {self.address}" if self.address else ""
        return f"process {self.pid} since {self.since}{studio}"


def announce(address: str) -> None:
    """Set the address of this process's studio, which other processes are told."""
    global _address
    _address = address


class WriterLock:
    """The right of this process to write to a folder, until the last reference to it is gone."""

    def __init__(self, file: int, enforced: bool):
        """Called by `acquire` only."""
        self.enforced = enforced
        """Whether other processes are refused; false on a file system without locks."""
        _open_files.add(file)
        weakref.finalize(self, _close, file)

    @staticmethod
    def acquire(folder: Path) -> "WriterLock":
        """Return this process's lock of a folder. Raises LockedError if another has it, StoreError if none can be."""
        with _guard, saving(f"{folder.name} can only be looked at"):
            found = folder.stat()
            key = (found.st_dev, found.st_ino)
            if (held := _held.get(key)) is not None:
                return held
            file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                state = try_lock(file)
                if state == "busy":
                    raise LockedError(f"{folder.name} is open in {_holder(file) or 'another process'}")
                _write_holder(file)
            except BaseException:
                os.close(file)
                raise
            _held[key] = lock = WriterLock(file, state == "locked")
            return lock


def _holder(file: int) -> Holder | None:
    try:
        value = parse_json(os.pread(file, 4096, 0))
        return Holder(int(value["pid"]), str(value["since"])[:40], str(value["address"])[:200])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write_holder(file: int) -> None:
    """Name this process in the lock file. Without space on the disk the lock holds without a name."""
    holder = Holder(os.getpid(), time.strftime("%Y-%m-%d %H:%M"), _address)
    with suppress(OSError):
        os.ftruncate(file, 0)
        os.pwrite(file, json.dumps(asdict(holder)).encode(), 0)


def _close(file: int) -> None:
    with _guard:
        if file in _open_files:
            _open_files.discard(file)
            os.close(file)


def _forget_after_fork() -> None:
    """Close the locks' files in a forked child, which would keep the folders locked after its parent's end."""
    global _guard
    _guard = threading.RLock()
    for file in tuple(_open_files):
        _close(file)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)
