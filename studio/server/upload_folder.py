"""The folder of uploaded files: private, emptied of what is a day old, and removed when the studio ends."""

import os
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path

from studio.server import background

MAX_AGE = 24 * 3600.0
"""Seconds that an upload is kept."""
SWEEP_SECONDS = 600.0


class UploadFolder:
    """A new folder (mode 0700) in which Gradio keeps uploads from now on. It is removed with this object."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="grs-studio-uploads-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name)
        os.environ["GRADIO_TEMP_DIR"] = str(self.path)  # where gradio.utils.get_upload_folder looks
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
