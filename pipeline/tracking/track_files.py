"""Files of a track: track.npz with all poses, track.json to read, twin.xml; with a robot's log also episode.npz for the
Compare page, and lerobot/, a dataset.

track.npz holds t (T,) in seconds, objects (K,), object_poses (T, K, 7): metres and quaternion wxyz, states (T, K): an
index into state_names, errors (T, K) in metres, NaN where nothing was seen, and frames (T,): their numbers in the
recording. twin.xml is the model of the twin that was followed; its files lie in the project's folder scene/.
"""

import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence import Episode, write_episode
from pipeline.errors import StudioError, reason_of
from pipeline.frame import Doubt
from pipeline.scene.mjcf.recorded_models import twin_digest, with_own_files
from pipeline.store import read_arrays, read_json, write_arrays, write_json, write_text
from pipeline.tracking.track import STATES, Event, Track, TrackError, share_of_states

SCHEMA = 1
EPISODE, DATASET = "episode.npz", "lerobot"
"""Files in a track's folder, with a robot's log."""
MAX_SECONDS = 24 * 3600.0
"""Of a track that is read."""
FOLDER = "tracks"
"""Folder of a project with a track in each of its folders, called as the recording."""


def newest_track(project: Path) -> Path | None:
    """Return the folder of a project's newest track; None if it has none."""
    found = sorted(project.glob(f"{FOLDER}/*/track.json"), key=lambda path: path.stat().st_mtime)
    return found[-1].parent if found else None


def write_track(track: Track, project_dir: Path, folder: Path, source: str) -> None:
    """Write track.npz, track.json and twin.xml, in place of a former track; `source` names the recording.

    Raises StoreError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "track.json").is_file():
        (folder / EPISODE).unlink(missing_ok=True)
        shutil.rmtree(folder / DATASET, ignore_errors=True)
    arrays = {"t": track.times, "objects": np.array(track.names), "object_poses": track.poses, "states": track.states}
    arrays |= {"state_names": np.array(STATES), "errors": track.errors.astype(np.float32)}
    arrays |= {"frames": np.array(track.numbers or range(len(track.times)))}
    write_arrays(folder / "track.npz", arrays)
    scene = project_dir / "scene"
    write_text(folder / "twin.xml", with_own_files((scene / "scene.xml").read_text("utf-8"), scene))
    write_json(folder / "track.json", {**track_to_json(track, source), "twin": twin_digest(project_dir)})


def read_track(folder: Path) -> Track:
    """Read track.npz and what track.json says of it. Raises TrackError."""
    try:
        arrays, told = read_arrays(folder / "track.npz"), read_json(folder / "track.json")
        track = Track(
            tuple(map(str, arrays["objects"])), arrays["t"].astype(float), arrays["object_poses"].astype(float),
            arrays["states"].astype(np.uint8), arrays["errors"].astype(float),
            tuple(Event(**event) for event in told["events"]), tuple(Doubt(**doubt) for doubt in told["doubtful"]),
            tuple(arrays["frames"].astype(int).tolist()),
        )  # fmt: skip
        count = len(track.times), len(track.names)
        sound = track.poses.shape == (*count, 7) and track.states.shape == track.errors.shape == count
        sound &= len(track.times) > 0 and bool((np.diff(track.times) > 0).all()) and 0 <= track.times[-1] < MAX_SECONDS
        if not (sound and track.states.max(initial=0) < len(STATES) and np.isfinite(track.poses).all()):
            raise ValueError("arrays of other shapes or numbers")
    except (OSError, StudioError, ValueError, KeyError, TypeError) as error:
        raise TrackError(
            f"{folder.name} holds no track that can be read ({reason_of(error)}); track the recording again"
        ) from None
    return track


def track_to_json(track: Track, source: str) -> dict[str, Any]:
    """Return the content of track.json: each object's states, estimated error and losses, and all events."""
    return {
        "schema": SCHEMA,
        "recording": source,
        "frames": len(track.times),
        "seconds": round(float(track.times[-1]), 3),
        "objects": [_object_to_json(track, number) for number in range(len(track.names))],
        "events": [event.to_json() for event in track.events],
        "doubtful": [asdict(doubt) for doubt in track.doubts],
    }


def _object_to_json(track: Track, number: int) -> dict[str, Any]:
    errors = track.errors[:, number][np.isfinite(track.errors[:, number])]
    since = track.lost_since(len(track.times) - 1, number)
    shares = {name: round(share, 4) for name, share in share_of_states(track, [number]).items()}
    return {
        "name": track.names[number],
        "states": shares,
        "estimated_error_m": round(float(np.median(errors)), 5) if len(errors) else None,
        "lost_since": None if since is None else round(since, 3),
    }


def with_objects(log: Episode, track: Track, offset: float = 0.0) -> Episode:
    """Return a robot's log with the tracked poses of the objects at its instants.

    Objects that are ever lost are left out: an episode cannot say so.

    Args:
        offset: seconds of the log at which the recording begins.

    Raises TrackError if log and recording do not overlap.
    """
    times = log.times - log.times[0] - offset
    within = (times >= track.times[0] - 0.1) & (times <= track.times[-1] + 0.1)
    if within.sum() < 2:
        raise TrackError("the log and the recording do not overlap; give the second of the log at which it begins")
    nearest = np.abs(times[:, None] - track.times[None]).argmin(1)
    kept = [k for k in range(len(track.names)) if (track.states[:, k] != STATES.index("lost")).all()]
    objects = {track.names[k]: track.poses[nearest, k] for k in kept}
    left = len(track.names) - len(kept)
    note = f"poses of {len(kept)} objects tracked in a recording" + (
        f"; {left} lost on the way, left out" if left else ""
    )
    return replace(log, objects=objects, note="; ".join(text for text in (log.note, note) if text))


def write_episode_of(episode: Episode, folder: Path) -> None:
    """Write a robot's log with tracked objects (`with_objects`), as episode.npz and as a LeRobot dataset.

    Raises EpisodeError, StoreError.
    """
    write_episode(episode, folder / EPISODE)
    write_episode(episode, folder / DATASET)
