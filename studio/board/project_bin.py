"""The bin of a workspace: `.bin/<time>/<name>` holds a deleted project as it was, until somebody empties it."""

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.project import ProjectError
from pipeline.project.curation import read_curation
from pipeline.store import saving
from studio.board.project_facts import title_of
from studio.sessions.project_folders import BIN


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
