"""Synchronises a folder with its copy in an object store: whichever changed since both were equal goes to the other."""

import hashlib
import json
from pathlib import Path
from typing import Literal

from pipeline.store.files import read_json, refuse_links, write_json
from pipeline.store.object_store import NOT_COPIED, SCHEMA, Hashes, ObjectStore
from pipeline.store.storage_errors import StoreError
from pipeline.store.temporary_files import is_temporary
from pipeline.store.writer_lock import WriterLock

SYNCED = ".synced"
"""Beside the folders: what each was when it was last equal to a store's."""
CACHE = "cache"
"""Folder of a project that may be deleted at any time."""
Side = Literal["here", "there"]


def sync_folder(folder: Path, store: ObjectStore, record: str, keep: Side | None = None) -> str:
    """Make a folder and the one of its name in the store equal; return what was done, in a few words.

    Args:
        record: Name of the file without which the folder does not count as there.
        keep: Which to keep where both have changed.

    Raises LockedError if another process writes the folder, StoreError if both have changed, and for a link.
    """
    refuse_links(folder)
    is_here = (folder / record).is_file()
    lock = WriterLock.acquire(folder) if is_here else None
    here, there = folder_hashes(folder), store.hashes(folder.name)
    if here == there:
        done = "unchanged"
    elif there is None or (is_here and _is_sent(folder, store, there, keep)):
        done = f"{_files(store.send(folder, folder.name, here))} sent"
    else:
        if is_here and keep != "there" and last_synced(folder, store.url) != digest(here):
            raise StoreError("it has changed here and there; --keep here or --keep there says which to keep")
        done = f"{_files(store.fetch(folder.name, folder, here))} fetched"
    note_synced(folder, store.url, folder_hashes(folder))
    del lock
    return done


def _is_sent(folder: Path, store: ObjectStore, there: Hashes, keep: Side | None) -> bool:
    """Whether only this folder changed since both were equal, or its changes are to be kept."""
    return keep == "here" or (keep is None and last_synced(folder, store.url) == digest(there))


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"


def folder_hashes(folder: Path) -> Hashes:
    """Return the hashes of a folder's files: not of locks, temporary files, links and the cache."""
    files: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        is_copied = path.name not in NOT_COPIED and relative.parts[0] != CACHE and not is_temporary(path)
        if is_copied and path.is_file() and not path.is_symlink():
            files[relative.as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return files


def digest(files: Hashes) -> str:
    """Return one hash for all files of a folder."""
    return hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()


def last_synced(folder: Path, url: str) -> str:
    """Return the digest of a folder when it was last equal to the store's; empty if it never was."""
    return str((read_json(_synced_file(folder, url), SCHEMA) or {}).get("digest", ""))


def note_synced(folder: Path, url: str, files: Hashes) -> None:
    """Note that a folder is equal to the store's. Raises StoreError."""
    write_json(_synced_file(folder, url), {"schema": SCHEMA, "digest": digest(files)})


def _synced_file(folder: Path, url: str) -> Path:
    """Return the file beside the folder that remembers a store, whose address may hold a secret and is not in it."""
    return folder.parent / SYNCED / hashlib.sha256(url.encode()).hexdigest()[:16] / f"{folder.name}.json"
