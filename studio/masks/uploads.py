"""Uploaded files: the frames in them, of which a person picks one, and a name for the project of that frame."""

import base64
import re
import secrets
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.frame import FrameError, Recording, load_files, open_recording
from pipeline.project import safe_name
from studio.masks.film_strip import FilmStrip
from studio.records.images import jpeg
from studio.texts import t
from studio.web.errors import RequestError

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")
ACCEPTED = (
    "a zip of a frame folder, its rgb, depth and camera.json together, or a .npz, .r3d, .bag, .mcap, .ply, .pcd or .glb"
)
GENERIC_WORDS = re.compile(
    r"^(rgb|colou?r|depth|image|img|camera|intrinsics?|frame|data|export|archive|upload|untitled|k|json|\d+)$", re.I
)
"""Words of a file's name that say nothing of its content."""


@dataclass(frozen=True, eq=False)
class Upload:
    """The frames of one upload."""

    recording: Recording
    name: str
    """Common name of its frames."""
    strip: FilmStrip | None = None
    """Pictures of its frames; None of a single frame."""
    path: Path | None = None
    """Its file, or the folder of its files."""

    def project_name(self, index: int) -> str:
        """Return the name of a project of that frame; with more than one frame it ends in the frame's number."""
        return self.name if len(self.recording) == 1 else f"{self.name}_{index}"


class Uploads:
    """The latest uploads, each under a token that cannot be guessed. May be used from any thread."""

    def __init__(self, capacity: int = 16):
        self._capacity, self._lock = capacity, threading.Lock()
        self._uploads: OrderedDict[str, Upload] = OrderedDict()
        self._copies = tempfile.TemporaryDirectory(prefix="grs-studio-dropped-", ignore_cleanup_errors=True)

    def add(self, paths: Sequence[str | Path]) -> str:
        """Open the recording in the files and return its token. Raises FrameError."""
        files = [Path(path) for path in paths]
        if not files:
            raise RequestError(f"Nothing was dropped; drop {ACCEPTED}.")
        token = secrets.token_urlsafe(16)
        folder = Path(self._copies.name) / token
        recording = recording_in(files, folder)
        strip = FilmStrip(recording) if len(recording) > 1 else None
        upload = Upload(recording, suggest_name(files), strip, folder if folder.is_dir() else files[0])
        with self._lock:
            self._uploads[token] = upload
            while len(self._uploads) > self._capacity:
                old, forgotten = self._uploads.popitem(last=False)
                if forgotten.strip:
                    forgotten.strip.stop()
                shutil.rmtree(Path(self._copies.name) / old, ignore_errors=True)
        return token

    def get(self, token: object) -> Upload:
        """Return the upload. Raises RequestError if it was dropped too long ago."""
        with self._lock:
            upload = self._uploads.get(str(token))
        if upload is None:
            raise RequestError("These files are no longer available; drop them again.")
        return upload


def recording_record(uploads: Uploads, paths: Sequence[str] | None) -> dict[str, Any]:
    """Return FramePicker's value for files that were uploaded. Raises StudioError."""
    token = uploads.add(paths or ())
    upload = uploads.get(token)
    recording = upload.recording
    return {
        "token": token,
        "name": upload.name,
        "kind": recording.kind,
        "names": list(recording.names),
        "times": list(recording.times),
    }


def frame_preview(uploads: Uploads, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return {image, facts} of the frame {token, index} of an upload. Raises StudioError."""
    frame = uploads.get(request.get("token")).recording.frame(frame_index(request))
    known = float((frame.depth > 0).mean())
    # 560: preview width pixels
    image = "data:image/jpeg;base64," + base64.b64encode(jpeg(frame.rgb, 560, 85)).decode()
    size = t("{width} × {height} pixels", width=frame.depth.shape[1], height=frame.depth.shape[0])
    return {"image": image, "facts": t("{size}, depth known in {known} of them", size=size, known=f"{known:.0%}")}


def strip_pictures(uploads: Uploads, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return {every, pictures, ended, failure} of the upload {token} after the pictures it has. Raises StudioError."""
    strip = uploads.get(request.get("token")).strip
    return strip.pictures(request) if strip else {"every": 1, "pictures": [], "ended": True, "failure": ""}


def frame_index(request: Mapping[str, Any]) -> int:
    """Return the request's index of a frame. Raises FrameError if it is not a number."""
    index = request.get("index", 0)
    if not isinstance(index, int):
        raise FrameError("Frames are numbered from 0; choose one again.")
    return index


def recording_in(files: Sequence[Path], folder: Path) -> Recording:
    """Open the recording in one file, or in files that belong together, which are copied to `folder`.

    Raises FrameError.
    """
    if len(files) == 1 and files[0].suffix.lower() not in (*IMAGE_SUFFIXES, ".json", ".txt"):
        return open_recording(files[0])
    images = [file for file in files if file.suffix.lower() in IMAGE_SUFFIXES]
    depth = next((file for file in images if re.search("depth", file.stem, re.IGNORECASE)), None)
    colour = next((file for file in images if file != depth), None)
    if depth is not None and colour is not None and len(images) == 2:
        camera = next((file for file in files if file.suffix.lower() in (".json", ".txt")), None)
        return Recording("frame", (colour.name,), lambda _: load_files(colour, depth, camera))
    if len(files) > 2:
        return open_recording(_copy_together(files, folder))
    names = ", ".join(file.name for file in files[:6])
    raise FrameError(
        f"These files are not a frame: {names}. Drop {ACCEPTED}; the depth picture's name must contain depth."
    )


def _copy_together(files: Sequence[Path], folder: Path) -> Path:
    """Copy the files, each of which was uploaded to its own folder, into one new folder and return it."""
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder / file.name)
    return folder


def suggest_name(files: Sequence[Path], now: time.struct_time | None = None) -> str:
    """Return a project name: the words that all file names share, or the date and time if those say nothing."""
    words = [re.split(r"[^A-Za-z0-9]+", file.stem) for file in files]
    common = [word for word in words[0] if word and all(word in other for other in words)]
    if any(not GENERIC_WORDS.match(word) for word in common):
        if len(files) > 1:
            common = [word for word in common if not re.match(r"^(rgb|colou?r|depth)$", word)]
        return safe_name("_".join(common))
    return time.strftime("table_%Y_%m_%d_%H%M", now or time.localtime())
