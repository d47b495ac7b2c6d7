"""Read recordings in a confined child process: archives, images other than PNG and JPEG, clouds, videos, recordings.

A plain folder is read in this process, because its two decoders (PNG and JPEG) look at the size first: a child costs
some 30 ms more, and the first one half a second (docs/security.md).
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np
from PIL import Image

from pipeline import plugins
from pipeline.frame.formats.poses import valid_poses
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.video import VIDEO_SUFFIXES
from pipeline.frame.frame import Doubt, Frame, FrameError, Intrinsics, find_fault
from pipeline.frame.image_files import check_pixel_count
from pipeline.frame.plain_format import COLOUR_FILES, load_files
from pipeline.untrusted import confined
from pipeline.untrusted.confined import Event, Limits, Progress, Result

LIMITS = Limits(seconds=60, memory_mb=3072, file_mb=512)
PREVIEW_SIDE = 320
"""Longest side in pixels of the pictures by which a recording is looked through: 600 of them are some 10 MB."""
DEVICE_FOLDERS = (Path("/dev"), Path("/sys/class"), Path("/sys/bus"))
"""librealsense opens no recording unless it can list devices. They are mounted so that no device can be opened."""
HARMLESS_STARTS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""First bytes of PNG and JPEG files."""


def is_harmless_image(path: Path) -> bool:
    """Whether a file is a PNG or JPEG by its content, which this process decodes itself."""
    try:
        with path.open("rb") as file:
            return file.read(8).startswith(HARMLESS_STARTS)
    except OSError:
        return False


def is_harmless_folder(path: Path) -> bool:
    """Whether a folder holds a plain frame of PNG and JPEG."""
    colour = next((path / name for name in COLOUR_FILES if (path / name).is_file()), None)
    if colour is None or not (path / "camera.json").is_file():
        return False
    return is_harmless_image(colour) and is_harmless_image(path / "depth.png")


def open_confined(path: Path) -> Recording:
    """Open a recording in a child, which reads a single frame too; several have one child each. Raises FrameError."""
    with confined.errors_as(FrameError, path.name):
        reply = _read_recording(path, None)
        value, frame = reply.value, _frame(reply) if reply.arrays else None
        kind, names = str(value["kind"]), tuple(str(name) for name in value["names"])
        times = tuple(float(time) for time in value["times"])
        poses = valid_poses(None if pose is None else np.array(pose, float) for pose in value["poses"])
        if len(times) not in (0, len(names)) or len(poses) not in (0, len(names)) or not names:
            raise FrameError(f"{path.name} holds no frame.")
    colours = partial(_stream_colours, path)
    return Recording(kind, names, lambda index: frame or _read_frame(path, index), times, poses, colours)


def load_files_confined(rgb: Path, depth: Path, camera: Path | None) -> Frame:
    """Load a frame from single files in a child. Raises FrameError."""
    files = {"rgb": str(rgb.absolute()), "depth": str(depth.absolute()), "camera": camera and str(camera.absolute())}
    readable = [path for path in (rgb, depth, camera) if path is not None]
    with confined.errors_as(FrameError, rgb.name):
        return _frame(_call("read_files", files, readable, rgb.suffix))


def start_reader() -> None:
    """Start the process that reads recordings, so that the first one does not wait for it. Raises ConfinedError."""
    if confined.is_supported():
        confined.result_of(confined.call(f"{__name__}:answer_ready", {}, [], warm=[__name__]))


def _read_frame(path: Path, index: int) -> Frame:
    with confined.errors_as(FrameError, path.name):
        return _frame(_read_recording(path, index))


def _stream_colours(path: Path, every: int) -> Iterator[np.ndarray]:
    """Yield every n-th frame's colour from one child that stays open, small: as long as it may, so perhaps not all."""
    with confined.errors_as(FrameError, path.name):
        for event in _events(
            "stream_colours", {"path": str(path.absolute()), "every": every}, _readable(path), path.suffix
        ):
            if isinstance(event, Result):
                return
            (rgb,) = event.arrays
            if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or max(rgb.shape) > PREVIEW_SIDE:
                raise ValueError
            yield rgb


def _read_recording(path: Path, index: int | None) -> Result:
    return _call("read_recording", {"path": str(path.absolute()), "index": index}, _readable(path), path.suffix)


def _readable(path: Path) -> list[Path]:
    return [path.parent if path.suffix.lower() in VIDEO_SUFFIXES else path]  # its depth lies beside a video


def _call(function: str, arguments: dict[str, Any], readable: list[Path], suffix: str) -> Result:
    return confined.result_of(_events(function, arguments, readable, suffix))


def _events(function: str, arguments: dict[str, Any], readable: list[Path], suffix: str) -> Iterator[Event]:
    is_bag, needs_open3d = suffix.lower() == ".bag", suffix.lower() in (".bag", ".pcd")
    warm, programs = (["open3d"], []) if needs_open3d else ([], [Path(imageio_ffmpeg.get_ffmpeg_exe())])
    return confined.call(
        f"{__name__}:{function}", arguments, [*readable, *(DEVICE_FOLDERS if is_bag else ())], limits=LIMITS,
        warm=[__name__, *warm], programs=programs, device_events=is_bag,
    )  # fmt: skip


def _frame(reply: Event) -> Frame:
    """Return the frame that a child sent, checked like one of our own. Raises ValueError, FrameError for its size."""
    value = reply.value["frame"]
    rgb, depth, *pose = reply.arrays
    k = Intrinsics(**value["intrinsics"])
    check_pixel_count(k.width, k.height, "the frame")
    notes = tuple(str(note) for note in value["notes"])
    doubts = tuple(Doubt(*(str(one[key]) for key in ("what", "why", "cure"))) for one in value["doubts"])
    world = pose[0].astype(float) if pose else None
    frame = Frame(rgb, depth, k, world, str(value["source"]), notes, doubts=doubts)
    if find_fault(frame):
        raise ValueError
    return frame


# ---------------------------------------------------------------------- in the child


def prepare() -> None:
    """Import all readers, once, in the server of the children: they cannot read our files."""
    Image.init()
    imageio_ffmpeg.get_ffmpeg_exe()
    import pipeline.frame.load  # noqa: F401

    plugins.available("frame_formats")


def answer_ready() -> Result:
    """Answer that the readers are imported."""
    return Result(None)


def read_recording(path: str, index: int | None) -> Result:
    """Return what a recording holds, and its frame at an index or if it holds only one. Raises FrameError."""
    from pipeline.frame.load import open_in_process

    recording = open_in_process(Path(path))
    about = {"kind": recording.kind, "names": list(recording.names), "times": list(recording.times)}
    about["poses"] = [None if pose is None else pose.tolist() for pose in recording.poses]
    if index is None and len(recording) > 1:
        return Result(about)
    reply = _reply(recording.read(index or 0))
    return Result(about | reply.value, reply.arrays)


def stream_colours(path: str, every: int, send: Callable[[Progress], None]) -> Result:
    """Send the colour of every n-th frame of a recording, scaled down to PREVIEW_SIDE pixels. Raises FrameError."""
    from pipeline.frame.load import open_in_process

    for rgb in open_in_process(Path(path)).previews(every):
        picture = Image.fromarray(rgb)
        picture.thumbnail((PREVIEW_SIDE, PREVIEW_SIDE), Image.Resampling.BILINEAR)
        send(Progress({}, (np.asarray(picture),)))
    return Result(None)


def read_files(rgb: str, depth: str, camera: str | None) -> Result:
    """Return the frame of single files. Raises FrameError."""
    return _reply(load_files(rgb, depth, camera))


def _reply(frame: Frame) -> Result:
    value = {"intrinsics": asdict(frame.intrinsics), "source": frame.source, "notes": list(frame.notes)}
    value["doubts"] = [asdict(doubt) for doubt in frame.doubts]
    pose = () if frame.world_from_camera is None else (frame.world_from_camera,)
    return Result({"frame": value}, (np.ascontiguousarray(frame.rgb), np.ascontiguousarray(frame.depth), *pose))
