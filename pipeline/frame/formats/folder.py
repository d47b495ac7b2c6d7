"""Frame folders and zips of them: plain, Record3D, BOP, TUM, Open3D pairs, or a video with its depth."""

from pathlib import Path

from pipeline.frame.formats.archive import MAX_FOLDER_DEPTH, FileBundle, open_folder, open_zip
from pipeline.frame.formats.bop import open_bop
from pipeline.frame.formats.record3d import open_record3d
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import describe_images, open_pairs, open_tum
from pipeline.frame.formats.video import open_video_folder
from pipeline.frame.frame import FrameError
from pipeline.frame.plain_format import missing_files_error, open_plain

READERS = (open_plain, open_record3d, open_bop, open_tum, open_pairs, open_video_folder)
"""Readers of a folder's content, the most specific format first."""


def read_folder(path: Path) -> Recording | None:
    """Read a folder or a zip; None for any other file. Raises FrameError if no reader takes the content."""
    if path.is_dir():
        return _read_bundle(open_folder(path))
    if path.suffix.lower() == ".npz":  # a zip too, with a reader of its own
        return None
    with path.open("rb") as file:
        is_zip = file.read(2) == b"PK"
    return _read_bundle(open_zip(path)) if is_zip else None


def is_frame_folder(path: Path) -> bool:
    """Whether a folder is itself a frame or a recording, well or badly formed, and not a folder of several."""
    try:
        return _read_frame(open_folder(path)) is not None
    except FrameError:
        return True


def _read_bundle(bundle: FileBundle) -> Recording:
    for _ in range(MAX_FOLDER_DEPTH):
        if found := _read_frame(bundle):
            return found
        if bundle.top_level_files or len(bundle.folders) != 1:
            break
        bundle = bundle.subfolder(bundle.folders[0])
    if found := _read_subfolders(bundle):
        return found
    raise missing_files_error(bundle, describe_images(bundle))


def _read_frame(bundle: FileBundle) -> Recording | None:
    return next((found for reader in READERS if (found := reader(bundle)) is not None), None)


def _read_subfolders(bundle: FileBundle) -> Recording | None:
    """Return the frames of all subfolders that hold a frame or a recording; None if none does."""
    found: dict[str, Recording] = {}
    for folder in bundle.folders:
        try:
            recording = _read_frame(bundle.subfolder(folder))
        except FrameError:  # the other folders may still be read
            continue
        if recording is not None:
            found[folder] = recording
    if not found:
        return None
    places = [(folder, index) for folder, recording in found.items() for index in range(len(recording))]
    names = tuple(f if len(found[f]) == 1 else f"{f}/{found[f].names[i]}" for f, i in places)
    return Recording("folder of frames", names, lambda at: found[places[at][0]].read(places[at][1]))
