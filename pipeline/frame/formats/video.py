"""Read a colour video with depth in a second, 16-bit video, or in a folder of depth images."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path

import numpy as np

from pipeline.frame.assemble import assemble_frame
from pipeline.frame.formats.archive import FileBundle, open_folder
from pipeline.frame.formats.depth_images import DEPTH_SUFFIXES, open_ffmpeg, read_depth_image, run_ffmpeg
from pipeline.frame.formats.intrinsics import camera_for_image
from pipeline.frame.formats.recording import Recording
from pipeline.frame.formats.rgbd_pairs import COLOUR_WORD, DEPTH_FOLDERS, DEPTH_WORD, images_in
from pipeline.frame.frame import Frame, FrameError
from pipeline.frame.image_files import check_pixel_count

VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v")
HIGH_BIT_DEPTH = re.compile("gray1[0246]|yuv4..p1[0246]|p01[06]")
"""Pixel formats with more than 8 bits, in ffmpeg's names."""
ADVICE = "put its depth beside it, as depth.mkv (FFV1, gray16) or a folder depth/ of 16-bit images, one per frame"


@dataclass(frozen=True)
class VideoInfo:
    """Properties of a video file."""

    path: Path
    width: int
    height: int
    rate: float
    """Frames per second."""
    count: int
    """Number of frames."""
    pixel_format: str
    """In ffmpeg's terms."""


def open_video(path: Path) -> Recording:
    """Open a video, with the depth next to it. Raises FrameError."""
    colour, bundle = probe_video(path), open_folder(path.parent)
    count, depth = _find_depth(path, bundle)
    frames = min(colour.count, count)
    if frames < 1:
        raise FrameError(f"{path.name} or its depth holds no frame.")

    def read(index: int) -> Frame:
        rgb = read_video_frame(colour, index, "rgb24", 3, np.uint8)
        return assemble_frame(rgb, depth(index), camera_for_image(bundle, b"", colour.width, colour.height), path.name)

    times = tuple(i / colour.rate for i in range(frames))
    names, colours = tuple(f"{time:.2f} s" for time in times), partial(_read_colours, colour, frames)
    return Recording("video", names, read, times, colours=colours)


def open_video_folder(bundle: FileBundle) -> Recording | None:
    """Open the only colour video directly in a folder; None if there is none, or several."""
    videos = [name for name in bundle.top_level_files if _is_video(name) and not DEPTH_WORD.search(name)]
    return open_video(bundle.folder / videos[0]) if bundle.folder is not None and len(videos) == 1 else None


def probe_video(path: Path) -> VideoInfo:
    """Return the properties of a video. Raises FrameError."""
    done = run_ffmpeg("-i", str(path), "-map", "0:v:0", "-c", "copy", "-f", "null", "-")
    log = done.stderr.decode("utf-8", "replace")
    stream = re.search(r"Stream #.*Video: (.*)", log)
    fields = _without_parentheses(stream[1]).split(",") if stream else []
    size = re.search(r"\b(\d{1,6})x(\d{1,6})\b", ",".join(fields[2:]))
    rate = re.search(r"([\d.]+) (?:fps|tbr)", ",".join(fields[2:]))
    counts = re.findall(r"frame=\s*(\d{1,9})", log)
    if size is None or rate is None or not counts or not 0.01 < float(rate[1]) < 10_000:
        raise FrameError(f"{path.name} is not a readable video, or is cut short.")
    width, height = int(size[1]), int(size[2])
    check_pixel_count(width, height, path.name)
    if width < 16 or height < 16:
        raise FrameError(f"{path.name} is {width} x {height} pixels; a frame needs at least 16 x 16.")
    return VideoInfo(path, width, height, float(rate[1]), min(int(counts[-1]), 1_000_000), fields[1].strip())


def _without_parentheses(text: str) -> str:
    """Remove what stands in parentheses, nested ones too: "gbrp(pc, gbr/unknown)" becomes "gbrp"."""
    shorter = re.sub(r"\([^()]*\)", "", text)
    return shorter if shorter == text else _without_parentheses(shorter)


def read_video_frame(video: VideoInfo, index: int, pixel_format: str, channels: int, dtype: type) -> np.ndarray:
    """Decode one frame, of shape (H, W) or (H, W, channels). Raises FrameError."""
    # Seek half a frame early, so that rounding cannot select the frame before.
    seek = ["-ss", f"{max(0.0, (index - 0.5) / video.rate):.6f}"] if index else []
    raw = run_ffmpeg(
        *seek, "-i", str(video.path), "-map", "0:v:0", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", pixel_format, "-"
    ).stdout
    shape = (video.height, video.width) + ((channels,) if channels > 1 else ())
    if len(raw) != prod(shape) * np.dtype(dtype).itemsize:
        raise FrameError(f"Frame {index} of {video.path.name} cannot be read; take an earlier one.")
    return np.frombuffer(raw, dtype).reshape(shape).copy()


def _read_colours(video: VideoInfo, count: int, every: int) -> Iterator[np.ndarray]:
    """Decode every n-th frame in one pass, of shape (H, W, 3). Raises FrameError."""
    options = ["-i", str(video.path), "-map", "0:v:0", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    shape = video.height, video.width, 3
    with open_ffmpeg(*options) as decoder:
        for index in range(count):
            raw = decoder.read(prod(shape))
            if len(raw) != prod(shape):
                raise FrameError(f"Frame {index} of {video.path.name} cannot be read; take an earlier one.")
            if index % every == 0:
                yield np.frombuffer(raw, np.uint8).reshape(shape)


def _find_depth(path: Path, bundle: FileBundle) -> tuple[int, Callable[[int], np.ndarray]]:
    """Return the number of depth images next to a colour video, and a function that reads one."""
    stem = COLOUR_WORD.sub("", path.stem).strip("._- ")
    depth_videos = [n for n in bundle.top_level_files if _is_video(n) and DEPTH_WORD.search(n)]
    depth_video = next((n for n in depth_videos if DEPTH_WORD.sub("", Path(n).stem).strip("._- ") == stem), None)
    if depth_video is not None:
        depth = probe_video(path.parent / depth_video)
        if not HIGH_BIT_DEPTH.match(depth.pixel_format):
            raise FrameError(f"{depth_video} has 8 bits per pixel ({depth.pixel_format}), too few for depth; {ADVICE}.")
        return depth.count, partial(read_video_frame, depth, pixel_format="gray16le", channels=1, dtype=np.uint16)
    images = next((names for folder in DEPTH_FOLDERS if (names := images_in(bundle, folder, DEPTH_SUFFIXES))), None)
    if not images:
        raise FrameError(f"{path.name} is colour without depth, and a twin needs distances: {ADVICE}.")
    return len(images), lambda index: read_depth_image(bundle.read(images[index]), images[index])


def _is_video(name: str) -> bool:
    return Path(name).suffix.lower() in VIDEO_SUFFIXES
