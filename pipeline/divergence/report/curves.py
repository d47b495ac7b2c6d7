"""Curves of a comparison as plain numbers: few enough for a page, with every extreme kept."""

import numpy as np

from pipeline.divergence.comparison import Comparison
from pipeline.divergence.episode import Episode

POINTS = 4000
"""Of a curve; a longer one is drawn by the extremes of its sections."""
BINS = 40
DIGITS = 6
"""Decimals of a curve's values."""


def error_curves(comparison: Comparison) -> dict[str, dict[str, list[float]]]:
    """Return {"t", "y"} of each error over time, by the name of its column; at most POINTS points each."""
    times = comparison.column("t")
    curves = {}
    for name in comparison.columns[2:]:
        t, y = envelope(times, comparison.column(name))
        curves[name] = {"t": _numbers(t), "y": _numbers(y)}
    return curves


def joint_curves(comparison: Comparison, real: Episode, sim: Episode) -> dict[str, dict[str, list[float]]]:
    """Return {"t", "real", "t_sim", "sim"} of each joint and gripper, both times on REAL's clock."""
    alignment = comparison.alignment
    names = [joint.name for arm in comparison.arms.values() for joint in arm.joints]
    sim_times = alignment.real_times(sim.times)
    curves = {}
    for name in names:
        t, q_real = envelope(real.times, real.positions.column(real.names.index(name)))
        t_sim, q_sim = envelope(sim_times, sim.positions.column(sim.names.index(name)))
        curves[name] = {"t": _numbers(t), "real": _numbers(q_real), "t_sim": _numbers(t_sim), "sim": _numbers(q_sim)}
    return curves


def error_histograms(comparison: Comparison) -> dict[str, dict[str, list[float]]]:
    """Return {"edges": (BINS + 1,), "share": (BINS,)} of each arm's RMSE_norm over the samples (Figures 7d and 8d)."""
    found = {}
    for arm in comparison.arms:
        errors = comparison.column(f"rmse_{arm}")
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


def _numbers(values: np.ndarray) -> list[float]:
    return np.round(values, DIGITS).tolist()
