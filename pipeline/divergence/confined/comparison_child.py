"""What a confined comparison does in its child: compares two episodes and draws the robots."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import numpy as np

from pipeline.divergence.alignment import Method
from pipeline.divergence.comparison import compare
from pipeline.divergence.confined.confined_comparison import playback_message
from pipeline.divergence.confined.playback import drawn_playback
from pipeline.divergence.episode import Episode
from pipeline.divergence.episode_files import read_episode, selection_choices, with_selection
from pipeline.divergence.report import drawn_result, error_histograms
from pipeline.divergence.report.video import event_frames, find_video
from pipeline.divergence.robot_kinematics import load_robot
from pipeline.untrusted.confined import Progress, Result


def prepare() -> None:
    """Find ffmpeg, which reads frames of videos."""
    imageio_ffmpeg.get_ffmpeg_exe()


def compare_files(
    real: str, sim: str, robot: str | None, real_selection: Sequence[str], sim_selection: Sequence[str],
    method: Method, send: Callable[[Progress], None],
) -> Result:  # fmt: skip
    """Return {"result", "playback", "frames"} as `compare_confined` reads it. Raises StudioError."""

    def report(message: str, choices: dict[str, Any] | None = None) -> None:
        send(Progress({"message": message, "choices": choices}))

    report("Reading the real episode")
    paths = {"real": (Path(real), real_selection), "sim": (Path(sim), sim_selection)}
    report("Reading the real episode", {side: selection_choices(path) for side, (path, _) in paths.items()})
    chosen = {side: with_selection(*selected) for side, selected in paths.items()}
    real_episode = read_episode(chosen["real"])
    report("Reading the simulated episode")
    sim_episode = read_episode(chosen["sim"])
    robot_file = Path(robot) if robot else None
    model = load_robot(robot_file) if robot_file else None
    report("Comparing")
    comparison = compare(real_episode, sim_episode, model, method)
    result = drawn_result(comparison, real_episode, sim_episode) | {
        "histograms": error_histograms(comparison),
        "notes": [episode.note for episode in (real_episode, sim_episode) if episode.note],
    }
    report("Drawing the robots")
    playback, arrays = playback_message(drawn_playback(comparison, real_episode, sim_episode, robot_file))
    frames = _video_frames(chosen, result, real_episode, sim_episode)
    jpegs = [np.frombuffer(frame, np.uint8) for each in frames.values() for frame in each if frame]
    shown = {side: [frame is not None for frame in each] for side, each in frames.items()}
    return Result({"result": result, "playback": playback, "frames": shown}, (*arrays, *jpegs))


def _video_frames(
    chosen: dict[str, Path], result: dict[str, Any], real: Episode, sim: Episode
) -> dict[str, list[bytes | None]]:
    """Return {"real", "sim"}: the frame of each event as JPEG, None where there is none."""
    found = {}
    for side, episode, clock in (("real", real, "real_s"), ("sim", sim, "sim_s")):
        video = find_video(chosen[side])
        found[side] = event_frames(video, episode, result["comparison"]["events"], clock)
        if video and not any(found[side]):
            result["notes"].append(f"{video.path.name} has no frame at the events; they are drawn without it")
    return found
