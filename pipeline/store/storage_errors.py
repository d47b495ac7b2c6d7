"""Errors of the disk as one line that is true: what was not saved, why, and what to do."""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import StudioError

_REASONS = {
    errno.ENOSPC: ("the disk is full", "Free some space, then try again"),
    errno.EDQUOT: ("your disk quota is used up", "Free some space, then try again"),
    errno.EFBIG: ("the file would be larger than this system allows", "Raise the limit on file sizes, then try again"),
    errno.EROFS: ("the disk is read-only", "Make it writable, or work on a copy in another folder"),
    errno.EACCES: ("you may not write there", "Change the folder's permissions, or work on a copy in another folder"),
    errno.EPERM: ("you may not write there", "Change the folder's permissions, or work on a copy in another folder"),
    errno.EIO: ("the disk reports an error", "Copy the project to another disk, and check this one"),
    errno.ESTALE: ("the network disk is gone", "Connect it again, then try again"),
}
"""Reason and advice by error number. Other errors are not the disk's, and bugs until shown otherwise."""


class StoreError(StudioError):
    """A file cannot be saved, or a saved file cannot be read."""


class NewerFileError(StoreError):
    """A file was saved by a newer version of GRS Studio."""


def storage_error(error: BaseException, claim: str = "") -> StoreError | None:
    """Return the error that tells a person about an error of the disk, None for any other error.

    Args:
        claim: what follows from it, as in "task.json was not saved", which it is for the file of the error if empty.
    """
    if not isinstance(error, OSError) or error.errno not in _REASONS:
        return None
    reason, advice = _REASONS[error.errno]
    name = Path(str(error.filename)).name if error.filename else "A file"
    return StoreError(f"{claim or f'{name} was not saved'}: {reason}. {advice}.")


@contextmanager
def saving(claim: str) -> Iterator[None]:
    """Turn errors of the disk into StoreError with this claim, as in "task.json was not saved"."""
    try:
        yield
    except OSError as error:
        if (told := storage_error(error, claim)) is None:
            raise
        raise told from error


def check_writable(folder: Path) -> str:
    """Return "" if files can be saved in a folder, else one line that says why not; also if space is about to run out.

    Tries it: permission bits say nothing about read-only disks, quotas and superusers.
    """
    try:
        with saving(f"Nothing can be saved in {folder}"), tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(folder).free
    except StoreError as error:
        return str(error)
    except OSError as error:
        return f"Nothing can be saved in {folder}: {error.strerror or error}. Choose another folder."
    # Free space below which the studio warns when it starts: a project takes a few megabytes, its video one more
    if free < 200_000_000:
        return f"Only {free / 1e6:.0f} MB are free on the disk of {folder}. Free some space soon."
    return ""
