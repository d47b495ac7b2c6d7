"""Onset of divergence: the sample at which the simulated trajectory leaves the real one.

A detector finds where differences exceed the measurement noise. A least-squares fit of a step, a ramp or a parabola
around that sample then finds where the difference began (change-point estimation; Hinkley, 1970).
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from pipeline.divergence.episode import white_noise

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
