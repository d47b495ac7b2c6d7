"""Joint positions of a log: messages of sensor_msgs/JointState, merged by the joints' names."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.divergence.episode import Episode, EpisodeError, require_size
from pipeline.divergence.robot_logs.bag import Bag, stamp_of

MAX_GROUPS = 64


@dataclass(frozen=True, eq=False)
class Clock:
    """Times of an episode's rows by the clocks of its log, in nanoseconds, each of shape (T,), int64."""

    stamps: np.ndarray
    """Of the messages' headers."""
    logged: np.ndarray
    has_stamps: bool

    def by(self, stamp: int, logged: int) -> tuple[np.ndarray, int]:
        """Return the rows' times and a message's time by a clock that both have."""
        return (self.stamps, stamp) if stamp and self.has_stamps else (self.logged, logged)


class _Group:
    """Messages that name the same joints."""

    def __init__(self, topic: str, names: Sequence[str]) -> None:
        self.topic, self.names = topic, tuple(names)
        self.stamps, self.logged, self._positions = array("q"), array("q"), array("d")

    def append(self, stamp: int, logged: int, row: np.ndarray) -> None:
        self.stamps.append(stamp)
        self.logged.append(logged)
        self._positions.extend(row)
        require_size(len(self._positions) * self._positions.itemsize, self.topic)

    def clock(self, has_stamps: bool) -> Clock:
        return Clock(np.array(self.stamps, np.int64), np.array(self.logged, np.int64), has_stamps)

    def episode(self, source: str, clock: Clock, first: int) -> Episode:
        positions = np.array(self._positions).reshape(-1, len(self.names))
        return Episode.from_arrays((_times(clock) - first) * 1e-9, positions, self.names, source=source)


def read_joint_states(bag: Bag, topics: Sequence[str]) -> tuple[Episode, Clock]:
    """Return the joint positions of topics, with times relative to the first, and their times in the log.

    Where several messages share the joints, the rows are those of the messages that come most often, as long as there
    are all; the other joints are interpolated linearly. Raises EpisodeError.
    """
    groups = _groups(bag, topics)
    if not groups:
        raise EpisodeError(f"{bag.name}: no message on {', '.join(topics)} holds a position")
    # The headers' times, unless a topic has none: both clocks may be minutes apart.
    has_stamps = all(any(any(g.stamps) for g in groups if g.topic == topic) for topic in {g.topic for g in groups})
    clocks = [group.clock(has_stamps) for group in groups]
    first = min(int(_times(clock)[0]) for clock in clocks)
    if len(groups) == 1:
        return groups[0].episode(bag.name, clocks[0], first), clocks[0]
    parts = [
        group.episode(f"{bag.name} ({group.topic}: {', '.join(group.names)[:80]})", clock, first)
        for group, clock in zip(groups, clocks, strict=True)
    ]
    return _merged(bag.name, parts, clocks)


def _groups(bag: Bag, topics: Sequence[str]) -> list[_Group]:
    groups: list[_Group] = []
    known: dict[tuple, tuple[_Group, list[int]]] = {}
    for topic, logged, message in bag.messages(topics):
        if not len(message.position):  # velocities or efforts only
            continue
        key = (topic, *message.name)
        if key not in known:
            known[key] = _group_of(bag.name, topic, message.name, groups)
        group, order = known[key]
        if len(message.position) != len(message.name):
            raise EpisodeError(
                f"{bag.name}: a message on {topic} has {len(message.name)} names and {len(message.position)} positions"
            )
        group.append(stamp_of(message.header), logged, message.position[order])
    return groups


def _group_of(source: str, topic: str, names: Sequence[str], groups: list[_Group]) -> tuple[_Group, list[int]]:
    """Return the group of the joints, a new one if none has them, and where a message has each of its joints."""
    if not all(name.isprintable() for name in names):
        raise EpisodeError(f"{source}: a joint's name on {topic} is not text")
    for group in groups:
        if group.topic == topic and sorted(group.names) == sorted(names):
            return group, [list(names).index(name) for name in group.names]
        if shared := next((name for name in names if name in group.names), None):
            if group.topic == topic:
                raise EpisodeError(f"{source}: joint {shared} comes with different other joints on {topic}")
            raise EpisodeError(
                f"{source}: joint {shared} is on {group.topic} and on {topic}; choose a topic: {source}#{group.topic}"
            )
    if len(groups) == MAX_GROUPS:
        raise EpisodeError(f"{source}: more than {MAX_GROUPS} kinds of messages name different joints")
    groups.append(_Group(topic, names))
    return groups[-1], list(range(len(names)))


def _times(clock: Clock) -> np.ndarray:
    return clock.stamps if clock.has_stamps else clock.logged


def _merged(source: str, parts: list[Episode], clocks: list[Clock]) -> tuple[Episode, Clock]:
    """Return the rows of the part with the most of them, within the time that all parts have."""
    low, high = max(part.times[0] for part in parts), min(part.times[-1] for part in parts)
    most = max(range(len(parts)), key=lambda number: len(parts[number].times))
    times, clock = parts[most].times, clocks[most]
    inside = slice(int(np.searchsorted(times, low)), int(np.searchsorted(times, high, side="right")))
    times = times[inside]
    if len(times) < 2:
        raise EpisodeError(f"{source}: no time has all its joints; choose a topic: {source}#/TOPIC")
    names = [name for part in parts for name in part.names]
    positions = np.hstack([part.at(times) for part in parts])
    merged = Episode.from_arrays(times - times[0], positions, names, source=source)
    return merged, Clock(clock.stamps[inside], clock.logged[inside], clock.has_stamps)
