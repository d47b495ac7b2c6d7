"""An episode of a log: which of its topics are taken, and what is said about them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pipeline.divergence.episode import Episode, EpisodeError
from pipeline.divergence.robot_logs.bag import (
    JOINT_STATE,
    NUMBERS,
    POSE,
    READ_TYPES,
    TRAJECTORY,
    TRANSFORMS,
    Bag,
    open_bag,
)
from pipeline.divergence.robot_logs.commands import read_commands
from pipeline.divergence.robot_logs.joint_states import read_joint_states
from pipeline.divergence.robot_logs.object_poses import object_of_topic, read_object_poses

LOG_SUFFIXES = (".bag", ".mcap", ".db3")
MAX_NAMED = 6
"""Topics that are named in one line."""


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
            actions, names = read_commands(bag, taken.command, clock)
            episode = replace(episode, actions=actions)
            notes.append(f"commands from {taken.command}" + (f" ({', '.join(names)})" if names else ""))
        objects = read_object_poses(bag, taken.poses, clock)
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
    return bag.topics[topic] == TRANSFORMS or object_of_topic(topic) is not None


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
