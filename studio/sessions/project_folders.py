"""Folders of projects as a whole: copied, and moved to the workspace's bin."""

import shutil
import time
from collections.abc import Callable, Collection
from pathlib import Path

from pipeline.project import ProjectError, renew_id
from pipeline.store import LOCK_FILE, LockedError, StoreError, WriterLock, is_temporary, saving

BIN = ".bin"
COPYING = ".copying"
"""Begins the name of a folder that is being copied."""


def delete_project(folder: Path) -> Path:
    """Move a project to the bin and return where it is. Raises ProjectError if another process writes it."""
    check_unlocked(folder)
    with saving(f"{folder.name} was not deleted"):
        place = folder.parent / BIN / str(time.time_ns())
        place.mkdir(parents=True)
        return folder.rename(place / folder.name)


def duplicate_project(folder: Path, find_folder: Callable[[str], Path], without: Collection[str] = ()) -> Path:
    """Copy a project to the folder that is free for its name, and return it: complete, or not at all.

    What can be computed again is left out, and what `without` names at its top.

    Raises ProjectError if another process writes the project.
    """
    check_unlocked(folder)
    staged = folder.parent / f"{COPYING}-{time.time_ns()}"
    try:
        with saving(f"{folder.name} was not copied"):
            shutil.copytree(folder, staged, symlinks=True, ignore=_not_copied(folder, without))
            (staged / "project.json").touch()  # the newest project comes first
            renew_id(staged)
            return staged.rename(find_folder(folder.name))
    except shutil.Error as error:
        raise StoreError(f"{folder.name} was not copied: {error.args[0][0][2]}") from None
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def check_unlocked(folder: Path) -> None:
    """Raise ProjectError if another process writes the project."""
    try:
        WriterLock.acquire(folder)
    except LockedError as error:
        raise ProjectError(f"{error}, and can only be looked at here") from None
    except StoreError:
        return  # a folder that cannot be written has no writer


def _not_copied(folder: Path, without: Collection[str]) -> Callable[[str, list[str]], set[str]]:
    def ignored(place: str, names: list[str]) -> set[str]:
        top = {LOCK_FILE, "cache", *without} if Path(place) == folder else set()
        return {name for name in names if name in top or is_temporary(Path(place, name))}

    return ignored
