"""Files that a person dropped: the frames in them to pick one from, and a name for the project that comes of it."""

import re
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.frame import Frame, FrameError, Recording, frames, load_files
from pipeline.project import safe_name
from studio.session import SessionError

PICTURES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
WANTED = "a zip of a frame folder, its rgb, depth and camera.json together, or a .npz, .r3d, .bag, .ply or .glb"
PLAIN = re.compile(
    r"^(rgb|colou?r|depth|image|img|camera|intrinsics?|frame|data|export|archive|upload|untitled|k|json|\d+)$", re.I
)
"""Words that say nothing of what is in a file."""


@dataclass(frozen=True, eq=False)
class Dropped:
    """One drop: its frames, and what a project of one is called."""

    recording: Recording
    name: str

    def called(self, index: int) -> str:
        """The project's name: a recording's frames are told apart by their number."""
        return self.name if len(self.recording) == 1 else f"{self.name}_{index}"


class Drops:
    """The latest drops, each under a token nobody can guess. May be called from any thread."""

    def __init__(self, keep: int = 16):
        self._keep, self._lock, self._known = keep, threading.Lock(), OrderedDict[str, Dropped]()
        self._copies = tempfile.TemporaryDirectory(prefix="grs-studio-dropped-", ignore_cleanup_errors=True)

    def add(self, paths: Sequence[str | Path]) -> str:
        """Looks at the files and gives the token. Raises FrameError."""
        files = [Path(path) for path in paths]
        if not files:
            raise SessionError(f"Nothing was dropped; drop {WANTED}.")
        token = secrets.token_urlsafe(16)
        dropped = Dropped(recording_of(files, Path(self._copies.name) / token), name_of(files))
        with self._lock:
            self._known[token] = dropped
            while len(self._known) > self._keep:
                old, _ = self._known.popitem(last=False)
                shutil.rmtree(Path(self._copies.name) / old, ignore_errors=True)
        return token

    def get(self, token: object) -> Dropped:
        """Raises SessionError where it was dropped too long ago."""
        with self._lock:
            dropped = self._known.get(str(token))
        if dropped is None:
            raise SessionError("These files are not at hand any more; drop them again.")
        return dropped


def recording_of(files: Sequence[Path], folder: Path) -> Recording:
    """The frames in one file, or in files that belong together: those are copied to `folder`. Raises FrameError."""
    if len(files) == 1 and files[0].suffix.lower() not in (*PICTURES, ".json", ".txt"):
        return frames(files[0])
    pictures = [file for file in files if file.suffix.lower() in PICTURES]
    depth = next((file for file in pictures if re.search("depth", file.stem, re.IGNORECASE)), None)
    colour = next((file for file in pictures if file != depth), None)
    if depth is not None and colour is not None and len(pictures) == 2:
        camera = next((file for file in files if file.suffix.lower() in (".json", ".txt")), None)
        return Recording("frame", (colour.name,), lambda _: read(colour, depth, camera))
    if len(files) > 2:
        return frames(_together(files, folder))
    names = ", ".join(file.name for file in files[:6])
    raise FrameError(f"These files make no frame: {names}. Drop {WANTED}; the depth picture's name must say depth.")


def read(colour: Path, depth: Path, camera: Path | None) -> Frame:
    """The frame of single files. Raises FrameError."""
    return load_files(colour, depth, camera)


def _together(files: Sequence[Path], folder: Path) -> Path:
    """The folder, new, that holds them all: each was put into one of its own when it was sent."""
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder / file.name)
    return folder


def name_of(files: Sequence[Path], now: time.struct_time | None = None) -> str:
    """What the files' names have in common and say; else the day and time."""
    words = [re.split(r"[^A-Za-z0-9]+", file.stem) for file in files]
    common = [word for word in words[0] if word and all(word in other for other in words)]
    if any(not PLAIN.match(word) for word in common):
        told = common if len(files) == 1 else [word for word in common if not re.match(r"^(rgb|colou?r|depth)$", word)]
        return safe_name("_".join(told))
    return time.strftime("table_%Y_%m_%d_%H%M", now or time.localtime())
