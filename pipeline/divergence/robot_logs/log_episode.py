"""An episode of a log: which of its topics are taken, and what is said about them."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.divergence.episode import Episode, EpisodeError, interpolated, require_size
from pipeline.divergence.robot_logs.bag import (
    JOINT_STATE,
    NUMBERS,
    POSE,
    READ_TYPES,
    TRAJECTORY,
    TRANSFORMS,
    Bag,
    open_bag,
    stamp_of,
)
from pipeline.divergence.robot_logs.joint_states import Clock, read_joint_states

LOG_SUFFIXES = (".bag", ".mcap", ".db3")
MAX_NAMED = 6
"""Topics that are named in one line."""

FIXED_FRAMES = ("world", "map", "base", "base_link")
"""Frames whose poses are taken."""
_FRAME = re.compile(r"/?objects?[/_]([\w.-]+)")
_TOPIC = re.compile(r"(?:.*/)?objects?/([\w.-]+?)(?:[/_]pose)?")


class _Track:
    """Poses of one object over the time of the rows."""

    def __init__(self, frame: str, rows: np.ndarray) -> None:
        self.frame, self._rows, self._last = frame, rows, -1
        self._times, self._poses = [], []

    def append(self, time: int, pose: np.ndarray) -> None:
        if time <= self._last:  # tf repeats what it knows
            return
        if self._poses and pose[3:] @ self._poses[-1][3:] < 0:
            pose[3:] *= -1
        self._last = time
        self._times.append(time)
        self._poses.append(pose)

    def at_rows(self) -> np.ndarray:
        """Return the poses at the rows, linear between those in the log and held outside, of shape (T, 7)."""
        times = np.array(self._times, np.int64)
        poses = interpolated((self._rows - times[0]) * 1e-9, (times - times[0]) * 1e-9, np.array(self._poses))
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        return poses


@dataclass(frozen=True, eq=False)
class _Command:
    """Values over the time since it begins, linear between its points, held before and after them."""

    rows: np.ndarray
    """Times of the episode's rows by the command's clock, in nanoseconds."""
    begin: int
    points: np.ndarray
    """Seconds since then, of shape (n,)."""
    values: np.ndarray
    """Of shape (n, U)."""

    def at(self, low: int, high: int) -> np.ndarray:
        return interpolated((self.rows[low:high] - self.begin) * 1e-9, self.points, self.values)


@dataclass(frozen=True)
class _Taken:
    """Topics by what is read of them."""

    joints: tuple[str, ...]
    command: str | None
    poses: tuple[str, ...]


def is_log(path: Path) -> bool:
    """Whether a path is a robot's log: a folder of ROS 2, or a file with one of the suffixes."""
    return (path / "metadata.yaml").is_file() or path.suffix.lower() in LOG_SUFFIXES


def split_topics(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Split FILE#/topic,/topic into the file and the topics."""
    name, separator, topics = str(path).rpartition("#/")
    if not separator or path.exists():
        return path, ()
    return Path(name), tuple(re.split(",(?=/)", "/" + topics))


def topic_choices(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the topics of "joints" and of "commands" among which a log leaves a choice; {} without any, and for files
    of other kinds.

    Raises EpisodeError for a damaged log.
    """
    if not is_log(path):
        return {}
    with open_bag(path) as bag:
        found = {"joints": _topics_of(bag, JOINT_STATE), "commands": _topics_of(bag, TRAJECTORY, NUMBERS)}
    return {name: topics for name, topics in found.items() if len(topics) > 1}


def _topics_of(bag: Bag, *kinds: str) -> tuple[str, ...]:
    return tuple(topic for topic, kind in bag.topics.items() if kind in kinds)


def with_topics(path: Path, topics: Sequence[str]) -> Path:
    """Return FILE#/topic,/topic. Inverse of `split_topics`."""
    return Path(f"{path}#{','.join('/' + topic.removeprefix('/') for topic in topics)}") if topics else path


def read_log(path: Path, topics: Sequence[str] = ()) -> Episode:
    """Read a log of ROS 1 or 2; `note` of the episode says which topics were taken.

    Args:
        topics: of which joints, commands or poses are taken in place of all that are plain.

    Raises EpisodeError with one line: a damaged log, no joint positions, a topic that is missing or has to be chosen.
    """
    with open_bag(path) as bag:
        taken = _taken(bag, topics)
        episode, clock = read_joint_states(bag, taken.joints)
        notes = [f"joints from {_listed(taken.joints)}"]
        if taken.command:
            actions, names = _read_commands(bag, taken.command, clock)
            episode = replace(episode, actions=actions)
            notes.append(f"commands from {taken.command}" + (f" ({', '.join(names)})" if names else ""))
        objects = _read_object_poses(bag, taken.poses, clock)
        if objects:
            notes.append(f"objects {_listed(list(objects))} from {_listed(taken.poses)}")
        used = {*taken.joints, taken.command, *(taken.poses if objects else ())}
        if left := [topic for topic in bag.topics if topic not in used]:
            notes.append(f"left: {_listed(left)}")
        return replace(episode, objects=objects, note=f"{bag.name}: {'; '.join(notes)}")


def _taken(bag: Bag, chosen: Sequence[str]) -> _Taken:
    """Return the topics to read. Raises EpisodeError."""
    wanted = [topic if topic in bag.topics else topic.removeprefix("/") for topic in chosen]
    readable = [topic for topic, kind in bag.topics.items() if kind in READ_TYPES]
    if missing := [topic for topic in wanted if topic not in readable]:
        raise EpisodeError(
            f"{bag.name} has no joints, commands or poses on {_listed(missing)}; it has {_listed(readable) or 'none'}"
        )

    def of(*kinds: str) -> tuple[str, ...]:
        every = _topics_of(bag, *kinds)
        return tuple(topic for topic in every if topic in wanted) or every

    joints, commands = of(JOINT_STATE), of(TRAJECTORY, NUMBERS)
    if not joints:
        named = [f"{topic} ({kind})" for topic, kind in bag.topics.items()]
        raise EpisodeError(
            f"{bag.name} has no joint positions (sensor_msgs/JointState); it has {_listed(named) or 'no message'}"
        )
    if len(commands) > 1 and set(commands) <= set(wanted):
        raise EpisodeError(f"{bag.name}: choose one topic of commands, not {_listed(commands)}")
    poses = tuple(topic for topic in of(POSE, TRANSFORMS) if topic in wanted or _is_plain(bag, topic))
    return _Taken(joints, commands[0] if len(commands) == 1 else None, poses)


def _is_plain(bag: Bag, topic: str) -> bool:
    return bag.topics[topic] == TRANSFORMS or _object_of_topic(topic) is not None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")


def _read_commands(bag: Bag, topic: str, clock: Clock) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the command in force at each row, of shape (T, U), and the joints it names (none for plain numbers).

    A command holds from its time on until the next; rows before the first have the first one. Raises EpisodeError.
    """
    command, names, filled, blocks = None, (), 0, []
    for command_names, following in _commands(bag, topic, clock):
        names = names or command_names
        if command is not None and following.values.shape[1] != command.values.shape[1]:
            raise EpisodeError(f"{bag.name}: commands on {topic} have {command.values.shape[1]} values, then others")
        begin = int(np.searchsorted(following.rows, following.begin))
        if command is not None and begin > filled:
            blocks.append(command.at(filled, begin))
            filled = begin
        command = following
    if command is None:
        raise EpisodeError(f"{bag.name}: no command on {topic} has a value")
    return np.vstack([*blocks, command.at(filled, len(clock.logged))]), names


def _commands(bag: Bag, topic: str, clock: Clock) -> Iterator[tuple[tuple[str, ...], _Command]]:
    is_trajectory, first = bag.topics[topic] == TRAJECTORY, ()
    for _, logged, message in bag.messages([topic]):
        if is_trajectory:
            if not message.points:  # stop
                continue
            names, points, values = _trajectory(bag.name, topic, message)
            first = first or names
            if sorted(names) != sorted(first):
                raise EpisodeError(f"{bag.name}: commands on {topic} name {', '.join(first)}, then others")
            values = values[:, [names.index(name) for name in first]]
            rows, begin = clock.by(stamp_of(message.header), logged)
        else:
            points, values = np.zeros(1), np.asarray(message.data, float).reshape(1, -1)
            rows, begin = clock.by(0, logged)
        if not values.size or not np.isfinite(values).all():
            raise EpisodeError(f"{bag.name}: a command on {topic} has no finite number")
        yield first, _Command(rows, begin, points, values)


def _trajectory(source: str, topic: str, message: Any) -> tuple[tuple[str, ...], np.ndarray, np.ndarray]:
    """Return the joints' names, the seconds of the points, and their positions of shape (points, joints)."""
    names = tuple(message.joint_names)
    if any(len(point.positions) != len(names) for point in message.points) or len(set(names)) != len(names):
        raise EpisodeError(f"{source}: a trajectory on {topic} needs one position for each of its joints")
    if not all(name.isprintable() for name in names):
        raise EpisodeError(f"{source}: a joint's name on {topic} is not text")
    seconds = np.array([point.time_from_start.sec + point.time_from_start.nanosec * 1e-9 for point in message.points])
    if (np.diff(seconds) <= 0).any():
        raise EpisodeError(f"{source}: the points of a trajectory on {topic} do not follow each other in time")
    return names, seconds, np.array([point.positions for point in message.points], float)


def _object_of_topic(topic: str) -> str | None:
    """Return the object that a topic names: cup of /objects/cup and /objects/cup/pose."""
    found = _TOPIC.fullmatch(topic)
    return found[1] if found else None


def _read_object_poses(bag: Bag, topics: Collection[str], clock: Clock) -> dict[str, np.ndarray]:
    """Return the poses of the objects on topics at each row, of shape (T, 7): metres and quaternion wxyz.

    Poses in a frame that moves, such as a camera's, are left. Raises EpisodeError.
    """
    tracks: dict[str, _Track] = {}
    for name, logged, header, position, rotation in _poses(bag, topics):
        frame = header.frame_id.strip("/")
        if frame not in FIXED_FRAMES or (name in tracks and frame != tracks[name].frame):
            continue
        rows, time = clock.by(stamp_of(header), logged)
        if name not in tracks:
            require_size((len(tracks) + 1) * len(rows) * 7 * 8, f"{bag.name} (poses of objects)")
            tracks[name] = _Track(frame, rows)
        pose = np.array([position.x, position.y, position.z, rotation.w, rotation.x, rotation.y, rotation.z], float)
        if not np.isfinite(pose).all() or not 0.5 < np.linalg.norm(pose[3:]) < 2:
            raise EpisodeError(f"{bag.name}: a pose of {name} is none (position {pose[:3]}, rotation wxyz {pose[3:]})")
        tracks[name].append(time, pose)
    return {name: track.at_rows() for name, track in tracks.items()}


def _poses(bag: Bag, topics: Collection[str]) -> Iterator[tuple[str, int, Any, Any, Any]]:
    """Yield the object's name, the time of logging, the header, the position and the rotation of each pose."""
    for topic, logged, message in bag.messages(topics):
        if bag.topics[topic] == POSE:
            name = (
                _object_of_topic(topic) or topic.strip("/").removesuffix("/pose").removesuffix("_pose").split("/")[-1]
            )
            yield name, logged, message.header, message.pose.position, message.pose.orientation
            continue
        for one in message.transforms:
            if found := _FRAME.fullmatch(one.child_frame_id):
                yield found[1], logged, one.header, one.transform.translation, one.transform.rotation
