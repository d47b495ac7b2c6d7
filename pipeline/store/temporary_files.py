"""Temporary files and folders, and the removal of those whose process was killed.

A file that is being written has its process's id in its name. A process keeps its other temporary files in a folder of
its own, with a lock that the kernel releases when the process ends, however it ends.
"""

import atexit
import glob
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.store.file_lock import try_lock

_NAME = re.compile(r"\..+\.(\d+)-[0-9a-f]{8}\.part(?:\.\w+)?")
_FOLDER_PREFIX, _FOLDER_LOCK = "grs-studio.", ".lock"
_being_written: set[Path] = set()
_private_folder: Path | None = None


@contextmanager
def temporary_beside(path: Path, suffix: str = "") -> Iterator[Path]:
    """Yield the name of a temporary file in the same folder, and remove the file at the end if it is still there.

    Args:
        suffix: of the name, for a writer that goes by it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part{suffix}")
    _being_written.add(temporary)
    try:
        yield temporary
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        _being_written.discard(temporary)


def is_temporary(path: Path) -> bool:
    """Whether a file has the name of one that is being written, or was when its process was killed."""
    return _NAME.fullmatch(path.name) is not None


def remove_dead_files(folder: Path, name: str = "") -> int:
    """Remove the temporary files and folders that killed processes left below a folder; return their number.

    With a name only those of the file or folder of that name in it. Those of processes that live, on this machine, are
    never removed.
    """
    count = 0
    for path in [*folder.glob(f".{glob.escape(name)}.*.part*")] if name else [*folder.rglob(".*.part*")]:
        match = _NAME.fullmatch(path.name)
        if match and path not in _being_written and not _is_running(int(match[1])):
            with suppress(OSError):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
                count += 1
    return count


def use_private_folder() -> Path | None:
    """Let `tempfile` use a new folder of this process, removed at its end; first remove those of killed processes.

    Returns the folder; None if there can be none, in which case nothing changes.
    """
    global _private_folder
    if _private_folder is not None:
        return _private_folder
    parent = Path(tempfile.gettempdir())
    with suppress(OSError):
        _remove_dead_folders(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_FOLDER_PREFIX}{os.getpid()}.", dir=parent))
        lock = os.open(folder / f"{_FOLDER_LOCK}.new", os.O_RDWR | os.O_CREAT, 0o600)
        try_lock(lock)
        (folder / f"{_FOLDER_LOCK}.new").rename(folder / _FOLDER_LOCK)  # it never has this name while it is free
    except OSError:
        return None
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    tempfile.tempdir, os.environ["TMPDIR"], _private_folder = str(folder), str(folder), folder
    return folder


def _remove_dead_folders(parent: Path) -> None:
    for folder in parent.glob(f"{_FOLDER_PREFIX}*"):
        lock = folder / _FOLDER_LOCK
        if not lock.is_file() or folder.is_symlink() or folder.stat().st_uid != _user():
            continue
        with suppress(OSError):
            file = os.open(lock, os.O_RDWR)
            try:
                if try_lock(file) == "locked":
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(file)


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_running(process: int) -> bool:
    """Whether a process other than this one has that id; the files of this one are known."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
