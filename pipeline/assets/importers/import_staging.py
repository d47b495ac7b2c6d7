"""The hidden folder that an import's child writes to, from where assets move to the library; and their licences."""

import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.assets.asset import AssetError

_NAME = re.compile(r"\.import\.(\d+)\.[0-9a-f]{8}")
_IDENTIFIER = re.compile(r"[a-z0-9_]{1,200}")

LICENCE_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING")
LICENCE_PATTERNS = (
    ("CC0-1.0", r"CC0 1\.0|Creative Commons Zero"),
    ("CC BY-NC-SA 4.0", r"Attribution-NonCommercial-ShareAlike 4\.0"),
    ("CC BY-NC 4.0", r"Attribution-NonCommercial 4\.0"),
    ("CC BY-SA 4.0", r"Attribution-ShareAlike 4\.0"),
    ("CC BY 4.0", r"Attribution 4\.0"),
    ("Apache-2.0", r"Apache License\s+Version 2\.0"),
    ("MIT", r"Permission is hereby granted, free of charge"),
    ("BSD-3-Clause", r"Redistribution and use in source and binary(?s:.*)Neither the name"),
    ("BSD-2-Clause", r"Redistribution and use in source and binary"),
)
"""Names and regular expressions of their texts; the more specific ones come first."""
COPYRIGHT_LINE = re.compile(r"^\W*(Copyright\s.*\d{4}.*)$", re.MULTILINE)


@contextmanager
def staging_folder(library: Path) -> Iterator[Path]:
    """Yield a new folder in the library, which is not read as an asset; remove it, and those of killed processes."""
    library.mkdir(parents=True, exist_ok=True)
    for leftover in library.glob(".import.*"):
        if (match := _NAME.fullmatch(leftover.name)) and not is_running(int(match[1])):
            shutil.rmtree(leftover, ignore_errors=True)
    folder = library / f".import.{os.getpid()}.{secrets.token_hex(4)}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def take_over(staging: Path, id: str, library: Path, may_replace: bool) -> None:
    """Move a finished asset folder into the library. Raises AssetError if it holds anything but files."""
    source, target = staging / id, library / id
    if not _IDENTIFIER.fullmatch(id):
        raise AssetError(f"its id is {id[:40]!r}; the file may be an attack")
    if target.exists() and not may_replace:
        raise AssetError(f'the library has an asset "{id}"; give another --id, or --replace')
    try:
        contents = [source, *source.rglob("*")]
        kinds = {stat.S_IFMT(path.lstat().st_mode) for path in contents}
    except OSError as error:
        raise AssetError(f"its asset folder cannot be read: {error.strerror}") from None
    # 5_000: largest files of one asset
    if kinds - {stat.S_IFDIR, stat.S_IFREG} or len(contents) > 5_000:
        raise AssetError("its reader wrote more than plain files; the file may be an attack")
    replace_folder(source, target)


def replace_folder(new: Path, target: Path) -> None:
    """Move `new` to `target`. The old folder is deleted only after the new one is in place."""
    old = target.with_name(f".{target.name}.{os.getpid()}.old")
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def clean_up_interrupted(library: Path, id: str) -> None:
    """Delete the temporary folders of killed imports of this id; restore an old asset that was not replaced."""
    for leftover in library.glob(f".{id}.*.*"):
        *_, process, kind = leftover.name.split(".")
        if process == str(os.getpid()) or not (process.isdigit() and is_running(int(process))):
            if kind == "old" and not (library / id).exists():
                leftover.rename(library / id)
            shutil.rmtree(leftover, ignore_errors=True)


def is_running(process: int) -> bool:
    """Whether a process of this id runs."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def find_licence(source: Path, root: Path | None = None) -> str:
    """Return the name of the licence nearest to `source`, in its folder or above up to `root`; empty if none."""
    top = (root or source.parent).resolve()
    for folder in (source.resolve().parent, *source.resolve().parents):
        for name in LICENCE_FILES:
            file = folder / name
            if file.is_file() and not file.is_symlink():
                with file.open("rb") as text:
                    return licence_name(text.read(40_000).decode("utf-8", "replace"))
        if folder == top:
            break
    return ""


def licence_name(text: str) -> str:
    """Return a licence's common name and copyright line if its text is known, else its first line."""
    words = re.sub(r"[ \t]+", " ", text)
    title = next((name for name, wording in LICENCE_PATTERNS if re.search(re.sub(" ", r"\\s+", wording), words)), "")
    if not title:
        return next((line.strip()[:80] for line in words.splitlines() if line.strip()), "")
    holder = COPYRIGHT_LINE.search(words)
    return f"{title} ({' '.join(holder[1].split()).rstrip('.')[:80]})" if holder else title
