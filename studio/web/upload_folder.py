"""The folder of uploaded files: private, emptied of what is a day old, removed when the studio ends; and taking files
out of it."""

import functools
import os
import shutil
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path, PurePosixPath

from studio.web import background
from studio.web.errors import RequestError

MAX_AGE = 24 * 3600.0
"""Seconds that an upload is kept."""
SWEEP_SECONDS = 600.0
MAX_FILES, MAX_PATH_LENGTH = 4000, 240


@functools.cache
def upload_folder() -> "UploadFolder":
    """Return the folder in which Gradio keeps the uploads of this process: it looks in its environment for the path."""
    folder = UploadFolder()
    os.environ["GRADIO_TEMP_DIR"] = str(folder.path)  # where gradio.utils.get_upload_folder looks
    return folder


class UploadFolder:
    """A new folder (mode 0700) for uploads. It is removed with this object."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="grs-studio-uploads-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        me = weakref.ref(self)  # the thread must not keep the folder

        def sweep(stop: threading.Event) -> None:
            while not stop.wait(SWEEP_SECONDS) and (folder := me()):
                folder.remove_old()
                del folder

        background.start("uploads", sweep)

    def remove_old(self, now: float | None = None) -> int:
        """Remove files whose status changed more than MAX_AGE ago, and empty folders; return the number of files."""
        count, oldest = 0, (time.time() if now is None else now) - MAX_AGE
        for parent, folders, files in os.walk(self.path, topdown=False):
            for name in files:
                file = Path(parent, name)
                with suppress(OSError):
                    if file.lstat().st_ctime < oldest:
                        file.unlink()
                        count += 1
            for name in folders:
                with suppress(OSError):  # it is not empty
                    if Path(parent, name).lstat().st_ctime < oldest:
                        Path(parent, name).rmdir()
        return count


def uploaded_file(path: object) -> Path | None:
    """Return the path of a file that a browser uploaded; None for any other path, and for one that does not exist."""
    file = Path(str(path)).resolve()
    return file if file.is_relative_to(upload_folder().path.resolve()) and file.is_file() else None


def collect_uploads(files: object, folder: Path) -> list[str]:
    """Move uploads [{path, name}] into `folder` by their relative names; return the names at its top level.

    Raises RequestError.
    """
    if not isinstance(files, list) or not 0 < len(files) <= MAX_FILES:
        raise RequestError(f"Drop one to {MAX_FILES:,} files.")
    paths = [uploaded_file(file.get("path") if isinstance(file, dict) else "") for file in files]
    for index, (file, path) in enumerate(zip(files, paths, strict=True)):
        if path is None:
            raise RequestError("A file did not arrive; drop it again.")
        target = folder / safe_relative_path(file.get("name") or path.name)
        if target.exists():
            raise RequestError(f"Two files are called {target.name}; drop the folder that contains them.")
        target.parent.mkdir(parents=True, exist_ok=True)
        take = shutil.copyfile if path in paths[index + 1 :] else shutil.move  # Gradio keeps equal files once
        take(path, target)
    return sorted(entry.name for entry in folder.iterdir())


def safe_relative_path(name: object) -> Path:
    """Return a relative path that cannot leave its folder. Raises RequestError."""
    path = PurePosixPath(str(name).replace("\\", "/"))
    parts = [part for part in path.parts if part not in (".", "/")]
    if (
        not parts
        or ".." in parts
        or len(str(path)) > MAX_PATH_LENGTH
        or any("\0" in part or ":" in part for part in parts)
    ):
        raise RequestError("The name of a file cannot be used; rename the file and drop it again.")
    return Path(*parts)
