"""Read zips that may be hostile: limits count the bytes that are really produced, not those that the zip states.

Only stored and deflated members are read, in small chunks: deflate expands 1032 times at most, bzip2 and LZMA without
a bound. Names cannot lead out of a folder; links and devices are left out.
"""

import re
import shutil
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pipeline.errors import StudioError

CHUNK_BYTES = 1 << 18
"""Compressed and unpacked bytes in memory at a time."""
RATIO_FREE_BYTES = 300 << 20
"""Unpacked bytes up to which the ratio is not looked at: images of one colour shrink a thousandfold."""


class ZipError(StudioError):
    """A zip that is damaged, exceeds a limit, or would write outside its folder."""


@dataclass(frozen=True)
class ZipLimits:
    """Limits of one zip."""

    members: int = 50_000
    member_bytes: int = 300_000_000
    """Unpacked bytes of one member."""
    total_bytes: int = 4 << 30
    """Unpacked bytes of all members."""
    ratio: int = 200
    """Unpacked over packed size, once more than RATIO_FREE_BYTES are unpacked."""


def list_members(path: Path, limits: ZipLimits) -> dict[str, zipfile.ZipInfo]:
    """Return the files of a zip by their names with forward slashes. Raises ZipError."""
    with _open(path) as archive:
        entries = archive.infolist()
    if len(entries) > limits.members:
        raise ZipError(f"{path.name} holds {len(entries):,} files; at most {limits.members:,} are read")
    for entry in entries:
        _check_name(entry.filename, path)
    return {_clean_name(entry.filename): entry for entry in entries if not entry.is_dir() and _is_file(entry)}


def read_member(path: Path, entry: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """Return the content of one file. Raises ZipError if it is damaged, encrypted or larger than `max_bytes`."""
    with _open(path) as archive:
        return read_open_member(archive, entry, max_bytes)


def read_open_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int) -> bytes:
    """Return the content of one file of an open zip. Raises ZipError as `read_member` does."""
    content = bytearray()
    for chunk in _unpack(archive, entry, max_bytes):
        content += chunk
    return bytes(content)


def read_start(path: Path, entry: zipfile.ZipInfo) -> bytes:
    """Return the first CHUNK_BYTES of one file, or all of it if it is shorter. Raises ZipError."""
    with _open(path) as archive:
        return next(_unpack(archive, entry, CHUNK_BYTES), b"")


def extract_zip(path: Path, folder: Path, limits: ZipLimits) -> None:
    """Write the files of a zip into a folder. Raises ZipError, and leaves what was written before it."""
    members, produced = list_members(path, limits), 0
    most = min(limits.total_bytes, max(limits.ratio * path.stat().st_size, RATIO_FREE_BYTES))
    free = int(0.9 * shutil.disk_usage(folder).free)
    try:
        with _open(path) as archive:
            for name, entry in members.items():
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    for chunk in _unpack(archive, entry, limits.member_bytes):
                        produced += len(chunk)
                        if produced > most:
                            raise ZipError(_too_much(path, limits, most))
                        if produced > free:
                            raise ZipError(f"unpacking {path.name} fills the disk; set TMPDIR to another disk")
                        out.write(chunk)
    except OSError as error:
        raise ZipError(f"{path.name} cannot be unpacked: {error.strerror or error}") from None


def _too_much(path: Path, limits: ZipLimits, most: int) -> str:
    if most < limits.total_bytes:
        return f"{path.name} unpacks to hundreds of times its size; unpack it yourself and give the folder"
    return f"{path.name} unpacks to more than {most >> 30} GB; unpack it yourself and give the folder of the model"


@contextmanager
def _open(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise ZipError(f"there is no file {path}") from None
    except Exception:  # BadZipFile, struct.error, NotImplementedError, UnicodeDecodeError ...
        raise ZipError(f"{path.name} cannot be unpacked: it is not a zip, or is cut short; zip it again") from None
    with archive:
        yield archive


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, max_bytes: int) -> Iterator[bytes]:
    """Yield the content of one file in chunks. Raises ZipError, also when more than `max_bytes` come out."""
    packed, produced = Path(archive.filename or "the zip").name, 0
    name = f"{_clean_name(entry.filename)[:80]} in {packed}"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ZipError(f"{name} is not packed with deflate; zip it again with the usual settings")
    try:
        with archive.open(entry) as file:
            while produced <= max_bytes and (chunk := file.read(CHUNK_BYTES)):
                produced += len(chunk)
                yield chunk
    except MemoryError:
        raise
    except Exception:  # zlib.error, RuntimeError (password), NotImplementedError, BadZipFile, EOFError ...
        raise ZipError(f"{name} cannot be unpacked (damaged or encrypted)") from None
    if produced > max_bytes:
        raise ZipError(f"{name} unpacks to more than {max_bytes // 1_000_000} MB; that is too large")


def _clean_name(name: str) -> str:
    return "/".join(part for part in name.replace("\\", "/").split("/") if part not in ("", "."))


def _check_name(name: str, path: Path) -> None:
    """Raise ZipError for a name that leads out of the folder, or that no file system takes."""
    slashed = name.replace("\\", "/")
    if slashed.startswith("/") or ".." in PurePosixPath(slashed).parts or ":" in slashed.split("/")[0]:
        raise ZipError(f"{path.name} holds {name[:80]!r}, a path that leads out of it; zip it again")
    if not name or re.search(r"[\x00-\x1f\x7f]", name):
        raise ZipError(f"{path.name} holds the name {name[:80]!r}, which no folder takes; zip it again")


def _is_file(entry: zipfile.ZipInfo) -> bool:
    """Whether an entry is a regular file: zips made on Unix can hold links, which would name files outside."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    return kind in (0, stat.S_IFREG) and _clean_name(entry.filename) != ""
