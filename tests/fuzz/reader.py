"""What a reader of something foreign is, and the small files that it begins with."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Files = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    read: Callable[[Path], object]
    """Reads the files in a folder. Raises StudioError."""
    seed: Callable[[], Files]
    is_contained: bool = False
    """Whether the studio calls it in a confined child, which may be ended by a limit or crash."""


def files_of(write: Callable[[Path], object]) -> Callable[[], Files]:
    """Return a seed of the files that a function writes into a folder."""

    def seed() -> Files:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder))
            return files_in(Path(folder))

    return seed


def files_in(top: Path) -> Files:
    """Return the files below a folder by their relative path."""
    return {file.relative_to(top).as_posix(): file.read_bytes() for file in top.rglob("*") if file.is_file()}


def save(files: Files, folder: Path) -> None:
    """Inverse of `files_in`."""
    for relative, content in files.items():
        path = folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def text_seed(*texts: str) -> Callable[[], Files]:
    """Return a function that makes one file of each text."""
    return lambda: {f"{number}.txt": text.encode() for number, text in enumerate(texts)}


def each_text(read: Callable[[str], object]) -> Callable[[Path], object]:
    """Return a reader of every file of a folder, in the order of their names, from a reader of one text."""
    return each_file(lambda data: read(data.decode("utf-8", "replace")))


def each_file(read: Callable[[bytes], object]) -> Callable[[Path], object]:
    """Return a reader of every file of a folder, in the order of their names, from a reader of bytes."""
    return lambda folder: [read(file.read_bytes()) for file in sorted(folder.iterdir())]
