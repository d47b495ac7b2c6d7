"""Onset of divergence: the sample at which the simulated trajectory leaves the real one.

A detector finds where differences exceed the measurement noise. A least-squares fit of a step, a ramp or a parabola
around that sample then finds where the difference began (change-point estimation; Hinkley, 1970).
"""

import numpy as np

from pipeline.divergence.table import Table

DEVIATIONS = 6.0
"""Standard deviations of the mean of three samples that are no noise."""
RUN = 3
"""Successive samples above the threshold; averaged, too."""
BEFORE, AFTER = 60, 16
"""Samples around the detection to which the change is fitted."""
APART = 0.05
"""Mean RMSE_norm of the first samples above which two episodes differ from the start."""
FLOOR = 1e-7
"""Noise of the differences, as a share of the range, below which the digits in a file matter."""
SHAPES = ((0,), (1,), (2,), (0, 1), (1, 2))
"""Powers of the time since the change: a step, a ramp, a parabola, and two of them."""


def find_onset(differences: Table, floor: np.ndarray | float = FLOOR) -> int | None:
    """Return the row at which the differences begin to grow; None if they stay within the noise.

    Args:
        differences: (q_sim - q_real) / range over time, of shape (T, n).
        floor: differences that are no divergence, of shape (n,), such as the error of interpolation.
    """
    rows = len(differences)
    if rows < 2 * RUN:
        return None
    first = differences.rows(0, _baseline_rows(rows))
    baseline = np.median(first, axis=0)
    if np.sqrt(np.square(baseline).mean()) > APART:
        return 0
    floor = np.maximum(floor, FLOOR)
    noise = np.maximum(_noise(differences, rows), floor)
    detected = _detect(differences, baseline, noise)
    for _ in range(3):  # what follows the onset made the noise too large
        if detected is None or detected < 4 * RUN:
            break
        noise = np.maximum(np.minimum(noise, _noise(differences, detected)), floor)
        earlier = _detect(differences, baseline, noise)
        if earlier is None or earlier >= detected:
            break
        detected = earlier
    return None if detected is None else _change_point(differences, detected, noise)


def _baseline_rows(rows: int) -> int:
    return int(np.clip(rows // 20, 5, 50))


def _noise(differences: Table, rows: int) -> np.ndarray:
    """Return the standard deviation of white noise in the first `rows`, of shape (n,).

    From second differences, which smooth motion hardly enters: of white noise they have six times its variance. The
    90th percentile serves for quantised sensors, whose differences are often zero.
    """
    size = 4096
    starts = range(0, rows, max(size, rows // 50))
    parts = [np.abs(np.diff(differences.rows(start, min(start + size, rows)), 2, axis=0)) for start in starts]
    return np.percentile(np.vstack(parts), 90, axis=0) / (1.645 * np.sqrt(6))


def _detect(differences: Table, baseline: np.ndarray, noise: np.ndarray) -> int | None:
    """Return the first of RUN successive rows whose trailing mean is no noise."""
    threshold = DEVIATIONS * noise / np.sqrt(RUN)
    for start in range(0, len(differences), 1 << 16):
        low = max(start - 2 * RUN, 0)
        block = differences.rows(low, start + (1 << 16)) - baseline
        if len(block) < 2 * RUN:
            continue
        means = np.cumsum(np.vstack((np.zeros(block.shape[1]), block)), axis=0)
        means = (means[RUN:] - means[:-RUN]) / RUN
        above = (np.abs(means) > threshold).any(axis=1)
        lasting = np.convolve(above, np.ones(RUN, int), mode="valid") == RUN
        if lasting.any():
            return low + int(np.argmax(lasting)) + RUN - 1
    return None


def _change_point(differences: Table, detected: int, noise: np.ndarray) -> int:
    """Return the row at which a change fits best around a detection; the first sample of a step, the foot of a ramp."""
    low = max(detected - BEFORE, 0)
    values = differences.rows(low, detected + AFTER + 1) / noise
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
