"""Process started by isolated_comparison: compares two episodes and prints one line of JSON per step.

It is confined before it opens a file: it reads what was given and writes its scratch folder, nothing else.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import imageio_ffmpeg

from pipeline.confinement import SYSTEM_LIBRARIES, confine
from pipeline.divergence.comparison import compare
from pipeline.divergence.comparison_files import to_json
from pipeline.divergence.confined.playback import drawn_playback
from pipeline.divergence.episode import Episode
from pipeline.divergence.episode_files import read_episode, selection_choices, with_selection
from pipeline.divergence.report import error_curves, error_histograms, joint_curves
from pipeline.divergence.report.video import event_frames, find_video
from pipeline.divergence.robot_kinematics import load_robot
from pipeline.errors import StudioError
from pipeline.untrusted.worker_input import read_request, watch_parent

MAX_FILE_MB = 16384
"""Of a table that does not fit into memory."""
PACKAGE = Path(__file__).resolve().parents[2]
"""Our own code, some of which is imported late."""
Send = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read the request, confine this process, and print the steps and the result."""
    request, send = read_request()
    folders = [Path(request["robot"]).parent] if request["robot"] else []  # its meshes lie there
    episodes = [Path(request[name]) for name in ("real", "sim", "real_video", "sim_video") if request[name]]
    # What lies in a folder that is readable is not named again: its own mount would hide the rest of the folder.
    given = [*folders, *(path for path in episodes if not any(path.is_relative_to(folder) for folder in folders))]
    programs = [Path(imageio_ffmpeg.get_ffmpeg_exe())]  # it reads frames of videos
    try:
        confine(
            [*given, PACKAGE, *SYSTEM_LIBRARIES], [Path(request["scratch"])], programs,
            seconds=request["seconds"], memory_mb=request["memory_mb"], file_mb=MAX_FILE_MB,
        )  # fmt: skip
    except OSError as error:  # never open a file with less confinement than the platform has
        return send({"error": f"this process cannot be confined ({error.strerror}); nothing was compared"})
    watch_parent()
    try:
        _compare(request, send)
    except StudioError as error:
        send({"error": str(error)})
    except MemoryError:
        send({"error": "these files take too much memory to compare; make them smaller"})


def _compare(request: dict[str, Any], send: Send) -> None:
    send({"message": "Reading the real episode"})
    paths = {side: Path(request[side]) for side in ("real", "sim")}
    send({"choices": {side: selection_choices(path) for side, path in paths.items()}})
    chosen = {side: with_selection(path, request[f"{side}_selection"]) for side, path in paths.items()}
    real = read_episode(chosen["real"])
    send({"message": "Reading the simulated episode"})
    sim = read_episode(chosen["sim"])
    robot_file = Path(request["robot"]) if request["robot"] else None
    robot = load_robot(robot_file) if robot_file else None
    send({"message": "Comparing"})
    comparison = compare(real, sim, robot, request["method"])
    result = {
        "comparison": to_json(comparison),
        "curves": error_curves(comparison),
        "histograms": error_histograms(comparison),
        "joints": joint_curves(comparison, real, sim),
        "notes": [episode.note for episode in (real, sim) if episode.note],
    }
    send({"message": "Drawing the robots"})
    playback = drawn_playback(comparison, real, sim, robot_file, lambda mesh: send({"mesh": mesh}))
    result["frames"] = _video_frames(chosen, result, real, sim)
    send({"result": result, "playback": playback})


def _video_frames(chosen: dict[str, Path], result: dict[str, Any], real: Episode, sim: Episode) -> dict[str, list]:
    """Return {"real", "sim"}: the frame of each event as base64 of a JPEG, None where there is none."""
    found = {}
    for side, episode, clock in (("real", real, "real_s"), ("sim", sim, "sim_s")):
        video = find_video(chosen[side])
        frames = event_frames(video, episode, result["comparison"]["events"], clock)
        if video and not any(frames):
            result["notes"].append(f"{video.path.name} has no frame at the events; they are drawn without it")
        found[side] = [frame and base64.b64encode(frame).decode() for frame in frames]
    return found
