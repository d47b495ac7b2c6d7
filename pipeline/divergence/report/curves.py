"""Curves of a comparison as plain numbers: few enough for a page, with every extreme kept."""

from collections.abc import Sequence

import numpy as np

from pipeline.divergence.comparison import Comparison
from pipeline.divergence.episode import Episode

POINTS = 4000
"""Of a curve; a longer one is drawn by the extremes of its sections."""
BINS = 40
DIGITS = 6
"""Decimals of a curve's values."""


def error_curves(comparison: Comparison) -> dict[str, dict[str, list]]:
    """Return {"t", "y"} of each error over time, by the name of its column; at most POINTS points each.

    A curve has one more point without a value, None, in each gap.
    """
    times, curves = comparison.errors["t"], {}
    for name in [name for name in comparison.errors if name not in ("t", "t_sim")]:
        t, y = _curve(times, comparison.errors[name], [gap.start for gap in comparison.gaps])
        curves[name] = {"t": t, "y": y}
    return curves


def joint_curves(comparison: Comparison, real: Episode, sim: Episode) -> dict[str, dict[str, list]]:
    """Return {"t", "real", "t_sim", "sim"} of each joint and gripper, both times on REAL's clock.

    A curve has one more point without a value, None, in each gap of its episode.
    """
    alignment = comparison.alignment
    gaps = {side: [gap.start for gap in comparison.gaps if gap.side == side] for side in ("real", "sim")}
    names = [joint.name for arm in comparison.arms.values() for joint in arm.joints]
    sim_times = alignment.real_times(sim.times)
    curves = {}
    for name in names:
        t, q_real = _curve(real.times, real.positions[:, real.names.index(name)], gaps["real"])
        t_sim, q_sim = _curve(sim_times, sim.positions[:, sim.names.index(name)], gaps["sim"])
        curves[name] = {"t": t, "real": q_real, "t_sim": t_sim, "sim": q_sim}
    return curves


def error_histograms(comparison: Comparison) -> dict[str, dict[str, list[float]]]:
    """Return {"edges": (BINS + 1,), "share": (BINS,)} of each arm's RMSE_norm over the samples (Figures 7d and 8d)."""
    found = {}
    for arm in comparison.arms:
        errors = comparison.errors[f"rmse_{arm}"]
        low, high = float(errors.min()), float(errors.max())
        if high - low < 1e-9 * max(1.0, abs(high)):  # the same error throughout leaves no room for bins
            low, high = low - 1e-6 * max(1.0, abs(low)), high + 1e-6 * max(1.0, abs(high))
        counts, edges = np.histogram(errors, bins=BINS, range=(low, high))
        found[arm] = {"edges": edges.tolist(), "share": (counts / counts.sum()).tolist()}
    return found


def envelope(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most POINTS points of a curve that keep the smallest and largest value of each section, by time."""
    if len(times) <= POINTS:
        return times, values
    size = -(-len(times) // (POINTS // 2))
    starts = np.arange(0, len(times), size)
    picked = []
    for start in starts:
        section = values[start : start + size]
        picked += sorted((start + int(section.argmin()), start + int(section.argmax())))
    return times[picked], values[picked]


def _curve(times: np.ndarray, values: np.ndarray, gaps: Sequence[float]) -> tuple[list[float], list[float | None]]:
    """Return a curve's points, with one without a value after the last sample before each gap."""
    t, y = envelope(times, values)
    at = np.searchsorted(t, np.array(gaps) + 1e-6)
    t, y = np.insert(t, at, gaps), np.insert(y, at, np.nan)
    return np.round(t, DIGITS).tolist(), [None if value != value else value for value in np.round(y, DIGITS).tolist()]
