"""A colour video with its depth beside it: as a 16-bit video, or as a folder of depth pictures."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import imageio_ffmpeg
import numpy as np

from pipeline.frame.assemble import assemble
from pipeline.frame.formats.bundle import Bundle, open_folder
from pipeline.frame.formats.depths import MOST_PIXELS, SUFFIXES, depth_values
from pipeline.frame.formats.intrinsics import camera_for
from pipeline.frame.formats.pairs import COLOUR_WORD, DEPTH_FOLDERS, DEPTH_WORD, pictures
from pipeline.frame.formats.recording import Recording
from pipeline.frame.frame import Frame, FrameError

VIDEOS = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
DEEP = re.compile("gray1[0246]|yuv4..p1[0246]|p01[06]")
"""Pixel formats with more than 8 bits, in ffmpeg's names."""
WANTED = "put its depth beside it, as depth.mkv (FFV1, gray16) or a folder depth/ of 16-bit pictures, one a frame"


@dataclass(frozen=True)
class Video:
    """What a video says of itself."""

    path: Path
    width: int
    height: int
    rate: float
    """Frames a second."""
    count: int
    pixels: str
    """ffmpeg's name of its pixel format."""


def open_video(path: Path) -> Recording:
    """The video's frames, with depth from what lies beside it. Raises FrameError."""
    colour, bundle = described(path), open_folder(path.parent)
    count, depth = _depth_beside(path, bundle)
    frames = min(colour.count, count)
    if frames < 1:
        raise FrameError(f"{path.name} or its depth holds no frame.")

    def read(index: int) -> Frame:
        rgb = pixels(colour, index, "rgb24", 3, np.uint8)
        return assemble(rgb, depth(index), camera_for(bundle, b"", colour.width, colour.height), path.name)

    times = tuple(i / colour.rate for i in range(frames))
    return Recording("video", tuple(f"{time:.2f} s" for time in times), read, times)


def open_video_folder(bundle: Bundle) -> Recording | None:
    """The one colour video directly in a folder, with its depth; None where there is none."""
    videos = [name for name in bundle.top if _is_video(name) and not DEPTH_WORD.search(name)]
    return open_video(bundle.folder / videos[0]) if bundle.folder is not None and len(videos) == 1 else None


def described(path: Path) -> Video:
    """Size, rate and count. Raises FrameError."""
    try:
        reading = imageio_ffmpeg.read_frames(str(path))
        told = next(reading)
        reading.close()
        count, _ = imageio_ffmpeg.count_frames_and_secs(str(path))
        (width, height), rate = told["source_size"], float(told["fps"])
        if not (width >= 16 and height >= 16 and width * height <= MOST_PIXELS and 0.01 < rate < 10_000):
            raise ValueError
    except Exception:  # imageio-ffmpeg passes on whatever ffmpeg says
        raise FrameError(f"{path.name} is not a video that can be read, or cut short.") from None
    return Video(path, width, height, rate, min(count or 0, 1_000_000), str(told.get("pix_fmt", "")))


def pixels(video: Video, index: int, form: str, channels: int, kind: type) -> np.ndarray:
    """One frame, of shape (H, W) or (H, W, channels). Raises FrameError."""
    # Half a frame early, so that rounding never lands on the frame before.
    seek = ["-ss", f"{max(0.0, (index - 0.5) / video.rate):.6f}"] if index else []
    size = np.dtype(kind).itemsize * 8 * channels
    try:
        reading = imageio_ffmpeg.read_frames(str(video.path), pix_fmt=form, bits_per_pixel=size, input_params=seek)
        next(reading)
        raw = next(reading)
        reading.close()
        shape = (video.height, video.width) + ((channels,) if channels > 1 else ())
        return np.frombuffer(raw, kind).reshape(shape).copy()
    except Exception:
        raise FrameError(f"Frame {index} of {video.path.name} cannot be read; take an earlier one.") from None


def _depth_beside(path: Path, bundle: Bundle) -> tuple[int, Callable[[int], np.ndarray]]:
    """How many depths lie beside a colour video, and what reads one."""
    rest = COLOUR_WORD.sub("", path.stem).strip("._- ")
    films = [n for n in bundle.top if _is_video(n) and DEPTH_WORD.search(n)]
    film = next((n for n in films if DEPTH_WORD.sub("", Path(n).stem).strip("._- ") == rest), None)
    if film is not None:
        depth = described(path.parent / film)
        if not DEEP.match(depth.pixels):
            raise FrameError(f"{film} has 8 bits a pixel ({depth.pixels}), too few for depth; {WANTED}.")
        return depth.count, partial(pixels, depth, form="gray16le", channels=1, kind=np.uint16)
    found = next((names for folder in DEPTH_FOLDERS if (names := pictures(bundle, folder, SUFFIXES))), None)
    if not found:
        raise FrameError(f"{path.name} is colour without depth, and a twin needs distances: {WANTED}.")
    return len(found), lambda index: depth_values(bundle.read(found[index]), found[index])


def _is_video(name: str) -> bool:
    return Path(name).suffix.lower() in VIDEOS
