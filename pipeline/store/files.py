"""Files that are complete or absent: every write is to a temporary file, flushed, then moved into place."""

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.errors import reason_of
from pipeline.store.storage_errors import NewerFileError, StoreError, saving
from pipeline.store.temporary_files import temporary_beside
from pipeline.store.values import json_default, parse_json

MAX_ARRAY_BYTES = 1 << 30
"""Of the arrays in a file, unpacked."""
_BLOCK = 1 << 16


def write_json(path: Path, value: Any) -> None:
    """Replace the file by the value as JSON, or leave it unchanged if that fails. Raises StoreError."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=json_default))


def write_text(path: Path, text: str) -> None:
    """Replace the file by the text in UTF-8, or leave it unchanged if that fails. Raises StoreError."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Replace the file by the data, or leave it unchanged if that fails. Raises StoreError."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it on success and is removed on failure. Raises StoreError.

    Each writer has its own temporary file, so a reader always sees the complete file of one writer. Its content is on
    the disk before it takes the name, so that a power cut leaves the old file or the new one, never an empty one.
    """
    with saving(f"{path.name} was not saved"):
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_beside(path) as temporary:
            yield temporary
            _flush(temporary)
            temporary.replace(path)


def append_lines(
    path: Path, values: Iterable[Any], what: str = "", default: Callable[[Any], Any] = json_default
) -> None:
    """Append each value as a line of JSON and flush them to the disk: all of them, or none if that fails.

    What a crash left of an incomplete last line is removed first. Raises StoreError.

    Args:
        what: the lines are, as in "The decision", for the error; the file's name if empty.
        default: makes a JSON value of one that is not.
    """
    lines = [json.dumps(value, ensure_ascii=False, default=default) for value in values]
    data = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
    with saving(f"{what or path.name} was not saved"):
        is_new = not path.exists()
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "rb+", buffering=0) as log:
            end, separator = _end_of_lines(log)
            try:
                log.truncate(end)
                log.seek(end)
                _write(log, separator + data)
                os.fsync(log.fileno())
            except BaseException:
                with suppress(OSError):
                    log.truncate(end)
                raise
        if is_new:
            _flush(path.parent)


def listed(folder: Path, name: object) -> Path | None:
    """Return the entry of a folder that has this name, which comes from outside; None for "..", a path, no entry."""
    try:
        with os.scandir(folder) as entries:
            return next((folder / entry.name for entry in entries if entry.name == name), None)
    except FileNotFoundError:
        return None


def refuse_links(folder: Path) -> None:
    """Raise StoreError if a folder holds a link: a stranger's could lead what is read or written anywhere."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            if os.path.islink(path := os.path.join(place, name)):
                raise StoreError(
                    f"{folder.name} holds a link, {os.path.relpath(path, folder)}, which is not followed; "
                    "copy the folder with cp -rL, or remove the link"
                )


def read_arrays(path: Path) -> "dict[str, Any]":
    """Return the arrays of a .npz file by their names.

    Raises OSError, and ValueError for a damaged file, for pickled objects and for more than MAX_ARRAY_BYTES.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > MAX_ARRAY_BYTES:
            raise ValueError(f"it holds {size / 1e9:.1f} GB, more than {MAX_ARRAY_BYTES / 1e9:g} GB")
        import numpy as np

        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (
        zipfile.BadZipFile, zlib.error, struct.error, EOFError, MemoryError, SyntaxError, ValueError,
        RuntimeError,  # of zipfile: encrypted, or packed in another way
    ) as error:  # fmt: skip
        raise ValueError(reason_of(error) if str(error) else "it is incomplete") from None


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Replace the file by a compressed .npz of the arrays, or leave it unchanged if that fails. Raises StoreError."""
    import numpy as np

    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_json(path: Path, schema: int | None = None) -> Any:
    """Return the value of a JSON file; None if there is no such file. Raises StoreError.

    Args:
        schema: newest version of the file that the caller can read; a newer one raises NewerFileError.
    """
    try:
        value = parse_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path.name} cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise StoreError(f"{path.name} is damaged ({error}); restore it, or remove it") from None
    found = value.get("schema", 1) if isinstance(value, dict) else 1
    if schema is not None and isinstance(found, int) and found > schema:
        raise NewerFileError(
            f"{path.name} was saved by a newer GRS Studio (schema {found}; this one reads up to {schema}); "
            "open the project with that version. The file was left as it is"
        )
    return value


def _end_of_lines(log: BinaryIO | Any) -> tuple[int, bytes]:
    """Return where the next line begins, and what has to be written before it.

    A last line without its end is kept if it is complete JSON, as an editor may leave it; else it was never confirmed.
    """
    end = log.seek(0, os.SEEK_END)
    begin, tail = end, b""
    while begin > 0 and b"\n" not in tail:
        step = min(_BLOCK, begin)
        begin -= step
        log.seek(begin)
        tail = log.read(step) + tail
        if tail.endswith(b"\n"):
            return end, b""
    tail = tail.rpartition(b"\n")[2]
    try:
        parse_json(tail)
        return end, b"\n"
    except ValueError:
        return end - len(tail), b""


def _write(file: Any, data: bytes) -> None:
    """Write all of the data; an unbuffered file may take less at a time."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Some file systems cannot do so for folders."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(file)
