"""Finds in kept and exported files who made them, on which machine and in which folder."""

import getpass
import io
import os
import re
import socket
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

MARK = "nobodyknows"
"""In every name of the person, the machine and the folders of a test."""
IDENTITY = {
    name: f"{MARK}-{name.lower()}" for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME", "HOST", "COMPUTERNAME")
}
"""Environment variables with such names; HOME needs a folder."""
ROOT = Path(__file__).resolve().parents[1]
COMMON_NAMES = {"root", "user", "admin", "runner", "ubuntu", "docker", "build", "localhost", "main", "test"}
"""Names of persons and machines that are ordinary words in files."""


def identity(folder: Path) -> dict[str, str]:
    """Return an environment of a marked person at home in `folder`; caches stay where they are."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return IDENTITY | {"HOME": str(folder / f"{MARK}-home"), "XDG_CACHE_HOME": cache}


def tells() -> list[str]:
    """Return the texts that must not occur: the mark, this machine's real names, and its folders."""
    names = {getpass.getuser(), socket.gethostname(), os.environ.get("USER", "")}
    real = [name for name in names if len(name) > 3 and name.lower() not in COMMON_NAMES]
    return [MARK, *real, str(ROOT), sys.prefix, str(Path.home()) + "/", tempfile.gettempdir() + "/"]


def leaks(folder: Path, marks: list[str] | None = None) -> list[str]:
    """Return "file: text found" for every file below a folder whose bytes, names or unpacked content contain one."""
    spellings = {mark.encode(code) for mark in marks or tells() for code in ("utf-8", "utf-16-le", "utf-32-le")}
    # what follows is part of the match, so that a failed test shows the whole path
    pattern = re.compile(b"|".join(re.escape(one) + b"[^\\s\"'<>\0]{0,60}" for one in sorted(spellings)), re.IGNORECASE)
    found: list[str] = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        for where, data in _contents(str(file.relative_to(folder)), file.read_bytes()):
            hits = {hit.decode("utf-8", "replace") for hit in pattern.findall(where.encode() + b"\n" + data)}
            found += [f"{where}: {hit}".replace("\0", "") for hit in sorted(hits)]
    return found


def _contents(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a file and everything packed in it: members of zips and .npz, texts of PNG and JPEG files."""
    yield name, data
    if data[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            comments = [archive.comment, *(one.comment + one.extra for one in archive.infolist())]
            yield f"{name} (comments)", b"".join(comments)
            for member in archive.namelist():
                yield from _contents(f"{name}/{member}", archive.read(member))
    elif data[:4] == b"\x89PNG" or data[:2] == b"\xff\xd8":
        picture = Image.open(io.BytesIO(data))
        picture.load()  # texts may come after the pixels
        yield f"{name} (texts)", f"{picture.info} {dict(picture.getexif())}".encode()
