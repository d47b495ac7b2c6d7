"""The user's cache: results that can be computed again, shared by all processes of the user."""

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from pipeline.store.temporary_files import temporary_beside


def user_cache_folder() -> Path:
    """Return $XDG_CACHE_HOME/grs-studio or ~/.cache/grs-studio; where that cannot be written, a temporary folder."""
    return _writable(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))


@cache
def _writable(parent: str) -> Path:
    folder = Path(parent) / "grs-studio"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return Path(tempfile.mkdtemp(prefix="grs-studio-cache-"))
    return folder


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Return a folder that `make` fills if it is missing. It is complete or absent, whoever is killed meanwhile."""
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_beside(folder) as part:
        part.mkdir()
        try:
            make(part)
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another process was first
                raise
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return folder
