"""Load a frame from a path in any registered format."""

from pathlib import Path

from pipeline import plugins
from pipeline.errors import StudioError
from pipeline.frame import plain_format
from pipeline.frame.confined_reader import (
    is_harmless_folder,
    is_harmless_image,
    load_files_confined,
    open_confined,
)
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.plain_format import FRAME_FORM
from pipeline.untrusted.confined import is_supported

OTHERS = (
    "Other formats: .npz, .r3d, .bag, .mcap, .ply, .pcd, .glb, video with depth beside it, TUM, BOP and Open3D folders"
)


def load(path: str | Path, index: int = 0) -> Frame:
    """Load the frame at `index` from a path in any format. Raises FrameError, which says what would work."""
    return open_recording(path).frame(index)


def open_recording(path: str | Path) -> Recording:
    """Open a path that holds one frame or more. Raises FrameError.

    Formats of installed packages are asked before the built-in ones, in this process; of the built-in ones only plain
    folders and photographs of PNG and JPEG are read in it, all others in a confined child.
    """
    path = Path(path)
    try:
        if not (path.is_dir() or path.is_file()):
            raise FrameError(f"There is nothing at {path}. {FRAME_FORM}.")
        for name in _added_formats():
            if (recording := _read(name, path)) is not None:
                return recording
        return open_in_process(path) if is_read_in_process(path) else open_confined(path)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte in it
        raise FrameError(f"{path} cannot be read ({error}). {FRAME_FORM}.") from None


def is_read_in_process(path: Path) -> bool:
    """Whether a recording is decoded in this process: see confined_reader."""
    if not is_supported():
        return True
    return is_harmless_folder(path) if path.is_dir() else is_harmless_image(path)


def load_files(rgb: str | Path, depth: str | Path, camera: str | Path | None = None) -> Frame:
    """Load a frame from single files. Without a camera file, intrinsics are guessed, with a note. Raises FrameError."""
    files = Path(rgb), Path(depth), None if camera is None else Path(camera)
    if all(map(is_read_in_process, files[:2])) or not all(file is None or file.is_file() for file in files):
        return plain_format.load_files(*files)
    return load_files_confined(*files)


def open_in_process(path: Path) -> Recording:
    """Open a recording with the built-in readers, in this process. Raises FrameError."""
    try:
        added = _added_formats()
        for name in plugins.available("frame_formats"):
            if name not in added and (recording := _read(name, path)) is not None:
                return recording
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte in it
        raise FrameError(f"{path} cannot be read ({error}). {FRAME_FORM}.") from None
    others = f"{OTHERS}, {', '.join(added)}" if added else OTHERS
    raise FrameError(f"{path.name} is neither a folder nor a zip that can be read. {FRAME_FORM}. {others}.")


def _added_formats() -> list[str]:
    """Return the names of the formats of installed packages."""
    entries = plugins.entries("frame_formats")
    return [name for name in plugins.available("frame_formats") if not plugins.is_built_in(entries[name])]


def _read(name: str, path: Path) -> Recording | None:
    """Ask one format; a single frame becomes a recording of one. Raises FrameError, also for a reader that fails."""
    try:
        found = plugins.load("frame_formats", name)(path)
    except (StudioError, OSError, ValueError):
        raise
    except Exception as error:
        raise FrameError(f"The frame format '{name}' failed on {path.name}: {type(error).__name__}: {error}") from error
    if isinstance(found, Frame):
        return Recording(name, (path.name,), lambda _: found)
    return found
