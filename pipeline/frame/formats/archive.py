"""Read files of a folder or of a zip through one interface, with limits on their number and size."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zipfile import ZipInfo

from pipeline.frame.frame import FrameError
from pipeline.untrusted.zips import ZipError, ZipLimits, list_members, read_member, read_start

MAX_FILE_BYTES = 300_000_000
"""Of one unpacked file: far more than a camera writes, far less than would fill the memory."""
MAX_FILES = 50_000
LIMITS = ZipLimits(members=MAX_FILES, member_bytes=MAX_FILE_BYTES)
MAX_FOLDER_DEPTH = 4
"""Levels of folders that are searched: datasets keep their recordings in subfolders."""


@dataclass(frozen=True, eq=False)
class FileBundle:
    """The files of a folder or of a zip."""

    name: str
    names: tuple[str, ...]
    """Relative paths with forward slashes, sorted."""
    read_file: Callable[[str], bytes]
    """Reads the bytes of one of `names`. Raises FrameError."""
    read_file_start: Callable[[str], bytes] | None = None
    """Reads the first bytes of one of `names`, of a zip only."""
    folder: Path | None = None
    """Its path on disk; None for a zip."""

    def read(self, name: str) -> bytes:
        """Read a file that may not exist. Raises FrameError."""
        if name not in self.names:
            raise FrameError(f"{self.name} refers to {name[:80]!r} but does not hold it.")
        return self.read_file(name)

    def read_start(self, name: str) -> bytes:
        """Read the first bytes of a file in a zip. Raises FrameError."""
        return self.read_file_start(name) if self.read_file_start else self.read(name)

    @property
    def top_level_files(self) -> tuple[str, ...]:
        """Names of files directly in the folder."""
        return tuple(name for name in self.names if "/" not in name)

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of folders directly in the folder."""
        return tuple(sorted({name.split("/")[0] for name in self.names if "/" in name}))

    def subfolder(self, folder: str) -> "FileBundle":
        """Return the files of one of its folders."""
        names = tuple(name[len(folder) + 1 :] for name in self.names if name.startswith(folder + "/"))
        path = None if self.folder is None else self.folder / folder
        return FileBundle(folder, names, lambda name: self.read_file(f"{folder}/{name}"), folder=path)


def open_folder(path: Path) -> FileBundle:
    """List a folder on disk. Raises OSError."""
    names: list[str] = []
    level = [path]
    for _ in range(MAX_FOLDER_DEPTH):
        items = [item for folder in level for item in _list_items(folder, required=folder == path)]
        names += [item.relative_to(path).as_posix() for item in items if item.is_file()]
        level = [item for item in items if item.is_dir() and not item.name.startswith(".")]
        if len(names) + len(level) > MAX_FILES:
            break
    return FileBundle(path.name, tuple(sorted(names)), lambda name: read_bytes(path / name), folder=path)


def open_zip(path: Path) -> FileBundle:
    """List a zip without unpacking it. Raises FrameError."""
    with _frame_errors():
        members = list_members(path, LIMITS)
    names = tuple(sorted(name for name in members if not name.startswith("__MACOSX")))
    return FileBundle(path.name, names, partial(_read_member, path, members), partial(_read_start, path, members))


def _read_member(path: Path, members: Mapping[str, ZipInfo], name: str) -> bytes:
    with _frame_errors():
        return read_member(path, members[name], MAX_FILE_BYTES)


def _read_start(path: Path, members: Mapping[str, ZipInfo], name: str) -> bytes:
    with _frame_errors():
        return read_start(path, members[name])


@contextmanager
def _frame_errors() -> Iterator[None]:
    try:
        yield
    except ZipError as error:
        raise FrameError(f"{error}.") from None


def check_size(path: Path) -> None:
    """Raise FrameError for a file of more than MAX_FILE_BYTES. Raises OSError."""
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FrameError(f"{path.name} is larger than {MAX_FILE_BYTES // 1_000_000} MB; a camera's images are smaller.")


def read_bytes(path: Path) -> bytes:
    """Read a file of at most MAX_FILE_BYTES. Raises FrameError."""
    try:
        check_size(path)
        return path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: the name holds a null byte
        raise FrameError(f"{path} cannot be read ({error}).") from None


def _list_items(folder: Path, required: bool) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        if required:
            raise
        return []
