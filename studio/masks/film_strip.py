"""A recording's frames as small pictures, read once and in order, so that a page can scrub through all of them."""

import base64
import threading
from collections.abc import Mapping
from typing import Any

from pipeline.errors import StudioError
from pipeline.frame import Recording
from studio.records.images import jpeg
from studio.web.background import start
from studio.web.errors import RequestError

MAX_PICTURES = 600
"""Of a longer recording every n-th frame has a picture: 20 s at a camera's 30 frames a second have all."""


class FilmStrip:
    """Pictures of a recording's frames, made in the background. May be used from any thread."""

    def __init__(self, recording: Recording):
        self.every = max(1, -(-len(recording) // MAX_PICTURES))
        self._recording, self._changed = recording, threading.Condition()
        self._pictures: list[str] = []
        self._error, self._ended = "", False
        self._task = start("film strip", self._read, self._fail)

    def pictures(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return {every, pictures, ended, error}: data URLs from the number `have` on, of frames `every` apart.

        Waits for the next picture for at most a second. Raises RequestError.
        """
        have = request.get("have")
        if not isinstance(have, int) or have < 0:
            raise RequestError("Frames are numbered from 0; choose one again.")
        with self._changed:
            self._changed.wait_for(lambda: self._ended or len(self._pictures) > have, 1.0)
            pictures = self._pictures[have:]
            return {"every": self.every, "pictures": pictures, "ended": self._ended, "failure": self._error}

    def stop(self) -> None:
        """End the reading."""
        self._task.stop()

    def _read(self, stop: threading.Event) -> None:
        for rgb in self._recording.previews(self.every):
            # 320: pixels across, in which confined readers send them
            picture = "data:image/jpeg;base64," + base64.b64encode(jpeg(rgb, 320, 80)).decode()
            with self._changed:
                self._pictures.append(picture)
                self._changed.notify_all()
            if stop.is_set():
                break
        self._end()

    def _fail(self, error: Exception) -> None:
        self._end(str(error) if isinstance(error, StudioError) else f"{type(error).__name__}: {error}")

    def _end(self, error: str = "") -> None:
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()
