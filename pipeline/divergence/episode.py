"""Episode: what a robot did in one run of a task, real or simulated."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from pipeline.errors import StudioError

MAX_BYTES = 1 << 28
"""Bytes of an episode's positions: 4 million samples of eight joints, an hour at 1 kHz."""

NORMAL = {50: 0.6745, 90: 1.645}
"""Percentiles of the absolute value of a standard normal variable."""
MAX_ANGLE = 4 * np.pi
"""Radians. A robot joint that turns further is taken for one in degrees."""

_GRIPPER = re.compile(r"(gripper|finger)s?(_joint|[\W_]*(pos|position|opening|command))?\W*\d*$", re.IGNORECASE)


class EpisodeError(StudioError):
    """An episode that cannot be read, or two that cannot be compared."""


@dataclass(frozen=True)
class ArmJoints:
    """One arm of a robot, by the names of an episode's columns and of the robot's model."""

    joints: tuple[str, ...]
    """From base to tip, without the gripper."""
    gripper: str | None = None
    """Column of the gripper's opening or command."""
    tool: str | None = None
    """Site or body of the robot's model that is the end effector."""
    open_value: float | None = None
    """Position of the open gripper; its first position if None."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The joints, then the gripper if there is one: the terms of the paper's sum."""
        return (*self.joints, self.gripper) if self.gripper else self.joints


@dataclass(frozen=True, eq=False)
class Episode:
    """One run of a task."""

    times: np.ndarray
    """Of shape (T,), float64, in seconds, rising."""
    positions: np.ndarray
    """Joint positions and grippers, of shape (T, J), in the order of `names`; radians, or metres for slides."""
    names: tuple[str, ...]
    """Of the J columns."""
    arms: Mapping[str, ArmJoints]
    """By name; one called "arm", or "left" and "right", where the file does not say."""
    actions: np.ndarray | None = None
    """Of shape (T, U)."""
    events: tuple[dict, ...] = ()
    """Events that the recorder wrote: at least "time" in seconds."""
    objects: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Poses of objects in the world by name, of shape (T, 7): metres, quaternion wxyz."""
    contacts: Mapping[str, np.ndarray] = field(default_factory=dict)
    """Whether the robot touches an object, and whether anything else does, by the object's name: (T, 2), bool."""
    source: str = ""
    """Name of the file, or what recorded it."""
    declared_arms: bool = False
    """Whether the file names its arms."""
    note: str = ""
    """What was taken of a log and what was left, in one line; empty for other files."""

    @staticmethod
    def from_arrays(
        times: np.ndarray, positions: np.ndarray, names: Sequence[str], arms: Mapping[str, ArmJoints] | None = None,
        source: str = "episode", **fields,
    ) -> "Episode":  # fmt: skip
        """Return a checked episode of arrays of shape (T,) and (T, J). Raises EpisodeError with the row, from 1 on.

        Args:
            arms: by name; found by the joints' names if None.
            fields: actions, events, objects, contacts and note of the episode.
        """
        times, positions = np.asarray(times, float), np.asarray(positions, float)
        names = _distinct(names, source)
        if times.ndim != 1 or positions.shape != (len(times), len(names)):
            raise EpisodeError(
                f"{source}: {len(names)} names and times of shape {times.shape} do not fit positions of shape "
                f"{positions.shape}; they need shapes (J,), (T,) and (T, J)"
            )
        require_size(positions.nbytes, source)
        _require_finite(times[:, None], ("time",), source)
        _require_finite(positions, names, source)
        back = np.flatnonzero(np.diff(times) <= 0) + 1
        if len(back):
            raise EpisodeError(
                f"{source}: time does not increase at row {back[0] + 1} (t = {times[back[0]]:g} s); sort the rows and "
                "remove repeated ones"
            )
        if len(times) < 2:
            held = "has one sample" if len(times) else "is empty"
            raise EpisodeError(f"{source} {held}; an episode needs at least two samples")
        # Largest step seconds. A median step between samples above it is taken for milliseconds.
        if median_step(times) > 5.0:
            raise EpisodeError(f"{source}: samples are {median_step(times):g} s apart; times have to be in seconds")
        if (actions := fields.get("actions")) is not None and (actions.ndim != 2 or len(actions) != len(times)):
            raise EpisodeError(f"{source}: its actions have shape {actions.shape}; they need ({len(times)}, U)")
        found = dict(arms) if arms else arms_of(names)
        for name, arm in found.items():
            if missing := [column for column in arm.columns if column not in names]:
                raise EpisodeError(f"{source}: arm {name} names {', '.join(missing)}, which is no column")
            if not arm.columns:
                raise EpisodeError(f"{source}: arm {name} has no joint")
        return Episode(times, positions, names, found, source=source, declared_arms=bool(arms), **fields)

    @property
    def duration(self) -> float:
        """Seconds from the first to the last sample."""
        return float(self.times[-1] - self.times[0])

    @property
    def step(self) -> float:
        """Median time between samples in seconds."""
        return median_step(self.times)

    @property
    def gaps(self) -> np.ndarray:
        """Times of the last sample before, and the first after, each stretch that lacks samples, of shape (n, 2)."""
        # Seconds and median steps between two samples; above both, samples are missing, and a grasp or a release fits
        # in
        rows = np.flatnonzero(np.diff(self.times) > max(0.5, 5 * self.step))
        return np.stack((self.times[rows], self.times[rows + 1]), axis=1)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of columns. Raises EpisodeError that names the missing ones."""
        if missing := [name for name in names if name not in self.names]:
            raise EpisodeError(
                f"{self.source} has no joint {', '.join(missing)}; its joints are {', '.join(self.names)}"
            )
        return [self.names.index(name) for name in names]

    def at(self, times: np.ndarray, columns: Sequence[int] | slice = slice(None)) -> np.ndarray:
        """Return positions at times within the episode, interpolated linearly, of shape (len(times), columns)."""
        return interpolated(times, self.times, self.positions[:, columns])


def interpolated(times: np.ndarray, known: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values (T, N) at `times`, linear between the instants `known` (T,) and held outside. Exact at them."""
    columns = [np.interp(times, known, column) for column in values.T]
    return np.array(columns).reshape(values.shape[1], len(times)).T


def white_noise(values: np.ndarray, percent: Literal[50, 90] = 50) -> np.ndarray:
    """Return the standard deviation of the white noise on smooth signals (T, n), of shape (n,).

    From second differences, which smooth motion hardly enters: of white noise they have six times its variance. A
    higher percentile than the median serves for quantised sensors, whose differences are often zero.
    """
    bends = np.abs(np.diff(values, 2, axis=0))
    return np.percentile(bends, percent, axis=0) / (NORMAL[percent] * np.sqrt(6))


def require_size(size: int, source: str) -> None:
    """Raise EpisodeError for positions of more than MAX_BYTES."""
    if size > MAX_BYTES:
        raise EpisodeError(f"{source} takes more than {MAX_BYTES >> 20} MB of memory; cut it, or leave samples out")


def _distinct(names: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the names without blanks around them. Raises EpisodeError: none, an empty one, one twice."""
    found = Counter(str(name).strip() for name in names)
    if not found:
        raise EpisodeError(f"{source} names no joint; it needs a time and one column a joint")
    twice = sorted(name for name, count in found.items() if count > 1)
    if twice or "" in found:
        raise EpisodeError(f"{source}: every joint needs a name of its own ({', '.join(twice) or 'empty'})")
    return tuple(found)


def _require_finite(values: np.ndarray, names: Sequence[str], source: str) -> None:
    if not np.isfinite(values).all():
        row, column = np.argwhere(~np.isfinite(values))[0]
        raise EpisodeError(
            f"{source}: row {row + 1} has no finite number for {names[column]}; remove the row or fill it in"
        )


def arms_of(names: Sequence[str]) -> dict[str, ArmJoints]:
    """Return the arms that column names show: "left" and "right" where every name begins with one, else "arm".

    A name with "gripper" or "finger" is the gripper; the first one if an arm has several.
    """
    sides = {side: [name for name in names if re.match(side, name, re.IGNORECASE)] for side in ("left", "right")}
    grouped = sides if all(sides.values()) and sum(map(len, sides.values())) == len(names) else {"arm": list(names)}
    arms = {}
    for arm, columns in grouped.items():
        # A floating gripper's own slides are joints: gripper_x is not the opening of a gripper.
        openings = [name for name in columns if _GRIPPER.search(name)]
        gripper = openings[0] if openings and len(columns) > 1 else None
        arms[arm] = ArmJoints(tuple(name for name in columns if name != gripper), gripper)
    return arms


def in_gaps(times: np.ndarray, gaps: np.ndarray, margin: float = -1e-9) -> np.ndarray:
    """Return whether each time (T,) lies between the ends of a gap (n, 2), moved outwards by `margin` seconds."""
    before = np.searchsorted(gaps[:, 0] - margin, times, side="right") - 1
    return (before >= 0) & (times <= np.append(gaps[:, 1], -np.inf)[before] + margin)


def median_step(times: np.ndarray) -> float:
    """Return the median time between samples, of at most 100,000 of them, in seconds."""
    return float(np.median(np.diff(times[:100_000])))
