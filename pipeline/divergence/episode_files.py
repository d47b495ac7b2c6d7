"""Files of episodes.

.csv  a column `t` in seconds and one column a joint
.npz  t (T,), q (T, J), names (J,); optional u (T, U), arms and events (JSON texts), objects (K,) with
      object_poses (T, K, 7): metres and quaternion wxyz
.bag .mcap .db3, ROS 2 folder  by robot_logs, message by message
"""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.episode import ArmJoints, Episode, EpisodeError, require_size
from pipeline.divergence.lerobot import episode_numbers, is_lerobot, read_lerobot, split_number
from pipeline.divergence.lerobot_writer import write_lerobot
from pipeline.divergence.project_episodes import is_project, read_project
from pipeline.divergence.robot_logs import is_log, read_log, split_topics, topic_choices, with_topics
from pipeline.errors import reason_of
from pipeline.store import atomic_write, parse_json, read_arrays, write_arrays

VIDEO_SUFFIXES = (".mp4", ".mov", ".mkv", ".webm", ".avi")
"""As in pipeline.divergence.report.video, which takes a second to import."""


def read_episode(path: Path) -> Episode:
    """Read a CSV or NPZ file, a log of a robot, a LeRobot v3 folder, a project (its solution), or one of its rounds.

    LOG#/topic chooses a topic of a log, FOLDER#3 an episode of a LeRobot folder (else its first). Raises EpisodeError:
    no such file, not an episode, no finite numbers, time going back, nothing in it.
    """
    path, topics = split_topics(Path(path))
    path, number = split_number(path)
    if number and not is_lerobot(path):
        raise EpisodeError(f"{path.name} is no LeRobot folder; only that has episodes to choose")
    if topics and not is_log(path):
        raise EpisodeError(f"{path.name} is no log (.bag, .mcap, a ROS 2 folder); only a log has topics to choose")
    if path.is_dir():
        if is_log(path):
            return read_log(path, topics)
        if is_lerobot(path):
            return read_lerobot(path, number)
        if is_project(path):
            return read_project(path)
        files = "meta/info.json (LeRobot), metadata.yaml (ROS 2), solution.json or record.npz"
        raise EpisodeError(f"{path} is no episode: it has no {files}")
    if not path.is_file():
        raise EpisodeError(f"there is no episode {path}")
    if not path.stat().st_size:
        raise EpisodeError(f"{path.name} is empty")
    if is_log(path):
        return read_log(path, topics)
    readers = {".csv": _read_csv, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        kinds = ".csv, .npz, .bag, .mcap, a folder of LeRobot or ROS 2, or a project"
        raise EpisodeError(f"{path.name} is no episode; it takes {kinds}")
    try:
        return readers[path.suffix.lower()](path)
    except EpisodeError as error:
        raise error if path.name in str(error) else EpisodeError(f"{path.name}: {error}") from None
    except (ValueError, KeyError, TypeError, OSError, IndexError, MemoryError, csv.Error) as error:
        raise EpisodeError(f"{path.name} cannot be read as an episode: {reason_of(error)}") from None


def selection_choices(path: Path) -> dict[str, tuple[str, ...]]:
    """Return what there is to choose from: topics of "joints" and "commands" of a log, "episodes" of a dataset.

    {} where there is no choice. Raises EpisodeError for a damaged log.
    """
    if is_log(path):
        return topic_choices(path)
    numbers = episode_numbers(path) if is_lerobot(path) else ()
    return {"episodes": tuple(map(str, numbers))} if len(numbers) > 1 else {}


def with_selection(path: Path, chosen: Sequence[str]) -> Path:
    """Return the path as `read_episode` takes it: LOG#/topic,/topic or FOLDER#3; unchanged if nothing is chosen."""
    if not chosen:
        return path
    return with_topics(path, chosen) if is_log(path) else Path(f"{path}#{chosen[0]}")


def write_episode(episode: Episode, path: Path) -> None:
    """Write an episode as .npz, as .csv with times and joint positions only, or to a new folder as a LeRobot dataset.

    Raises EpisodeError, StoreError.
    """
    path = Path(path)
    if not path.suffix:
        return write_lerobot(episode, path)
    if path.suffix.lower() not in (".csv", ".npz"):
        raise EpisodeError(f"an episode cannot be written as {path.name}; name a .csv or .npz file, or a new folder")
    (_write_csv if path.suffix.lower() == ".csv" else _write_npz)(episode, path)


def episode_in(folder: Path) -> Path:
    """Return the episode among uploaded files: the single file, or the folder of a LeRobot dataset or a ROS 2 log.

    A video that lies beside a single file gets its name. Raises EpisodeError.
    """
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    episodes = [path for path in files if path.suffix.lower() not in VIDEO_SUFFIXES]
    if len(episodes) == 1:
        for video in set(files) - set(episodes):
            video.replace(episodes[0].with_suffix(video.suffix.lower()))
        return episodes[0]
    datasets = [path.parents[1] for path in files if path.parts[-2:] == ("meta", "info.json")]
    logs = [path.parent for path in files if path.name == "metadata.yaml"]
    if not datasets and not logs:
        raise EpisodeError(
            "Drop one file (.npz, .csv, .bag, .mcap; a video beside it), or one folder (LeRobot v3, ROS 2 log), "
            "for each episode."
        )
    return [*datasets, *logs][0]


def arms_text(arms: Mapping[str, ArmJoints]) -> str:
    """Return arms as a JSON text. Inverse of `parse_arms`."""
    rows = {
        name: {"joints": arm.joints, "gripper": arm.gripper, "tool": arm.tool}
        | ({} if arm.open_value is None else {"open": arm.open_value})
        for name, arm in arms.items()
    }
    return json.dumps(rows)


def parse_arms(text: str, source: str) -> dict[str, ArmJoints]:
    """Return the arms of a JSON text {arm: {"joints", "gripper", "tool"}}. Raises EpisodeError."""
    try:
        data = parse_json(text or "{}")
        return {
            str(name): ArmJoints(
                tuple(map(str, arm["joints"])),
                str(arm["gripper"]) if arm.get("gripper") else None,
                str(arm["tool"]) if arm.get("tool") else None,
                float(arm["open"]) if arm.get("open") is not None else None,
            )
            for name, arm in data.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        form = '{"left": {"joints": [...], "gripper": name, "tool": name}}'
        raise EpisodeError(f"{source}: arms have to be {form} ({reason_of(error)})") from None


def _read_csv(path: Path) -> Episode:
    import pandas as pd

    require_size(path.stat().st_size, path.name)
    with path.open(newline="", encoding="utf-8-sig") as file:
        header = [name.strip() for name in next(csv.reader(file), [])]
    if "t" not in header:
        raise EpisodeError(f"{path.name} has no column t (seconds); its first line names {', '.join(header[:8])}")
    t = header.index("t")
    numbers = [i for i in range(len(header)) if i != t]
    try:
        rows = pd.read_csv(
            path, header=None, skiprows=1, names=range(len(header)), dtype=np.float64, encoding="utf-8-sig",
            index_col=False,
        ).to_numpy()  # fmt: skip
    except pd.errors.EmptyDataError:
        rows = np.empty((0, len(header)))
    return Episode.from_arrays(rows[:, t], rows[:, numbers], [header[i] for i in numbers], source=path.name)


def _read_npz(path: Path) -> Episode:
    arrays, source = read_arrays(path), path.name
    if missing := [name for name in ("t", "q", "names") if name not in arrays]:
        raise EpisodeError(f"{source} lacks {', '.join(missing)}; an episode has t, q and names")
    for name in ("t", "q", "u"):
        if name in arrays and arrays[name].dtype.kind not in "fiub":
            raise EpisodeError(f"{source}: {name} holds no numbers ({arrays[name].dtype})")
    fields: dict[str, Any] = {"events": tuple(parse_json(str(arrays.get("events", "[]"))))}
    count = len(np.atleast_1d(arrays["t"]))
    if "u" in arrays:
        fields["actions"] = np.asarray(arrays["u"], float)
    if "objects" in arrays and "object_poses" in arrays:
        objects = [str(name) for name in np.atleast_1d(arrays["objects"])]
        shape, listed = (count, len(objects)), ", ".join(objects)
        poses = np.asarray(arrays["object_poses"], float)
        if poses.shape != (*shape, 7) or not np.isfinite(poses).all():
            raise EpisodeError(f"{source}: the poses of {listed} need shape {(*shape, 7)}, all finite")
        fields["objects"] = {name: poses[:, i] for i, name in enumerate(objects)}
        if "contacts" in arrays:
            contacts = np.asarray(arrays["contacts"], bool)
            if contacts.shape != (*shape, 2):
                raise EpisodeError(f"{source}: the contacts of {listed} need shape {(*shape, 2)}")
            fields["contacts"] = {name: contacts[:, i] for i, name in enumerate(objects)}
    names = [str(name) for name in np.atleast_1d(arrays["names"])]
    arms = parse_arms(str(arrays.get("arms", "")), source)
    return Episode.from_arrays(arrays["t"], arrays["q"], names, arms, source, **fields)


def _write_csv(episode: Episode, path: Path) -> None:
    with atomic_write(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(("t", *episode.names))
        rows.writerows(map(repr, row) for row in np.column_stack((episode.times, episode.positions)).tolist())


def _write_npz(episode: Episode, path: Path) -> None:
    arrays: dict[str, Any] = {
        "q": episode.positions,
        "t": episode.times,
        "names": np.array(episode.names),
        "arms": arms_text(episode.arms),
        "events": json.dumps(episode.events),
    }
    if episode.actions is not None:
        arrays["u"] = episode.actions
    if episode.objects:
        arrays["objects"] = np.array(list(episode.objects))
        arrays["object_poses"] = np.stack(list(episode.objects.values()), axis=1)
        if set(episode.contacts) == set(episode.objects):
            arrays["contacts"] = np.stack([episode.contacts[name] for name in episode.objects], axis=1)
    write_arrays(path, arrays)
