"""Pairs of episodes: two policies on the same conditions, and one policy on pairs of twins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, norm

from pipeline.variation.twin_uncertainty import AS_MEASURED, UNCERTAIN

MIN_FAILURES = 3
"""As in variation/sensitivity.py."""
WIDE = 0.5
"""End of an interval from 0 on that says nothing: less than nothing, or half of the failures."""


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


@dataclass(frozen=True)
class ExplainedFailures:
    """How much of the failures within the twin's uncertainty is due to it."""

    pairs: int
    failed_as_measured: int
    """Pairs that fail with the twin as measured."""
    failed: int
    """Pairs that fail within its uncertainty."""
    explained: float | None
    """Share of these failures beyond those as measured, in [0, 1]; None where the pairs cannot tell."""
    low: float
    """Ends of its 95 % interval."""
    high: float


def explained_failures(as_measured: Sequence[bool], uncertain: Sequence[bool]) -> ExplainedFailures:
    """Compare the success of a policy on pairs of conditions that differ in nothing but the twin's objects.

    The share is the difference of the failures over the failures within the uncertainty, as is its interval: both rise
    together, so it is rather too wide. It cannot tell with fewer than MIN_FAILURES, or where it reaches from 0 to WIDE.
    """
    pair, pairs = paired_difference(uncertain, as_measured), len(uncertain)
    failed = pairs - sum(map(bool, uncertain))
    share = failed / pairs if pairs else 0.0
    value, low, high = (min(1.0, max(0.0, end / max(share, 1e-9))) for end in (pair.difference, pair.low, pair.high))
    tells = failed >= MIN_FAILURES and not (low <= 0 and high >= WIDE)
    return ExplainedFailures(pairs, pairs - sum(map(bool, as_measured)), failed, value if tells else None, low, high)


def explained_by_twin(solved: Mapping[str, bool]) -> ExplainedFailures | None:
    """Return what the complete pairs among conditions, success by id, say; None if there are none."""
    pairs = [
        (success, solved[other])
        for id, success in solved.items()
        if id.endswith(AS_MEASURED) and (other := id.removesuffix(AS_MEASURED) + UNCERTAIN) in solved
    ]
    return explained_failures(*zip(*pairs, strict=True)) if pairs else None


def _mid_p(won: int, lost: int) -> float:
    """Return the two-sided mid-p of McNemar's exact test."""
    fewer, differing = min(won, lost), won + lost
    if won == lost:
        return 1.0
    return float(2 * binom.cdf(fewer, differing, 0.5) - binom.pmf(fewer, differing, 0.5))
