"""The bin of a workspace: `.bin/<time>/<name>` holds a deleted project as it was, until somebody empties it."""

import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.project import ProjectError, renew_id
from pipeline.project.curation import read_curation
from pipeline.store import LOCK_FILE, LockedError, StoreError, WriterLock, is_temporary, saving
from studio.board.project_facts import title_of

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


def restore_project(deleted: Path, find_folder: Callable[[str], Path]) -> Path:
    """Move a project from the bin to the folder that is free for its name, and return it. Raises ProjectError."""
    if not deleted.is_dir():
        raise ProjectError(f"{deleted.name} is no longer in the trash")
    with saving(f"{deleted.name} was not restored"):
        restored = deleted.rename(find_folder(deleted.name))
        deleted.parent.rmdir()
        return restored


@dataclass(frozen=True)
class DeletedProject:
    """A project in the bin."""

    id: str
    """Folder below the bin."""
    title: str
    at: float
    """When it was deleted, in seconds since 1970."""


def deleted_projects(workspace: Path) -> list[DeletedProject]:
    """Return the projects in the bin, the one deleted last first."""
    found = [path.parent for path in (workspace / BIN).glob("*/*/project.json") if path.parent.parent.name.isdecimal()]
    rows = [
        DeletedProject(
            f"{folder.parent.name}/{folder.name}",
            read_curation(folder).title or title_of(folder.name),
            int(folder.parent.name) / 1e9,
        )
        for folder in found
    ]
    return sorted(rows, key=lambda one: -one.at)


def empty_bin(workspace: Path, ids: Iterable[str]) -> int:
    """Delete these projects of the bin for good; return how many. Ids that are not in the bin are left out."""
    known = {one.id for one in deleted_projects(workspace)}
    emptied = 0
    for id in known & set(ids):
        with saving(f"{id} was not deleted"):
            shutil.rmtree((workspace / BIN / id).parent)
        emptied += 1
    return emptied


def duplicate_project(folder: Path, find_folder: Callable[[str], Path]) -> Path:
    """Copy a project to the folder that is free for its name, and return it: complete, or not at all.

    What can be computed again is left out. Raises ProjectError if another process writes the project.
    """
    check_unlocked(folder)
    staged = folder.parent / f"{COPYING}-{time.time_ns()}"
    try:
        with saving(f"{folder.name} was not copied"):
            shutil.copytree(folder, staged, symlinks=True, ignore=_not_copied(folder))
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


def _not_copied(folder: Path) -> Callable[[str, list[str]], set[str]]:
    def ignored(place: str, names: list[str]) -> set[str]:
        top = {LOCK_FILE, "cache"} if Path(place) == folder else set()
        return {name for name in names if name in top or is_temporary(Path(place, name))}

    return ignored
