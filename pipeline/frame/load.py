"""The one door for frames: looks at what a path is and chooses its reader."""

from pathlib import Path

from pipeline.frame.formats.arrays import open_npy, open_npz
from pipeline.frame.formats.bop import open_bop
from pipeline.frame.formats.bundle import DEEPEST, Bundle, open_folder, open_zip, read_bytes
from pipeline.frame.formats.cloud import open_cloud
from pipeline.frame.formats.colour_only import open_picture
from pipeline.frame.formats.pairs import COLOUR_SUFFIXES, open_pairs
from pipeline.frame.formats.realsense import open_bag
from pipeline.frame.formats.record3d import open_record3d
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.tum import open_tum
from pipeline.frame.formats.video import VIDEOS, open_video, open_video_folder
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.plain import WANTED, open_plain, what_lacks

FOLDERS = (open_plain, open_record3d, open_bop, open_tum, open_pairs, open_video_folder)
"""Readers of folders and zips, the most certain first."""
OTHERS = "Other formats: .npz, .r3d, .bag, .ply, .glb, video with depth beside it, TUM, BOP and Open3D folders"


def load(path: str | Path, index: int = 0) -> Frame:
    """The frame at a path, in any format; of several, the one at `index`. Raises FrameError, which says in one line
    what would have worked."""
    return frames(path).frame(index)


def frames(path: str | Path) -> Recording:
    """The frames at a path, to pick one from. Raises FrameError."""
    path = Path(path)
    try:
        if path.is_dir():
            return _of_bundle(open_folder(path))
        if path.is_file():
            return _of_file(path)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte in it
        raise FrameError(f"{path} cannot be read ({error}). {WANTED}.") from None
    raise FrameError(f"There is nothing at {path}. {WANTED}.")


def _of_file(path: Path) -> Recording:
    kind = path.suffix.lower()
    if kind == ".npz":
        return open_npz(path)
    if kind == ".npy":
        return open_npy(path, read_bytes(path))
    if kind == ".bag":
        return open_bag(path)
    if kind in (".ply", ".glb"):
        return open_cloud(path)
    if kind in VIDEOS:
        return open_video(path)
    if kind in COLOUR_SUFFIXES:
        return open_picture(path)
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            return _of_bundle(open_zip(path))
    raise FrameError(f"{path.name} is neither a folder nor a zip that can be read. {WANTED}. {OTHERS}.")


def _of_bundle(bundle: Bundle) -> Recording:
    for _ in range(DEEPEST):
        if found := _first(bundle):
            return found
        if bundle.top or len(bundle.folders) != 1:
            break
        bundle = bundle.inside(bundle.folders[0])
    if found := _side_by_side(bundle):
        return found
    raise what_lacks(bundle)


def _first(bundle: Bundle) -> Recording | None:
    return next((found for reader in FOLDERS if (found := reader(bundle)) is not None), None)


def _side_by_side(bundle: Bundle) -> Recording | None:
    """Several frames or recordings, each in its folder."""
    found: dict[str, Recording] = {}
    for folder in bundle.folders:
        try:
            inside = _first(bundle.inside(folder))
        except FrameError:  # the others can still be picked from
            continue
        if inside is not None:
            found[folder] = inside
    if not found:
        return None
    places = [(folder, index) for folder, recording in found.items() for index in range(len(recording))]
    names = tuple(f if len(found[f]) == 1 else f"{f}/{found[f].names[i]}" for f, i in places)
    return Recording("folder of frames", names, lambda at: found[places[at][0]].read(places[at][1]))
