"""Time alignment of a simulated episode with a real one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.ndimage import uniform_filter1d
from scipy.spatial.distance import cdist

from pipeline.divergence.episode import Episode, EpisodeError, in_gaps, white_noise

Method = Literal["none", "clock", "motion", "dtw"]
METHODS: tuple[Method, ...] = get_args(Method)

GRID_SAMPLES = 20_000
"""Samples of an episode among which the first motion is sought."""
WARP_SAMPLES = 800
MATCH_S = (0.3, 1.5)
"""Seconds before and after the first motion over which the shift is refined."""
SEARCH_S = 0.15
"""Seconds by which the refinement may change the shift."""
MATCH_STEP_S = 0.005
SLOPE_COST = 1e-6
"""Added to a step of time warping that advances one sequence only, so that equal costs give the diagonal."""
TOLERANCE_S = 1e-9


@dataclass(frozen=True, eq=False)
class TimeAlignment:
    """The clock of the simulated episode as a function of the real one's."""

    method: Method
    shift: float
    """Seconds that SIM is later than REAL: the same instant is t on REAL's clock and t + shift on SIM's."""
    start: float
    """First and last instant that both episodes cover, in seconds on REAL's clock."""
    stop: float
    warp: tuple[np.ndarray, np.ndarray] | None = None
    """Times on REAL's clock and the matching times on SIM's, of shape (n,) each; None for a constant shift."""

    def sim_times(self, times: np.ndarray) -> np.ndarray:
        """Return times on SIM's clock for times on REAL's."""
        return np.interp(times, self.warp[0], self.warp[1]) if self.warp else times + self.shift

    def real_times(self, times: np.ndarray) -> np.ndarray:
        """Return times on REAL's clock for times on SIM's."""
        return np.interp(times, self.warp[1], self.warp[0]) if self.warp else times - self.shift


def align(real: Episode, sim: Episode, columns: Sequence[str], scale: np.ndarray, method: Method) -> TimeAlignment:
    """Align two episodes. Raises EpisodeError if they do not overlap or nothing moves.

    none: the times are compared as they are. clock: both clocks start at their first samples. motion: the first motions
    coincide. dtw: dynamic time warping, so that SIM may also be faster or slower; `shift` is then the median while the
    robot begins to move.

    Args:
        columns: joints to go by.
        scale: their ranges, of shape (len(columns),).
    """
    if method == "none":
        return _shifted(real, sim, 0.0, method)
    if method == "clock":
        return _shifted(real, sim, float(sim.times[0] - real.times[0]), method)
    motions = _MotionSignal(real, real.columns(columns), scale), _MotionSignal(sim, sim.columns(columns), scale)
    threshold = max(motion.threshold for motion in motions)
    start_real, start_sim = (motion.first(threshold) for motion in motions)
    if method == "motion":
        return _shifted(real, sim, _refine(*motions, start_real, start_sim - start_real), method)
    warp = _warp(*motions)
    begin = (warp[0] >= start_real) & (warp[0] <= start_real + 2 * MATCH_S[1])
    shift = float(np.median((warp[1] - warp[0])[begin]))
    shift = _refine(*motions, start_real, shift)
    return TimeAlignment(method, shift, float(real.times[0]), float(real.times[-1]), warp)


def _shifted(real: Episode, sim: Episode, shift: float, method: Method) -> TimeAlignment:
    start = max(real.times[0], sim.times[0] - shift)
    stop = min(real.times[-1], sim.times[-1] - shift)
    if stop - start < max(real.step, sim.step):
        raise EpisodeError(
            f"{real.source} ({real.times[0]:g} to {real.times[-1]:g} s) and {sim.source} ({sim.times[0]:g} to "
            f"{sim.times[-1]:g} s) do not overlap with a shift of {shift:.3f} s; try --align clock"
        )
    return TimeAlignment(method, shift, float(start), float(stop))


class _MotionSignal:
    """Joint positions of one episode on a grid, divided by their ranges."""

    def __init__(self, episode: Episode, columns: list[int], scale: np.ndarray) -> None:
        self.episode, self._columns, self._scale = episode, columns, scale
        times = episode.times
        self.times = times if len(times) <= GRID_SAMPLES else np.linspace(times[0], times[-1], GRID_SAMPLES)
        values = self.at(self.times)
        self._displacement = np.abs(values - np.median(values[:5], axis=0)).max(axis=1)
        self._noise = float(white_noise(values).max()) if len(values) > 4 else 0.0

    @property
    def threshold(self) -> float:
        """Displacement that counts as motion, as a share of the range."""
        # 0.01: share of the largest displacement that counts as motion
        return max(0.01 * float(self._displacement.max()), 5 * self._noise)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return positions divided by their ranges, of shape (n, joints); the ends are held outside the episode."""
        inside = np.clip(times, self.episode.times[0], self.episode.times[-1])
        return self.episode.at(inside, self._columns) / self._scale

    def first(self, threshold: float) -> float:
        """Return when the displacement exceeds the threshold for three samples. Raises EpisodeError if it does not."""
        above = self._displacement > threshold
        lasting = above & np.append(above[1:], True) & np.append(above[2:], [True, True])
        if not lasting.any() or threshold <= 0:
            raise EpisodeError(f"{self.episode.source} does not move; use --align none or clock")
        after = int(np.argmax(lasting))
        if not after:
            return float(self.times[0])
        low, high = self._displacement[after - 1 : after + 1]
        return float(np.interp(threshold, (low, high), self.times[after - 1 : after + 1]))


def _refine(real: _MotionSignal, sim: _MotionSignal, start: float, shift: float) -> float:
    """Return the shift near `shift` at which the displacements around the first motion agree best.

    Crossing a threshold is late where the motion begins slowly in noise; the course of the motion is not.
    """
    times = np.arange(start - MATCH_S[0], start + MATCH_S[1], MATCH_STEP_S)
    times = times[(times >= real.times[0]) & (times <= real.times[-1])]
    times = times[~in_gaps(times, real.episode.gaps) & ~in_gaps(times + shift, sim.episode.gaps, SEARCH_S)]
    if len(times) < 10:
        return shift
    target = real.at(times)
    target = target - target[0]
    shifts = shift + np.arange(-SEARCH_S, SEARCH_S + MATCH_STEP_S / 2, MATCH_STEP_S)
    costs = np.empty(len(shifts))
    for number, candidate in enumerate(shifts):
        course = sim.at(times + candidate)
        costs[number] = np.square(course - course[0] - target).mean()
    best = int(np.argmin(costs))
    if not 0 < best < len(shifts) - 1:
        return float(shift)
    left, middle, right = costs[best - 1 : best + 2]
    bend = left - 2 * middle + right
    offset = 0.5 * (left - right) / bend * MATCH_STEP_S if bend > 0 else 0.0
    # Decimals of a shift that is found; beyond them lies rounding, and SIM would be interpolated for nothing
    return round(float(shifts[best] + offset), 6) + 0.0


def _warp(real: _MotionSignal, sim: _MotionSignal) -> tuple[np.ndarray, np.ndarray]:
    """Return matching times of both, rising, of shape (n,) each."""
    step = max(real.episode.duration, sim.episode.duration) / WARP_SAMPLES
    grids = [np.arange(m.times[0], m.times[-1] + step / 2, step).clip(max=m.times[-1]) for m in (real, sim)]
    values = [m.at(grid) for m, grid in zip((real, sim), grids, strict=True)]
    unknown = [in_gaps(grid, m.episode.gaps) for m, grid in zip((real, sim), grids, strict=True)]
    rows, columns = _warp_path(*values, *unknown)
    matched = np.bincount(rows, grids[1][columns]) / np.bincount(rows)
    # A path is a staircase; the mean over five samples removes steps that are an artefact of the grid.
    smooth = uniform_filter1d(matched, 5, mode="nearest")
    smooth[[0, -1]] = matched[[0, -1]]
    return grids[0], np.maximum.accumulate(smooth) + TOLERANCE_S * np.arange(len(smooth))


def _warp_path(
    first: np.ndarray, second: np.ndarray, unknown_first: np.ndarray, unknown_second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of both that match, from the first to the last, of shape (P,) each (Sakoe and Chiba, 1978).

    Args:
        first, second: of shape (n, D) and (m, D). Time and memory grow with n m.
        unknown_first, unknown_second: whether a row was not recorded and matches any other, of shape (n,) and (m,).
    """
    cost = cdist(first, second, "sqeuclidean")
    cost[unknown_first], cost[:, unknown_second] = 0.0, 0.0
    rows, columns = cost.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(rows + columns - 1):  # the cells of an antidiagonal do not depend on one another
        i = np.arange(max(0, diagonal - columns + 1), min(diagonal, rows - 1) + 1)
        j = diagonal - i
        straight, up, left = total[i, j], total[i, j + 1] + SLOPE_COST, total[i + 1, j] + SLOPE_COST
        total[i + 1, j + 1] = cost[i, j] + np.minimum(straight, np.minimum(up, left))
    i, j = rows - 1, columns - 1
    path = [(i, j)]
    while i or j:
        steps = ((total[i, j], 1, 1), (total[i, j + 1] + SLOPE_COST, 1, 0), (total[i + 1, j] + SLOPE_COST, 0, 1))
        _, down, across = min(steps)
        i, j = i - down, j - across
        path.append((i, j))
    found = np.array(path[::-1])
    return found[:, 0], found[:, 1]
