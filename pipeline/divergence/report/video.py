"""Frames of an episode's video. The video begins with the episode's first sample."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.divergence.episode import Episode
from pipeline.frame.formats.depth_images import run_ffmpeg

SIZE_PX = (240, 180)
"""Largest width and height of a frame."""
MAX_FRAMES = 40
"""Frames of one video, and events of a comparison that get pictures: the first ones."""
SUFFIXES = (".mp4", ".mov", ".mkv", ".webm", ".avi")


def find_video(episode: Path) -> Path | None:
    """Return the video of an episode: the file of the same name beside it, or the first camera of a LeRobot folder."""
    if episode.is_dir():
        return next(iter(sorted(episode.glob("videos/*/chunk-*/file-*.mp4"))), None)
    beside = (episode.with_suffix(suffix) for suffix in SUFFIXES)
    return next((path for path in beside if path.is_file()), None)


def event_frames(
    video: Path | None, episode: Episode, events: Sequence[dict[str, Any]], clock: str
) -> list[bytes | None]:
    """Return the video's frame at each event as JPEG, None where event or frame is missing; empty without a video.

    Args:
        events: of comparison.json.
        clock: the field of an event with its time on the episode's own clock.
    """
    times = [event[clock] for event in events[:MAX_FRAMES]] if video else []
    return [(video and time is not None and _frame(video, max(time - episode.times[0], 0.0))) or None for time in times]


def _frame(video: Path, seconds: float) -> bytes | None:
    width, height = SIZE_PX
    scaled = f"scale={width}:{height}:force_original_aspect_ratio=decrease"
    options = ("-frames:v", "1", "-vf", scaled, "-f", "image2pipe", "-c:v", "mjpeg", "-q:v", "4", "-")
    return run_ffmpeg("-v", "error", "-ss", f"{seconds:.3f}", "-i", str(video), *options).stdout or None
