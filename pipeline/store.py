"""Files that survive a crash: written aside, then put in place at once; logs that grow line by line."""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.errors import StudioError


class StoreError(StudioError):
    """A file that was kept and cannot be read back."""


def write_json(path: Path, value: Any) -> None:
    """Replaces the file by the value, or leaves it as it was."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=_plain))


def write_text(path: Path, text: str) -> None:
    """Replaces the file by the text, or leaves it as it was."""
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` to write: it takes its place at once when all went well, else it is removed.

    No two writers share one, so a reader sees a whole file of one of them, whatever the other does.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def append_line(path: Path, value: Any) -> None:
    """Adds the value as one line and waits until it is on the disk; a last line that a crash cut off goes first."""
    path.touch()
    with path.open("rb+") as log:
        end = log.seek(0, os.SEEK_END)
        log.seek(max(end - 1, 0))
        if log.read() not in (b"", b"\n"):
            log.seek(0)
            end = log.read().rfind(b"\n") + 1
        log.seek(end)
        log.truncate()
        log.write(json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")
        log.flush()
        os.fsync(log.fileno())


def read_json(path: Path) -> Any:
    """The file's value, None where there is no such file. Raises StoreError."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{path.name} is damaged ({error}); restore it, or remove it") from None


def digest(*values: Any) -> str:
    """A short hash of arrays, bytes and anything JSON can hold."""
    total = hashlib.blake2b(digest_size=12)
    for value in values:
        if isinstance(value, np.ndarray):
            total.update(f"{value.dtype}{value.shape}".encode())
            total.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, bytes):
            total.update(value)
        else:
            total.update(json.dumps(value, sort_keys=True, default=_plain).encode())
        total.update(b"\0")
    return total.hexdigest()


def memo(folder: Path, key: str, compute: Callable[[], Any]) -> Any:
    """The JSON value kept under this key, computed and kept where there is none yet, or none that can be read."""
    kept, value = folder / f"{key}.json", None
    with suppress(StoreError):
        value = read_json(kept)
    if value is None:
        value = compute()
        write_json(kept, value)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be kept as JSON")
