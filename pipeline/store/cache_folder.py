"""The user's cache: results that can be computed again, shared by all processes of the user."""

import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from pipeline.store.files import read_json, write_json
from pipeline.store.storage_errors import StoreError
from pipeline.store.temporary_files import temporary_beside


def user_cache_folder() -> Path:
    """Return $XDG_CACHE_HOME/grs-studio or ~/.cache/grs-studio; where that cannot be written, a temporary folder."""
    return _writable(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


@cache
def _writable(parent: str) -> Path:
    folder = Path(parent) / "grs-studio"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="grs-studio-cache-"))
    return folder


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills if it is missing. It is complete or absent, whoever is killed meanwhile."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(folder) as part:
        part.mkdir()
        try:
            make(part)
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder


def memoise(folder: Path, key: str, compute: Callable[[], Any]) -> Any:
    """Return the JSON value saved under this key; compute and save it if there is none or it cannot be read.

    A value that cannot be saved is computed again next time, which is no error. Threads that ask for the same value
    wait a while for the first.
    """
    file = folder / f"{key}.json"
    with _locks_lock:
        lock = _locks.setdefault(file, threading.RLock())
    # 2.0: seconds after which it is computed here too: the first may be a thread that has to wait for others
    is_held = lock.acquire(timeout=2.0)
    try:
        value = None
        with suppress(StoreError):
            value = read_json(file)
        if value is None:
            value = compute()
            with suppress(StoreError):
                write_json(file, value)
        return value
    finally:
        if is_held:
            lock.release()


_locks: "WeakValueDictionary[Path, threading.RLock]" = WeakValueDictionary()
"""By the file of the value that a thread looks up or computes."""
_locks_lock = threading.Lock()
