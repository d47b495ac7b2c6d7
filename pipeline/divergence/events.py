"""Events of an episode, from the gripper, from contacts, and from the poses of objects or of the tool; its phases.

Figures 5 and 6 of the Real2Sim paper show these events: home, grasp, lift, pass, grasp by the other arm, release,
place, return. Between them lie the contact phases: approach, grasp, transfer, release.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.divergence.episode import ArmJoints, Episode
from pipeline.divergence.robot_kinematics import RobotKinematics

SAMPLES = 20_000
"""Samples of an episode among which events are found."""
CLOSED, OPEN = 0.4, 0.25
"""Shares of the gripper's travel from open: above the first it holds, below the second it is open again."""
LEVEL = 0.1
"""Share of the travel by which the gripper has left a level."""
LIFT_M = 0.01
"""Metres above its height at the grasp, or at the release, at which an object is in the air."""


@dataclass(frozen=True)
class EpisodeEvent:
    """One event of one arm."""

    name: str
    """home, grasp, lift, pass, release, place or return."""
    arm: str
    time: float
    """Seconds on the episode's own clock."""
    hold: int = 0
    """Which hold of this arm it belongs to, from 1; 0 for home and return."""


@dataclass(frozen=True)
class Hold:
    """One object held by one arm; times in seconds on the episode's own clock."""

    closing: float
    """The gripper leaves its open position."""
    grasp: float
    """The gripper has reached the width at which it holds."""
    lift: float | None
    place: float | None
    opening: float | None
    """The gripper leaves the width at which it holds; None if it holds to the end."""
    opened: float | None
    """The gripper is open again."""
    passed: bool = False
    """Whether another arm held the object when this one grasped."""


@dataclass(frozen=True)
class ArmEvents:
    """What one arm did."""

    home: float
    holds: tuple[Hold, ...]
    returned: float | None

    def events(self, arm: str) -> list[EpisodeEvent]:
        """Return the events in order."""
        found = [EpisodeEvent("home", arm, self.home)]
        for number, hold in enumerate(self.holds, 1):
            times = {
                "grasp": hold.grasp,
                "pass": hold.grasp if hold.passed else None,
                "lift": hold.lift,
                "place": hold.place,
                "release": hold.opening,
            }
            found += [EpisodeEvent(name, arm, time, number) for name, time in times.items() if time is not None]
        if self.returned is not None:
            found.append(EpisodeEvent("return", arm, self.returned))
        return sorted(found, key=lambda event: event.time)


def find_events(
    episode: Episode, robot: RobotKinematics | None = None, by_contacts: bool = True
) -> dict[str, ArmEvents]:
    """Return what each arm did.

    A gripper is open at its first position unless the arm says otherwise. Heights are those of the object that moves
    most while held, else of the tool; without either, joint motion after the grasp counts as the lift. Where the
    contacts of that object with a robot of one arm are known, it is grasped once the robot touches it, lifted once
    nothing else does, placed once something else does again.

    Args:
        by_contacts: use the contacts of an episode that has them.
    """
    episode = episode if by_contacts else replace(episode, contacts={})
    found = {name: _arm_events(episode, name, arm, robot) for name, arm in episode.arms.items()}
    return {name: _with_passes(name, arm, found) for name, arm in found.items()}


def _arm_events(episode: Episode, name: str, arm: ArmJoints, robot: RobotKinematics | None) -> ArmEvents:
    times = episode.times
    if len(times) > SAMPLES:
        times = np.linspace(times[0], times[-1], SAMPLES)
    joints = episode.at(times, episode.columns(arm.joints))
    holds: list[Hold] = []
    if arm.gripper:
        gripper = episode.at(times, episode.columns([arm.gripper]))[:, 0]
        heights = robot.pose(name, arm, joints)[0][:, 2] if robot else None
        for first, last in _closed_intervals(_closedness(gripper, arm.open_value)):
            closedness = _closedness(gripper, arm.open_value)
            held = _held_object(episode, times, first, last)
            up = np.interp(times, episode.times, episode.objects[held][:, 2]) if held else heights
            hold = _hold(times, closedness, (first, last), up, joints)
            alone = len(episode.arms) == 1  # contacts do not say which arm touches
            holds.append(_by_contacts(hold, episode, held) if alone and held in episode.contacts else hold)
    return ArmEvents(float(times[0]), tuple(holds), _return_time(times, joints, holds))


def _closedness(gripper: np.ndarray, open_value: float | None) -> np.ndarray:
    """Return the gripper's distance from open as a share of its travel, of shape (T,); zero if it never moves."""
    start = float(np.median(gripper[:5])) if open_value is None else open_value
    distance = np.abs(gripper - start)
    noise = np.median(np.abs(np.diff(gripper, 2))) if len(gripper) > 2 else 0.0
    travel = float(distance.max())
    return distance / travel if travel > max(10 * noise, 1e-9) else np.zeros(len(gripper))


def _closed_intervals(closedness: np.ndarray) -> list[tuple[int, int]]:
    """Return the first and last sample of each time that the gripper is closed."""
    state = np.where(closedness >= CLOSED, 1, np.where(closedness <= OPEN, 0, -1))
    known = np.maximum.accumulate(np.where(state >= 0, np.arange(len(state)), 0))
    closed = np.concatenate(([0], np.maximum(state[known], 0), [0]))
    edges = np.diff(closed)
    return [(int(a), int(b) - 1) for a, b in zip(np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True)]


def _hold(
    times: np.ndarray, closedness: np.ndarray, interval: tuple[int, int], heights: np.ndarray | None, joints: np.ndarray
) -> Hold:
    """Return the hold of one closed interval."""
    first, last = interval
    level = float(np.median(closedness[first : last + 1]))
    open_before = np.flatnonzero(closedness[:first] <= LEVEL)
    closing = int(open_before[-1]) if len(open_before) else 0
    grasp = first + int(np.argmax(closedness[first : last + 1] >= (1 - LEVEL / 2) * level))
    ends = last + 1 < len(times)
    held = np.flatnonzero(closedness[grasp : last + 1] >= (1 - LEVEL / 2) * level)
    opening = grasp + int(held[-1]) if ends else len(times) - 1
    open_after = np.flatnonzero(closedness[last + 1 :] <= LEVEL)
    opened = last + 1 + int(open_after[0]) if len(open_after) else None
    if heights is not None:
        up = heights[grasp : opening + 1] - heights[grasp]
        down = heights[grasp : opening + 1] - heights[opening]
        needed = LIFT_M
    else:
        travel = np.maximum(np.ptp(joints, axis=0), 1e-9)
        moving = joints[:, travel > 0.1 * travel.max()] / travel[travel > 0.1 * travel.max()]
        up = np.abs(moving[grasp : opening + 1] - moving[grasp]).max(axis=1)
        down = np.abs(moving[grasp : opening + 1] - moving[opening]).max(axis=1)
        # Share of the joints' travel that stands for a lift where no height is known
        needed = 0.02
    lifted = np.flatnonzero(up > needed)
    lift = grasp + int(lifted[0]) if len(lifted) else None
    in_air = np.flatnonzero(down > needed)
    place = grasp + int(in_air[-1]) + 1 if ends and lift is not None and len(in_air) else None
    seconds = [None if i is None else float(times[i]) for i in (lift, place, opening if ends else None, opened)]
    return Hold(float(times[closing]), float(times[grasp]), seconds[0], seconds[1], seconds[2], seconds[3])


def _by_contacts(hold: Hold, episode: Episode, held: str) -> Hold:
    """Return a hold with the instants at which the contacts of its object change."""
    end = hold.opening if hold.opening is not None else float(episode.times[-1])
    rows = np.flatnonzero((episode.times >= hold.closing) & (episode.times <= end))
    touched, rests = episode.contacts[held][rows].T
    if not touched.any():
        return hold
    grasp = int(np.argmax(touched))
    free = grasp + np.flatnonzero(~rests[grasp:])
    if not len(free):
        return replace(hold, grasp=float(episode.times[rows[grasp]]), lift=None, place=None)
    placed = rows[min(int(free[-1]) + 1, len(rows) - 1)] if rests[-1] else None
    seconds = [None if row is None else float(episode.times[row]) for row in (rows[grasp], rows[free[0]], placed)]
    return replace(hold, grasp=seconds[0] or 0.0, lift=seconds[1], place=seconds[2])


def _held_object(episode: Episode, times: np.ndarray, first: int, last: int) -> str:
    """Return the name of the object that moves most while held; "" if none moves."""
    start, stop = np.searchsorted(episode.times, times[[first, last]])
    travel = {
        name: float(np.linalg.norm(poses[start : stop + 1, :3] - poses[start, :3], axis=1).max())
        for name, poses in episode.objects.items()
    }
    moved = max(travel, key=lambda name: travel[name], default="")
    return moved if moved and travel[moved] >= LIFT_M else ""


def _return_time(times: np.ndarray, joints: np.ndarray, holds: Sequence[Hold]) -> float | None:
    """Return when the arm is back at its first position to stay; None if it never left or is not back."""
    travel = np.maximum(np.ptp(joints, axis=0), 1e-9)
    # 0.05: share of the joints' travel within which the arm is back where it began
    away = (np.abs(joints - np.median(joints[:5], axis=0)) / travel.max()).max(axis=1) > 0.05
    if not away.any() or away[-1]:
        return None
    back = float(times[int(np.flatnonzero(away)[-1]) + 1])
    last = holds[-1].opening if holds else None
    return None if holds and (last is None or back < last) else back


def _with_passes(name: str, arm: ArmEvents, everyone: dict[str, ArmEvents]) -> ArmEvents:
    """Mark the holds that begin or end while another arm holds: the object goes from one to the other."""
    others = [hold for other, events in everyone.items() if other != name for hold in events.holds]
    holds = []
    for hold in arm.holds:
        passed = any(_begins_within(hold, other) for other in others)
        place = None if any(_begins_within(other, hold) for other in others) else hold.place
        holds.append(replace(hold, passed=passed, lift=None if passed else hold.lift, place=place))
    return replace(arm, holds=tuple(holds))


def _begins_within(later: Hold, earlier: Hold) -> bool:
    """Whether one hold begins during another and outlasts it."""
    if earlier.opening is None or not earlier.grasp < later.grasp < earlier.opening:
        return False
    return later.opening is None or later.opening > earlier.opening


@dataclass(frozen=True)
class ContactPhase:
    """One phase of one arm; the time after its end belongs to the next."""

    name: str
    """approach, grasp, transfer or release: also the class of cause of a divergence that begins in it."""
    start: float
    """Seconds on the episode's own clock."""
    stop: float


@dataclass(frozen=True)
class Growth:
    """The RMSE_norm of an arm in one phase."""

    phase: ContactPhase
    mean: float
    first: float
    last: float
    per_second: float
    """Slope of the least-squares line through the phase."""


def phases_of(events: ArmEvents, stop: float) -> tuple[ContactPhase, ...]:
    """Return the phases from the episode's start to `stop`, without gaps.

    approach lasts until the gripper begins to close; grasp until the object is lifted (or held, where it is passed);
    transfer until the object is placed, or the gripper begins to open; release until the gripper is open and the next
    approach begins, or until the end.
    """
    starts: list[tuple[str, float]] = [("approach", events.home)]
    for previous, hold in zip((None, *events.holds), events.holds, strict=False):
        if previous is not None and starts[-1][0] == "release":
            starts.append(("approach", hold.closing if previous.opened is None else previous.opened))
        starts += [("grasp", hold.closing), ("transfer", hold.grasp if hold.lift is None else hold.lift)]
        release = hold.place if hold.place is not None else hold.opening
        if release is not None:
            starts.append(("release", release))
    ends = [start for _, start in starts[1:]] + [stop]
    return tuple(ContactPhase(name, start, end) for (name, start), end in zip(starts, ends, strict=True) if end > start)


def phase_at(phases: Sequence[ContactPhase], time: float) -> ContactPhase:
    """Return the phase of an instant; the first or last one outside."""
    return next((phase for phase in phases if time < phase.stop), phases[-1])


def growth(phases: Sequence[ContactPhase], times: np.ndarray, rmse: np.ndarray) -> list[Growth]:
    """Return how the error of shape (T,) at `times` (T,) grows in each phase that has two samples or more."""
    found = []
    for phase in phases:
        low, high = np.searchsorted(times, (phase.start, phase.stop))
        t, error = times[low:high], rmse[low:high]
        if len(t) < 2:
            continue
        centred = t - t.mean()
        slope = float(centred @ (error - error.mean()) / (centred @ centred))
        found.append(Growth(phase, float(error.mean()), float(error[0]), float(error[-1]), slope))
    return found
