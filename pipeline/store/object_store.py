"""Folders kept in an object store, through fsspec: a folder's files as they are, and a list of them with their hashes.

An object store has no locks and replaces one file at a time, so nothing works in it: a folder on the disk is copied
there and back. The list is written last. Files that do not fit it are of a copy that was cut off, and are refused.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pipeline.store import parse_json
from pipeline.store.files import atomic_write
from pipeline.store.storage_errors import StoreError
from pipeline.store.writer_lock import LOCK_FILE

LIST_FILE = ".files.json"
SCHEMA = 1
BUCKETS = {"s3", "gs", "gcs", "az", "abfs"}
"""Protocols whose paths begin with a bucket, which is not made by writing to it."""
NOT_COPIED = (LOCK_FILE, LIST_FILE)
Hashes = Mapping[str, str]
"""SHA-256 of each file of a folder, by its relative path with slashes."""


@dataclass(frozen=True)
class ObjectStore:
    """A place in an object store that holds folders, each with its list."""

    fs: Any
    """An fsspec file system."""
    root: str
    url: str

    @staticmethod
    def open(url: str) -> "ObjectStore":
        """Open a place such as s3://bucket/lab, memory://lab or file:///mnt/lab. Raises StoreError."""
        import fsspec

        try:
            fs, root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise StoreError(f"{url} cannot be opened: {' '.join(str(error).split())}") from None
        except ValueError as error:
            raise StoreError(f"{url} is no place that fsspec knows: {error}") from None
        return ObjectStore(fs, root.rstrip("/"), url.rstrip("/"))

    def names(self) -> list[str]:
        """Return the names of the folders in the store, sorted. Raises StoreError."""
        with _reaching(self.url):
            if not self.fs.exists(self.root):
                bucket = self.root.partition("/")[0]
                if self.url.partition("://")[0] in BUCKETS and not self.fs.exists(bucket):
                    raise StoreError(f"{self.url}: there is no bucket {bucket}; create it or correct its name")
                return []
            names = [PurePosixPath(entry["name"]).name for entry in self.fs.ls(self.root, detail=True)]
            return sorted(name for name in names if is_name(name) and self.fs.exists(self._path(name, LIST_FILE)))

    def hashes(self, name: str) -> Hashes | None:
        """Return the hashes of a folder's files; None if the store does not hold the folder. Raises StoreError."""
        with _reaching(f"{self.url}/{name}"):
            if not self.fs.exists(self._path(name, LIST_FILE)):
                return None
            content = self.fs.cat_file(self._path(name, LIST_FILE))
        try:
            data = parse_json(content)
            files = {str(path): str(value) for path, value in data["files"].items() if data["schema"] == SCHEMA}
        except (ValueError, KeyError, TypeError, AttributeError):
            files = {"": ""}
        if not all(_is_safe(path) for path in files):
            raise StoreError(f"{self.url}/{name}/{LIST_FILE} is damaged, or of a newer version of GRS Studio")
        return files

    def send(self, folder: Path, name: str, files: Hashes) -> int:
        """Make the store's folder equal to `folder`, whose hashes are `files`; return the number of files sent.

        Raises StoreError.
        """
        before = self.hashes(name) or {}
        changed = [path for path, value in files.items() if before.get(path) != value]
        with _reaching(f"{self.url}/{name}"):
            for path in changed:
                self._write(name, path, (folder / path).read_bytes())
            listed = json.dumps({"schema": SCHEMA, "files": dict(files)}, indent=1, sort_keys=True)
            self._write(name, LIST_FILE, listed.encode())
            for path in before.keys() - files.keys():
                self.fs.rm_file(self._path(name, path))
        return len(changed)

    def fetch(self, name: str, folder: Path, here: Hashes) -> int:
        """Make `folder`, whose hashes are `here`, equal to the store's; return the number of files that were fetched.

        All files are fetched and checked before the first is replaced. Raises StoreError.
        """
        there = self.hashes(name) or {}
        changed = [path for path, value in there.items() if here.get(path) != value]
        with tempfile.TemporaryDirectory(prefix="grs-studio-fetch-") as fetched:
            for number, path in enumerate(changed):
                with _reaching(f"{self.url}/{name}"):
                    content = self.fs.cat_file(self._path(name, path))
                if hashlib.sha256(content).hexdigest() != there[path]:
                    raise StoreError(f"{self.url}/{name}/{path} is not complete; sync the machine that sent it again")
                Path(fetched, str(number)).write_bytes(content)
            order = sorted(range(len(changed)), key=lambda number: changed[number] == "project.json")
            for number in order:  # a folder is a project once it has this file
                with atomic_write(folder / changed[number]) as temporary:
                    temporary.write_bytes(Path(fetched, str(number)).read_bytes())
        for path in here.keys() - there.keys():
            (folder / path).unlink(missing_ok=True)
        return len(changed)

    def _path(self, name: str, path: str) -> str:
        return f"{self.root}/{name}/{path}"

    def _write(self, name: str, path: str, content: bytes) -> None:
        target = self._path(name, path)
        self.fs.makedirs(target.rpartition("/")[0], exist_ok=True)
        self.fs.pipe_file(target, content)


@contextmanager
def _reaching(place: str) -> Iterator[None]:
    """Turn errors of the store's server or disk into StoreError with the place."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"{place} cannot be reached: {' '.join(str(error).split())[:200]}") from error


def is_name(name: str) -> bool:
    """Whether a text can be the name of a folder in a store."""
    return bool(name) and not name.startswith(".") and name.isprintable() and not set(name) & set("/\\")


def _is_safe(path: str) -> bool:
    """Whether a path of a list stays in its folder and is no file that is not copied."""
    parts = PurePosixPath(path).parts
    plain = path == "/".join(parts) and not path.startswith("/") and "\\" not in path and "\0" not in path
    return bool(parts) and plain and ".." not in parts and parts[-1] not in NOT_COPIED
