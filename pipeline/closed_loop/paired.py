"""Two policies on the same conditions: the difference of their success, with an interval and a test."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm


@dataclass(frozen=True)
class PairedDifference:
    """Success of the second policy minus that of the first, on the same conditions."""

    difference: float
    """In [-1, 1]."""
    low: float
    """Ends of the 95 % interval (Agresti and Min 2005)."""
    high: float
    p: float
    """Of no difference: McNemar's exact test with mid-p."""


def paired_difference(first: Sequence[bool], second: Sequence[bool]) -> PairedDifference:
    """Compare two policies by their success under each condition, in the same order.

    Only the conditions that one of them solves and the other does not tell them apart.
    """
    one, other = np.asarray(first, bool), np.asarray(second, bool)
    lost, won, count = int((one & ~other).sum()), int((~one & other).sum()), len(one)
    difference = (won - lost) / count if count else 0.0
    adjusted = (won - lost) / (count + 2)  # half a condition is added to each of the four cells
    spread = (won + lost + 1) / (count + 2) - adjusted**2
    half = norm.ppf(0.975) * np.sqrt(spread / (count + 2))
    return PairedDifference(
        difference, float(max(-1.0, adjusted - half)), float(min(1.0, adjusted + half)), _mid_p(won, lost)
    )


def _mid_p(won: int, lost: int) -> float:
    """Return the two-sided mid-p of McNemar's exact test."""
    fewer, differing = min(won, lost), won + lost
    if won == lost:
        return 1.0
    return float(2 * binom.cdf(fewer, differing, 0.5) - binom.pmf(fewer, differing, 0.5))
