"""`grs-studio track`: follow a twin's objects through a recording."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio.commands.options import DONE

if TYPE_CHECKING:
    from pipeline.frame import Frame
    from pipeline.tracking.recorded_frames import RecordedFrames
    from pipeline.tracking.track import Track


def add_to(command: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    command.add_argument("project", type=Path, metavar="PROJECT", help="project with a twin of the recording's start")
    command.add_argument("recording", type=Path, metavar="RECORDING", help="recording in any format with depth")
    command.add_argument("--out", type=Path, required=True, help="folder for track.npz, track.json and track.mp4")
    command.add_argument(
        "--first", type=int, default=0, metavar="N", help="the frame that the twin was made of (default %(default)s)"
    )
    command.add_argument("--last", type=int, metavar="N", help="the last frame to follow (default: all)")
    command.add_argument(
        "--rate", type=float, default=30.0, metavar="HZ", help="frames a second where none are given (default 30)"
    )
    command.add_argument("--instant", type=float, metavar="SECONDS", help="make a project of this instant of the track")
    command.add_argument("--project", dest="new", type=Path, metavar="OUT", help="folder of that project")
    command.add_argument(
        "--log", type=Path, help="log of the robot; with the objects it becomes episode.npz and the dataset lerobot/"
    )
    command.add_argument(
        "--log-start", type=float, default=0.0, metavar="SECONDS", help="second of the log at which the track begins"
    )
    command.set_defaults(execute=track)


def track(arguments: argparse.Namespace) -> int:
    """Follow the objects, write the track and its film, and make a project of an instant if asked to."""
    from pipeline.divergence import read_episode
    from pipeline.frame.load import open_recording
    from pipeline.project import Project
    from pipeline.tracking.instant import project_at
    from pipeline.tracking.recorded_frames import RecordedFrames
    from pipeline.tracking.track import TrackError
    from pipeline.tracking.track_files import with_objects, write_episode_of, write_track

    if (arguments.instant is None) != (arguments.new is None):
        raise TrackError("--instant SECONDS and --project OUT go together")
    project, recording = Project.open(arguments.project), open_recording(arguments.recording)
    log = read_episode(arguments.log) if arguments.log else None
    frames = RecordedFrames.between(project, recording, arguments.first, arguments.last, arguments.rate)
    if frames.left_out:
        print(f"{frames.left_out} frames are left out: where their camera was is not known", file=sys.stderr)
    found = _followed(frames)
    episode = None if log is None else with_objects(log, found, arguments.log_start)
    write_track(found, project.folder, arguments.out, arguments.recording.name)
    if episode is not None:
        write_episode_of(episode, arguments.out)
    if arguments.instant is not None:
        index = found.index_at(arguments.instant)
        project_at(project, found, frames.frame(frames.numbers[index]), index, arguments.new)
    _write_film(found, frames, arguments.out)
    print("\n".join(_summary(found)), file=sys.stderr)
    return DONE


def _followed(frames: "RecordedFrames") -> "Track":
    steps = frames.follow()
    while True:
        try:
            done = next(steps)
        except StopIteration as stop:
            return stop.value
        if done % 10 == 0:
            print(f"{done} of {len(frames.numbers)} frames", file=sys.stderr)


def _write_film(found: "Track", frames: "RecordedFrames", folder: Path) -> None:
    """Write track.mp4, or say why there is none."""
    from pipeline.scene import SceneError
    from pipeline.tracking.film import write_track_film

    def frame(index: int) -> "Frame":
        return frames.frame(frames.numbers[index])

    try:
        write_track_film(found, frames.project.folder, frame, folder / "track.mp4")
    except (SceneError, ImportError, OSError, RuntimeError) as error:
        print(f"no film: {error}", file=sys.stderr)


def _summary(found: "Track") -> list[str]:
    from pipeline.tracking.track import share_of_states

    lines = [
        f"{event.time:6.2f} s  {event.kind} {event.object}{' on ' + event.on if event.on else ''}"
        for event in found.events
    ]
    shares = share_of_states(found)
    lines.append(f"{len(found.names)} objects, {len(found.times)} frames: lost {shares['lost']:.0%} of the time")
    for number, name in enumerate(found.names):
        if (since := found.lost_since(len(found.times) - 1, number)) is not None:
            lines.append(f"{name} is lost since {since:.1f} s")
    return lines + [doubt.line for doubt in found.doubts]
