"""`grs-studio compare`: how far a simulated episode diverges from a real one."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import DONE
from studio.commands.robot_episodes.episode import EPISODES, print_notes

if TYPE_CHECKING:
    from pipeline.divergence import Comparison, Episode
    from pipeline.divergence.report.event_strip import EventPicture

METHODS = ("none", "clock", "motion", "dtw")
"""As in pipeline.divergence, which takes a second to import."""


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("real", type=Path, metavar="REAL", help=f"episode: {EPISODES}")
    command.add_argument("sim", type=Path, metavar="SIM", help="the same of the simulation")
    command.add_argument("--out", type=Path, required=True, help="folder for comparison.json, .npz and report.html")
    command.add_argument(
        "--robot", type=Path, metavar="MODEL", help="MJCF, URDF or DH table (.json): joint ranges and end effectors"
    )
    command.add_argument(
        "--align",
        choices=METHODS,
        default="clock",
        help="none: times as they are; clock: from the first sample; motion: from the first motion; "
        "dtw: by dynamic time warping (default %(default)s)",
    )
    command.set_defaults(execute=compare)


def compare(arguments: argparse.Namespace) -> int:
    from pipeline.divergence import compare as compare_episodes
    from pipeline.divergence import load_robot, read_episode, summary_lines, to_json, write_comparison

    robot = load_robot(arguments.robot) if arguments.robot else None
    real, sim = read_episode(arguments.real), read_episode(arguments.sim)
    comparison = compare_episodes(real, sim, robot, arguments.align)
    write_comparison(comparison, arguments.out, _pictures(arguments, comparison, real, sim))
    print_notes(real, sim)
    print("\n".join(summary_lines(to_json(comparison))), file=sys.stderr)
    return DONE


def _pictures(
    arguments: argparse.Namespace, comparison: "Comparison", real: "Episode", sim: "Episode"
) -> "list[EventPicture]":
    """Return the pictures of the events; fewer, and a line that says why, without OpenGL."""
    from pipeline.divergence import to_json
    from pipeline.divergence.confined.playback import drawn_playback
    from pipeline.divergence.report.event_strip import event_pictures
    from pipeline.divergence.report.video import event_frames, find_video
    from pipeline.scene import SceneError

    playback = drawn_playback(comparison, real, sim, arguments.robot)
    events, pictures = to_json(comparison)["events"], []
    videos = {side: find_video(getattr(arguments, side)) for side in ("real", "sim")}
    frames = {
        "real": event_frames(videos["real"], real, events, "real_s"),
        "sim": event_frames(videos["sim"], sim, events, "sim_s"),
    }
    try:
        pictures.extend(event_pictures(events, playback, frames))
    except SceneError as error:
        print(f"the report has no pictures of the events: {error}", file=sys.stderr)
    return pictures
