"""Commands of a log (JointTrajectory or Float64MultiArray), at the rows of its joint positions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pipeline.divergence.episode import EpisodeError, interpolated
from pipeline.divergence.robot_logs.bag import TRAJECTORY, Bag, stamp_of
from pipeline.divergence.robot_logs.joint_states import Clock


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


def read_commands(bag: Bag, topic: str, clock: Clock) -> tuple[np.ndarray, tuple[str, ...]]:
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
