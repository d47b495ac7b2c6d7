"""Episode: what a robot did in one run of a task, real or simulated."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pipeline.divergence.table import Table
from pipeline.errors import StudioError

MAX_ANGLE = 4 * np.pi
"""Radians. A robot joint that turns further is taken for one in degrees."""
GAP_S, GAP_STEPS = 0.5, 5
"""Seconds and median steps between two samples; above both, samples are missing, and a grasp or a release fits in."""
MAX_STEP_S = 5.0
"""Seconds. A median step between samples above it is taken for milliseconds."""

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
    positions: Table
    """Joint positions and grippers, T rows of J values in the order of `names`; radians, or metres for slides."""
    names: tuple[str, ...]
    """Of the J columns."""
    arms: Mapping[str, ArmJoints]
    """By name; one called "arm", or "left" and "right", where the file does not say."""
    actions: Table | None = None
    """T rows of U values."""
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
        source: str = "episode",
    ) -> "Episode":  # fmt: skip
        """Return a checked episode of arrays of shape (T,) and (T, J). Raises EpisodeError."""
        times, positions = np.asarray(times, float), np.asarray(positions, float)
        if times.ndim != 1 or positions.shape != (len(times), len(names)):
            raise EpisodeError(
                f"{source}: positions have shape {positions.shape}; {len(times)} times and {len(names)} names "
                f"need ({len(times)}, {len(names)})"
            )
        builder = EpisodeBuilder(names, source)
        builder.append(times, positions)
        return builder.episode(arms)

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
        rows = np.flatnonzero(np.diff(self.times) > max(GAP_S, GAP_STEPS * self.step))
        return np.stack((self.times[rows], self.times[rows + 1]), axis=1)

    def columns(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of columns. Raises EpisodeError that names the missing ones."""
        if missing := [name for name in names if name not in self.names]:
            raise EpisodeError(
                f"{self.source} has no joint {', '.join(missing)}; its joints are {', '.join(self.names)}"
            )
        return [self.names.index(name) for name in names]

    def at(self, times: np.ndarray, columns: Sequence[int] | None = None) -> np.ndarray:
        """Return positions at rising times within the episode, interpolated linearly, of shape (len(times), columns).

        Exact at the samples. Reads the table in blocks, so that memory is bounded by the result.
        """
        chosen = list(range(len(self.names))) if columns is None else list(columns)
        before = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        share = np.clip((times - self.times[before]) / (self.times[before + 1] - self.times[before]), 0.0, 1.0)
        result = np.empty((len(times), len(chosen)))
        block = 1 << 16
        for start in range(int(before[0]) if len(before) else 0, int(before[-1]) + 1 if len(before) else 0, block):
            low, high = np.searchsorted(before, [start, start + block])
            if low == high:
                continue
            rows = self.positions.rows(start, start + block + 1)[:, chosen]
            first, weight = before[low:high] - start, share[low:high, None]
            result[low:high] = np.where(
                weight == 1, rows[first + 1], rows[first] + weight * (rows[first + 1] - rows[first])
            )
        return result


class EpisodeBuilder:
    """Collects the samples of an episode block by block, and refuses those that no robot can have made."""

    def __init__(self, names: Sequence[str], source: str) -> None:
        self._names, self._source = tuple(str(name).strip() for name in names), source
        if not self._names:
            raise EpisodeError(f"{source} names no joint; it needs a time and one column a joint")
        twice = {name for name in self._names if self._names.count(name) > 1}
        if twice or "" in self._names:
            raise EpisodeError(f"{source}: every joint needs a name of its own ({', '.join(sorted(twice)) or 'empty'})")
        self._table, self._times, self._count, self._last = Table(len(self._names)), [], 0, -np.inf

    def append(self, times: np.ndarray, positions: np.ndarray) -> None:
        """Add samples of shape (n,) and (n, J). Raises EpisodeError with the row's number, counted from 1."""
        times, positions = np.asarray(times, float), np.asarray(positions, float)
        for values, what in ((times[:, None], ("time",)), (positions, self._names)):
            if not np.isfinite(values).all():
                row, column = np.argwhere(~np.isfinite(values))[0]
                raise EpisodeError(
                    f"{self._source}: row {self._count + row + 1} has no finite number for {what[column]}; "
                    "remove the row or fill it in"
                )
        back = np.flatnonzero(np.diff(times, prepend=self._last) <= 0)
        if len(back):
            raise EpisodeError(
                f"{self._source}: time does not increase at row {self._count + back[0] + 1} "
                f"(t = {times[back[0]]:g} s); sort the rows and remove repeated ones"
            )
        self._table.append(positions)
        self._times.append(times.copy())
        self._count += len(times)
        self._last = times[-1] if len(times) else self._last

    def episode(self, arms: Mapping[str, ArmJoints] | None = None, **fields) -> Episode:
        """Return the episode. Raises EpisodeError if it is empty, or its arms or units do not fit.

        Args:
            arms: by name; found by the joints' names if None.
            fields: actions, events, objects, contacts and note of the episode.
        """
        if self._count < 2:
            held = "is empty" if not self._count else "has one sample"
            raise EpisodeError(f"{self._source} {held}; an episode needs at least two samples")
        times = np.concatenate(self._times)
        if median_step(times) > MAX_STEP_S:
            raise EpisodeError(
                f"{self._source}: samples are {median_step(times):g} s apart; times have to be in seconds"
            )
        found = dict(arms) if arms else arms_of(self._names)
        for name, arm in found.items():
            if missing := [column for column in arm.columns if column not in self._names]:
                raise EpisodeError(f"{self._source}: arm {name} names {', '.join(missing)}, which is no column")
            if not arm.columns:
                raise EpisodeError(f"{self._source}: arm {name} has no joint")
        return Episode(
            times, self._table, self._names, found, source=self._source, declared_arms=bool(arms), **fields
        )  # fmt: skip


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
