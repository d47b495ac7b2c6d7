"""Contact phases of an arm: approach, grasp, transfer, release; and how the error grows in each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.divergence.events import ArmEvents


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
