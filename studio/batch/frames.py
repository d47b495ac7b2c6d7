"""Which frames a batch works on, and the names of their projects."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.errors import StudioError
from pipeline.frame.formats.folder import is_frame_folder

SUFFIXES = (".zip", ".npz", ".bag", ".ply", ".pcd", ".mp4", ".png", ".jpg", ".jpeg", ".r3d")
"""Files of a folder of frames that count as frames."""


class BatchError(StudioError):
    """A batch that cannot be run."""


def find_frames(paths: Iterable[Path]) -> list[Path]:
    """Return the frames, in order and each once; a folder of frames counts as its frames, sorted by name.

    A path that is missing is kept: it is reported as a broken frame. Raises BatchError if nothing exists.
    """
    given = list(paths)
    if not any(path.exists() for path in given):
        raise BatchError(f"there is no {given[0]}; name frames, or a folder of frames")
    found = [frame for path in given for frame in _frames_of(path)]
    if not found:
        raise BatchError(f"{given[0]} holds no frame; name frames, or a folder of frames")
    return list(dict.fromkeys(frame.absolute() for frame in found))


def _frames_of(path: Path) -> Iterator[Path]:
    if not path.is_dir() or is_frame_folder(path):
        yield path
        return
    for entry in sorted(path.iterdir()):
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix.lower() in SUFFIXES):
            yield entry


def project_names(frames: Iterable[Path], known: Mapping[str, str]) -> dict[Path, str]:
    """Return a project's name for each frame: that of an earlier run, else the frame's own name with a number.

    Args:
        frames: Absolute paths.
        known: Project names by frame.
    """
    names: dict[Path, str] = {}
    taken = set(known.values())
    for frame in frames:
        name = known.get(str(frame)) or _free_name(frame, taken)
        names[frame] = name
        taken.add(name)
    return names


def _free_name(frame: Path, taken: set[str]) -> str:
    stem = frame.name if frame.is_dir() else frame.stem
    base = re.sub(r"[^\w.-]", "_", stem).strip(".") or "frame"
    name, number = base, 2
    while name in taken or name in ("batch.json", "report.html"):
        name, number = f"{base}_{number}", number + 1
    return name
