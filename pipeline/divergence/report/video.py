"""Frames of an episode's video."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.divergence.episode import Episode
from pipeline.divergence.lerobot import episode_video, is_lerobot, split_number
from pipeline.frame.formats.depth_images import run_ffmpeg

SIZE_PX = (240, 180)
"""Largest width and height of a frame."""
MAX_FRAMES = 40
"""Frames of one video, and events of a comparison that get pictures: the first ones."""
SUFFIXES = (".mp4", ".mov", ".mkv", ".webm", ".avi")


@dataclass(frozen=True)
class EpisodeVideo:
    """The part of a video file that shows an episode."""

    path: Path
    begin: float = 0.0
    """Second of the video that shows the episode's first sample."""


def find_video(episode: Path) -> EpisodeVideo | None:
    """Return the video of an episode: the file of the same name beside it, or the first camera of a LeRobot folder.

    Args:
        episode: as for `read_episode`; FOLDER#3 names an episode of a LeRobot folder.
    """
    folder, number = split_number(episode)
    if is_lerobot(folder):
        found = episode_video(folder, number)
        return EpisodeVideo(*found) if found else None
    beside = video_beside(episode)
    return EpisodeVideo(beside) if beside else None


def video_beside(episode: Path) -> Path | None:
    """Return the video of the same name beside a file."""
    beside = (episode.with_suffix(suffix) for suffix in SUFFIXES)
    return next((path for path in beside if path.is_file()), None)


def event_frames(
    video: EpisodeVideo | None, episode: Episode, events: Sequence[dict[str, Any]], clock: str
) -> list[bytes | None]:
    """Return the video's frame at each event as JPEG, None where event or frame is missing; empty without a video.

    Args:
        events: of comparison.json.
        clock: the field of an event with its time on the episode's own clock.
    """
    times = [event[clock] for event in events[:MAX_FRAMES]] if video else []
    return [(video and time is not None and _frame(video, time - episode.times[0])) or None for time in times]


def _frame(video: EpisodeVideo, seconds: float) -> bytes | None:
    width, height = SIZE_PX
    scaled = f"scale={width}:{height}:force_original_aspect_ratio=decrease"
    options = ("-frames:v", "1", "-vf", scaled, "-f", "image2pipe", "-c:v", "mjpeg", "-q:v", "4", "-")
    return (
        run_ffmpeg(
            "-v", "error", "-ss", f"{video.begin + max(seconds, 0.0):.3f}", "-i", str(video.path), *options
        ).stdout
        or None
    )
