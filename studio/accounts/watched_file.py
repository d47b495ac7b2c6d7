"""A small JSON file that several processes change, and that is read again whenever it changed."""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pipeline.errors import StudioError
from pipeline.store import atomic_write, parse_json
from pipeline.store.file_lock import try_lock

T = TypeVar("T")
MAX_BYTES = 4 << 20
LOCK_SECONDS = 10.0


class WatchedFile(Generic[T]):
    """A file that only its owner can read. May be used from any thread."""

    def __init__(self, path: Path, what: str, parse: Callable[[Any], T], empty: T):
        """
        Args:
            what: is in it, for errors, as in "the users".
            parse: makes the value of the file's JSON. May raise what wrong values raise.
            empty: the value without a file.
        """
        self.path, self._what, self._parse, self._empty = path, what, parse, empty
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._value = empty

    def read(self) -> T:
        """Return what the file holds now. Raises StudioError if it cannot be read."""
        with self._lock:
            try:
                status = self.path.stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                if stamp != self._stamp:
                    if status.st_size > MAX_BYTES:
                        raise ValueError("it is too large")
                    self._value = self._parse(parse_json(self.path.read_text(encoding="utf-8")))
                    self._stamp = stamp
            except FileNotFoundError:
                self._stamp, self._value = (), self._empty
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                self._stamp, self._value = (), self._empty
                reason = error.strerror if isinstance(error, OSError) else str(error) or type(error).__name__
                raise StudioError(f"{self._what} in {self.path} cannot be read: {reason}") from None
            return self._value

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold a lock that one process has at a time, to read, change and write. Raises StudioError."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f"{self.path.name}.lock")
        end, file = time.monotonic() + LOCK_SECONDS, os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while try_lock(file) == "busy":
                if time.monotonic() > end:
                    raise StudioError(f"another process is changing {self.path.name}; try again")
                time.sleep(0.05)
            yield
        finally:
            os.close(file)

    def write(self, value: Any) -> None:
        """Replace the file. Call it while `alone`. Raises StoreError."""
        with atomic_write(self.path) as temporary:
            temporary.touch(0o600)
            temporary.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
