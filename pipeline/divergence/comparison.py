"""Comparison of a real and a simulated episode of one task: how far, from when, and in which phase they differ.

The measures are those of "A Real2Sim Digital Twin Pipeline", section III-F, whose equations have no numbers. Here F1 to
F6 number them from the top: F1 MSE_norm, F2 RMSE_norm, F3 MSE_overall, F4 T(q), F5 T_i(q_i), F6 p and R.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.spatial.transform import Rotation

from pipeline.divergence.alignment import Method, TimeAlignment, align
from pipeline.divergence.episode import MAX_ANGLE, ArmJoints, Episode, EpisodeError, in_gaps, white_noise
from pipeline.divergence.events import ArmEvents, ContactPhase, Growth, find_events, growth, phase_at, phases_of
from pipeline.divergence.robot_kinematics import RobotKinematics

MIN_RANGE = 1e-6
"""Radians or metres; a joint that moves less stands still."""
CAUSE_ROWS = 10
"""Samples after the onset whose differences name the arm and the joint that diverge."""

DEVIATIONS = 6.0
"""Standard deviations of the mean of three samples that are no noise."""
RUN = 3
"""Successive samples above the threshold; averaged, too."""
BEFORE, AFTER = 60, 16
"""Samples around the detection to which the change is fitted."""
FLOOR = 1e-7
"""Noise of the differences, as a share of the range, below which the digits in a file matter."""
SHAPES = ((0,), (1,), (2,), (0, 1), (1, 2))
"""Powers of the time since the change: a step, a ramp, a parabola, and two of them."""

FACTORS = {180 / np.pi: ("degrees", "radians"), 1000.0: ("millimetres", "metres")}
TIME_FACTORS = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}
MIN_TRAVEL = 1e-3
"""Radians or metres that a joint travels before its travel is compared."""


@dataclass(frozen=True)
class JointResult:
    """How far one joint or gripper differs over the episode."""

    name: str
    range: float
    """Normalisation factor, in the joint's unit."""
    range_source: str
    """robot model, real episode, or none (it stands still in the real episode: 1)."""
    weight: float
    rmse: float
    """Root mean square difference over time, in the joint's unit: radians, or metres for slides."""
    largest: float
    """Largest absolute difference, in the joint's unit."""


@dataclass(frozen=True, eq=False)
class ArmResult:
    """How far one arm differs over the episode."""

    joints: tuple[JointResult, ...]
    """The gripper last, if there is one."""
    real: ArmEvents
    sim: ArmEvents
    phases: tuple[ContactPhase, ...]
    """Of the real episode, on its clock."""
    growth: tuple[Growth, ...]


@dataclass(frozen=True)
class Onset:
    """The begin of a lasting divergence."""

    time: float
    """Seconds on REAL's clock."""
    cause: str
    """Phase of the diverging arm in the real episode: approach, grasp, transfer or release."""
    arm: str
    joint: str
    """Joint or gripper that differs most, as a share of its range, just after the onset."""
    after_gap: bool
    """Whether it is the first sample after a gap, so that the divergence may have begun in the gap."""


@dataclass(frozen=True)
class Gap:
    """A stretch in which an episode has no samples. Nothing is interpolated over it, and no measure counts it."""

    side: str
    """real or sim: whose samples are missing."""
    start: float
    """Last sample before it and first sample after it, in seconds on REAL's clock."""
    stop: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of a comparison."""

    real: str
    sim: str
    alignment: TimeAlignment
    arms: dict[str, ArmResult]
    onset: Onset | None
    gaps: tuple[Gap, ...]
    errors: dict[str, np.ndarray]
    """Over time, of shape (T,) each: t and t_sim in s; rmse_<arm>, rmse_overall; position_<arm> in m and rotation_<arm>
    in rad with a robot model."""


def compare(real: Episode, sim: Episode, robot: RobotKinematics | None = None, method: Method = "clock") -> Comparison:
    """Compare a simulated episode with a real one, at the samples of the real one.

    Raises EpisodeError: other joints, other units, no overlap; RobotModelError.

    Args:
        robot: gives the joints' ranges and the end effector; without it the ranges are those of the real episode.
    """
    arms = _common_arms(real, sim)
    names = [name for arm in arms.values() for name in arm.columns]
    tables = [episode.positions[:, episode.columns(names)] for episode in (real, sim)]
    extents = [np.stack((table.min(axis=0), table.max(axis=0))) for table in tables]
    check_units(real, sim, arms, extents, robot)
    ranges, sources = _ranges(names, extents[0], robot)
    joints = [joint for arm in arms.values() for joint in arm.joints]
    scale = np.array([ranges[names.index(joint)] for joint in joints])
    alignment = align(real, sim, joints, scale, method)
    errors, differences = _errors(real, sim, arms, ranges, robot, alignment)
    by_contacts = bool(real.contacts and sim.contacts)  # heights tell of a lift later than contacts do
    events = [find_events(replace(episode, arms=arms), robot, by_contacts) for episode in (real, sim)]
    rms, largest = np.sqrt(np.square(differences).mean(axis=0)) * ranges, np.abs(differences).max(axis=0) * ranges
    results, times, at = {}, errors["t"], 0
    for arm_name, arm in arms.items():
        count = len(arm.columns)
        table = tuple(
            JointResult(name, float(ranges[i]), sources[i], 1 / count, rms[i], largest[i])
            for i, name in enumerate(arm.columns, at)
        )
        phases = phases_of(events[0][arm_name], float(real.times[-1]))
        grown = growth(phases, times, errors[f"rmse_{arm_name}"])
        results[arm_name] = ArmResult(table, events[0][arm_name], events[1][arm_name], phases, tuple(grown))
        at += count
    floor = _interpolation_error(sim, times, alignment, names) / ranges
    gaps = tuple(_gaps(real, sim, alignment))
    onset = _onset(differences, times, arms, results, floor, gaps)
    return Comparison(real.source, sim.source, alignment, results, onset, gaps, errors)


def _common_arms(real: Episode, sim: Episode) -> dict[str, ArmJoints]:
    """Return the arms that both episodes have: those that a file names, the real one's first.

    Raises EpisodeError if a joint is missing. Where neither file names arms, both need the same joints.
    """
    arms = dict(sim.arms if sim.declared_arms and not real.declared_arms else real.arms)
    pairs = ((real, sim), (sim, real)) if not (real.declared_arms or sim.declared_arms) else ()
    needed = [(episode, arm.columns) for arm in arms.values() for episode in (real, sim)]
    for episode, columns in [*needed, *((one, other.names) for one, other in pairs)]:
        missing = [name for name in columns if name not in episode.names]
        if missing:
            raise EpisodeError(
                f"{episode.source} has no joint {', '.join(missing)}; both episodes need the same joints "
                f"(it has {', '.join(episode.names)})"
            )
    return arms


def _gaps(real: Episode, sim: Episode, alignment: TimeAlignment) -> Iterator[Gap]:
    """Yield the gaps of both episodes in the time that both cover, in order."""
    ends = [("real", *gap) for gap in real.gaps.tolist()]
    ends += [("sim", *gap) for gap in alignment.real_times(sim.gaps.ravel()).reshape(-1, 2).tolist()]
    for side, start, stop in sorted(ends, key=lambda gap: gap[1:]):
        if stop > alignment.start and start < alignment.stop:
            yield Gap(side, start, stop)


def _ranges(names: Sequence[str], extents: np.ndarray, robot: RobotKinematics | None) -> tuple[np.ndarray, list[str]]:
    """Return the normalisation factor of each column, of shape (n,), and where each comes from."""
    ranges, sources = np.ptp(extents, axis=0), []
    for number, name in enumerate(names):
        known = robot.range_of(name) if robot else None
        if known:
            ranges[number] = known
            sources.append("robot model")
        elif ranges[number] > MIN_RANGE:
            sources.append("real episode")
        else:
            ranges[number] = 1.0
            sources.append("none")
    return ranges, sources


def _errors(
    real: Episode,
    sim: Episode,
    arms: dict[str, ArmJoints],
    ranges: np.ndarray,
    robot: RobotKinematics | None,
    alignment: TimeAlignment,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the errors over time, and (q_sim - q_real) / range over time, of shape (T, n)."""
    names = [name for arm in arms.values() for name in arm.columns]
    tolerance = 1e-9 * max(1.0, abs(alignment.stop))
    both = (real.times >= alignment.start - tolerance) & (real.times <= alignment.stop + tolerance)
    both &= ~in_gaps(alignment.sim_times(real.times), sim.gaps)
    if not both.any():
        raise EpisodeError(f"{real.source} and {sim.source} do not overlap; try --align clock")
    times = real.times[both]
    sim_times = alignment.sim_times(times)
    q_real = real.positions[both][:, real.columns(names)]
    q_sim = sim.at(np.clip(sim_times, sim.times[0], sim.times[-1]), sim.columns(names))
    mses, tools, at = {}, {}, 0
    for name, arm in arms.items():
        own = slice(at, at + len(arm.columns))
        mses[name] = _mse_norm(q_sim[:, own], q_real[:, own], ranges[own])
        if robot:
            tools[name] = [robot.pose(name, arm, q[:, at : at + len(arm.joints)]) for q in (q_sim, q_real)]
        at = own.stop
    mses["overall"] = np.mean(list(mses.values()), axis=0)  # F3
    errors = {"t": times, "t_sim": sim_times} | {f"rmse_{name}": np.sqrt(mse) for name, mse in mses.items()}  # F2
    errors |= {f"position_{name}": position_error(one[0], other[0]) for name, (one, other) in tools.items()}
    errors |= {f"rotation_{name}": rotation_error(one[1], other[1]) for name, (one, other) in tools.items()}
    return errors, (q_sim - q_real) / ranges


def _mse_norm(sim: np.ndarray, real: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Return the normalised mean square error of one arm over time (F1), of shape (T,), without unit.

    MSE_norm(t) = sum_i w_i (q_i_sim(t) - q_i_real(t))^2 / (range_i)^2 + w_g (g_sim(t) - g_real(t))^2 / (range_g)^2,
    where each joint and the gripper has the same weight.

    Args:
        sim, real: joint positions and last the gripper, of shape (T, n); radians, or metres for slides.
        ranges: normalisation factors of shape (n,), in the units of the columns.
    """
    return np.square((sim - real) / ranges).mean(axis=1)


def position_error(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return the distance of end-effector positions p (F6) of shape (T, 3) over time, of shape (T,), in metres."""
    return np.linalg.norm(sim - real, axis=-1)


def rotation_error(sim: np.ndarray, real: np.ndarray) -> np.ndarray:
    """Return the angle of R_real^T R_sim (F6) of shape (T, 3, 3) over time, of shape (T,), in radians from 0 to pi."""
    return (Rotation.from_matrix(real).inv() * Rotation.from_matrix(sim)).magnitude()


def _interpolation_error(sim: Episode, times: np.ndarray, alignment: TimeAlignment, names: Sequence[str]) -> np.ndarray:
    """Return what linear interpolation between SIM's samples may be off, of shape (n,); zero at the samples.

    It is at most an eighth of the second difference; the 99th percentile leaves single jumps out.
    """
    at = alignment.sim_times(times[:1000])
    if np.isin(np.round(at, 7), np.round(sim.times, 7)).all():
        return np.zeros(len(names))
    bends = np.abs(np.diff(sim.positions[:, sim.columns(names)], 2, axis=0))
    return np.percentile(bends, 99, axis=0) / 8 if len(bends) else np.zeros(len(names))


def _onset(
    differences: np.ndarray,
    times: np.ndarray,
    arms: dict[str, ArmJoints],
    results: dict[str, ArmResult],
    floor: np.ndarray,
    gaps: Sequence[Gap],
) -> Onset | None:
    row = find_onset(differences, floor)
    if row is None:
        return None
    before = differences[max(row - CAUSE_ROWS, 0) : max(row, 1)].mean(axis=0)
    size = np.abs(differences[row : row + CAUSE_ROWS + 1] - (before if row else 0.0)).mean(axis=0)
    columns = [(name, column) for name, arm in arms.items() for column in arm.columns]
    arm, joint = columns[int(np.argmax(size))]
    time = float(times[row])
    after_gap = bool(row) and any(times[row - 1] < gap.stop <= time + 1e-6 for gap in gaps)
    return Onset(time, phase_at(results[arm].phases, time).name, arm, joint, after_gap)


def find_onset(differences: np.ndarray, floor: np.ndarray | float = FLOOR) -> int | None:
    """Return the row at which the differences begin to grow; None if they stay within the noise.

    Args:
        differences: (q_sim - q_real) / range over time, of shape (T, n).
        floor: differences that are no divergence, of shape (n,), such as the error of interpolation.
    """
    rows = len(differences)
    if rows < 2 * RUN:
        return None
    baseline = np.median(differences[: int(np.clip(rows // 20, 5, 50))], axis=0)
    # Mean RMSE_norm of the first samples above which two episodes differ from the start
    if np.sqrt(np.square(baseline).mean()) > 0.05:
        return 0
    floor = np.maximum(floor, FLOOR)
    noise = np.maximum(white_noise(differences, 90), floor)
    detected = _detect(differences, baseline, noise)
    for _ in range(3):  # what follows the onset made the noise too large
        if detected is None or detected < 4 * RUN:
            break
        noise = np.maximum(np.minimum(noise, white_noise(differences[:detected], 90)), floor)
        earlier = _detect(differences, baseline, noise)
        if earlier is None or earlier >= detected:
            break
        detected = earlier
    return None if detected is None else _change_point(differences, detected, noise)


def _detect(differences: np.ndarray, baseline: np.ndarray, noise: np.ndarray) -> int | None:
    """Return the first of RUN successive rows whose trailing mean is no noise."""
    means = sliding_window_view(differences - baseline, RUN, axis=0).mean(axis=-1)
    above = (np.abs(means) > DEVIATIONS * noise / np.sqrt(RUN)).any(axis=1)
    lasting = np.flatnonzero(sliding_window_view(above, RUN).all(axis=-1))
    return int(lasting[0]) + RUN - 1 if len(lasting) else None


def _change_point(differences: np.ndarray, detected: int, noise: np.ndarray) -> int:
    """Return the row at which a change fits best around a detection; the first sample of a step, the foot of a ramp."""
    low = max(detected - BEFORE, 0)
    values = differences[low : detected + AFTER + 1] / noise
    before = np.median(values[: max(detected - low - AFTER, RUN)], axis=0)
    moved = np.abs(values[-RUN:].mean(axis=0) - before) > DEVIATIONS / np.sqrt(RUN)
    values = values[:, moved] if moved.any() else values
    times = np.arange(len(values), dtype=float)
    best, change = np.inf, detected
    for candidate in range(max(detected - low - BEFORE + RUN, 1), min(detected - low + 2, len(values))):
        since = np.maximum(times - candidate, 0.0)
        for powers in SHAPES:
            columns = [times >= candidate if power == 0 else since**power for power in powers]
            basis = np.stack([np.ones(len(times)), *columns], axis=1).astype(float)
            coefficients = np.linalg.lstsq(basis, values, rcond=None)[0]
            misfit = float(np.square(values - basis @ coefficients).sum())
            misfit += len(powers) * values.shape[1] * np.log(len(times))  # Bayesian information criterion
            if misfit < best:
                best, change = misfit, low + candidate
    return change


def check_units(
    real: Episode,
    sim: Episode,
    arms: Mapping[str, ArmJoints],
    extents: Sequence[np.ndarray],
    robot: RobotKinematics | None,
) -> None:
    """Raise EpisodeError if one of two episodes is in other units than radians, metres and seconds.

    Args:
        extents: smallest and largest position of each column of the arms, of shape (2, n), of both episodes.
    """
    for factor, unit in TIME_FACTORS.items():
        for one, other in ((real, sim), (sim, real)):
            if _near(one.duration / other.duration, factor):
                raise EpisodeError(f"{one.source}: its times look like {unit}; they have to be in seconds")
    names = [name for arm in arms.values() for name in arm.columns]
    joints = np.array([name in arm.joints for arm in arms.values() for name in arm.columns])
    for episode, extent in zip((real, sim), extents, strict=True):
        for name, is_joint, (low, high) in zip(names, joints, extent.T, strict=True):
            width = robot.range_of(name) if robot else None
            reach = max(abs(low), abs(high))
            # 20.0: times the joint's limits that it cannot travel
            if (width and high - low > 20.0 * width) or (is_joint and reach > max(MAX_ANGLE, width or 0)):
                raise EpisodeError(
                    f"{episode.source}: {name} reaches {reach:g}; positions have to be in radians and metres, "
                    "not degrees or millimetres"
                )
    travel_real, travel_sim = (np.ptp(extent, axis=0) for extent in extents)
    for chosen in (joints, ~joints):
        moving = chosen & (travel_real > MIN_TRAVEL) & (travel_sim > MIN_TRAVEL)
        if not moving.any():
            continue
        ratio = float(np.median(travel_real[moving] / travel_sim[moving]))
        for factor, (wrong, right) in FACTORS.items():
            for episode, value in ((real, ratio), (sim, 1 / ratio)):
                if _near(value, factor):
                    raise EpisodeError(
                        f"{episode.source}: its joints travel {value:.0f} times as far as the other's; "
                        f"positions look like {wrong} instead of {right}"
                    )


def _near(value: float, factor: float) -> bool:
    # Share by which a ratio of two episodes may differ from a factor between units
    return abs(value / factor - 1) < 0.08
