"""A folder or a zip of one, seen the same way: names, and bytes on request, both bounded."""

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline.frame.frame import FrameError

LARGEST_FILE = 300_000_000
"""Bytes of one file, unpacked: far above any camera, far below what would fill the memory."""
MOST_NAMES = 50_000
DEEPEST = 4
"""Folders below the one given, for datasets keep their recordings side by side."""


@dataclass(frozen=True, eq=False)
class Bundle:
    """Files under one roof."""

    name: str
    names: tuple[str, ...]
    """Paths from the roof, with forward slashes, sorted."""
    bytes_of: Callable[[str], bytes]
    folder: Path | None = None
    """Where it lies on disk; None inside a zip."""

    def read(self, name: str) -> bytes:
        """A file's bytes. Raises FrameError."""
        if name not in self.names:
            raise FrameError(f"{self.name} names {name[:80]!r} but does not hold it.")
        return self.bytes_of(name)

    @property
    def top(self) -> tuple[str, ...]:
        """Names that lie directly under the roof."""
        return tuple(name for name in self.names if "/" not in name)

    @property
    def folders(self) -> tuple[str, ...]:
        """Folders directly under the roof."""
        return tuple(sorted({name.split("/")[0] for name in self.names if "/" in name}))

    def inside(self, folder: str) -> "Bundle":
        """The same seen from one of its folders."""
        names = tuple(name[len(folder) + 1 :] for name in self.names if name.startswith(folder + "/"))
        below = None if self.folder is None else self.folder / folder
        return Bundle(folder, names, lambda name: self.bytes_of(f"{folder}/{name}"), below)


def open_folder(path: Path) -> Bundle:
    """A folder on disk. Raises OSError."""
    names: list[str] = []
    level = [path]
    for _ in range(DEEPEST):
        inside = [item for folder in level for item in _listed(folder, must=folder == path)]
        names += [item.relative_to(path).as_posix() for item in inside if item.is_file()]
        level = [item for item in inside if item.is_dir() and not item.name.startswith(".")]
        if len(names) + len(level) > MOST_NAMES:
            break
    return Bundle(path.name, tuple(sorted(names)), lambda name: read_bytes(path / name), path)


def open_zip(path: Path) -> Bundle:
    """A zip, read without unpacking. Raises FrameError."""
    try:
        with zipfile.ZipFile(path) as archive:
            items = {item.filename.replace("\\", "/"): item for item in archive.infolist() if not item.is_dir()}
    except Exception:  # BadZipFile, struct.error, NotImplementedError, UnicodeDecodeError ...
        raise FrameError(f"{path.name} is not a zip that can be read, or cut short; zip it again.") from None
    for name in items:
        if name.startswith("/") or ".." in PurePosixPath(name).parts or ":" in name.split("/")[0]:
            raise FrameError(f"{path.name} holds {name!r}, which points outside the archive; zip it again.")
    if len(items) > MOST_NAMES:
        raise FrameError(f"{path.name} holds {len(items)} files; give one recording of at most {MOST_NAMES}.")
    names = tuple(sorted(name for name in items if not name.startswith("__MACOSX")))
    return Bundle(path.name, names, lambda name: unpacked(path, items[name], name))


def unpacked(path: Path, item: zipfile.ZipInfo, name: str) -> bytes:
    """One file of a zip, at most LARGEST_FILE bytes. Raises FrameError."""
    if item.file_size > LARGEST_FILE:
        raise FrameError(f"{name} in {path.name} unpacks to {item.file_size // 1_000_000} MB; too large.")
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(item)
    except Exception:  # zlib.error, RuntimeError (password), NotImplementedError, BadZipFile ...
        raise FrameError(f"{name} in {path.name} cannot be unpacked (damaged, or behind a password).") from None


def read_bytes(path: Path) -> bytes:
    """A file's bytes, at most LARGEST_FILE of them. Raises FrameError."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FrameError(f"{path.name} is larger than {LARGEST_FILE // 1_000_000} MB; no camera's picture is.")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte in it
        raise FrameError(f"{path} cannot be read ({error}).") from None


def _listed(folder: Path, must: bool) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        if must:
            raise
        return []
