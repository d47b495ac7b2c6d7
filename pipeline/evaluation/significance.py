"""Whether groups of scores differ: Kruskal-Wallis over all groups, then Mann-Whitney for each pair, Holm-corrected.

Both tests use ranks only, since scores in [0, 1] are far from normal (https://doi.org/10.1080/01621459.1952.10483441).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class PairTest:
    """Test of two groups."""

    first: str
    second: str
    p: float
    """Corrected for the number of pairs."""


@dataclass(frozen=True)
class GroupTest:
    """Test of several groups and of all their pairs."""

    h: float
    """Statistic of Kruskal-Wallis."""
    p: float
    sizes: Mapping[str, int]
    """Number of values in each group."""
    pairs: tuple[PairTest, ...]

    @property
    def sentence(self) -> str:
        """One sentence for below a table."""
        # Probability below which a difference is called significant
        differing = [f"{one.first} and {one.second} (p = {one.p:.3f})" for one in self.pairs if one.p < 0.05]
        found = f"these differ: {', '.join(differing)}" if differing else "no pair differs significantly"
        return f"Kruskal-Wallis H = {self.h:.2f}, p = {self.p:.3f}; Mann-Whitney with Holm's correction: {found}."


def compare_groups(groups: Mapping[str, Sequence[float]]) -> GroupTest | None:
    """Return the tests of these groups without NaN values; None for fewer than two groups with values."""
    values = {name: [one for one in scores if np.isfinite(one)] for name, scores in groups.items()}
    values = {name: scores for name, scores in values.items() if scores}
    if len(values) < 2:
        return None
    pairs = list(combinations(values, 2))
    h, p = _kruskal_wallis(list(values.values()))
    corrected = holm([float(stats.mannwhitneyu(values[one], values[other]).pvalue) for one, other in pairs])
    tests = tuple(PairTest(*pair, p) for pair, p in zip(pairs, corrected, strict=True))
    return GroupTest(h, p, {name: len(scores) for name, scores in values.items()}, tests)


def holm(probabilities: Sequence[float]) -> list[float]:
    """Return the probabilities corrected for their number by Holm's step-down method, in their order."""
    count, corrected, highest = len(probabilities), [0.0] * len(probabilities), 0.0
    for rank, index in enumerate(np.argsort(probabilities, kind="stable")):
        highest = max(highest, min(1.0, (count - rank) * probabilities[index]))
        corrected[int(index)] = highest
    return corrected


def mean_interval(values: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """Return the ends of the 95 % bootstrap interval of the mean; NaN without values."""
    if not len(values):
        return float("nan"), float("nan")
    scores = np.asarray(values, float)
    picks = np.random.default_rng(0).integers(0, len(scores), (draws, len(scores)))
    low, high = np.percentile(scores[picks].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def _kruskal_wallis(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    if len({value for group in groups for value in group}) == 1:
        return 0.0, 1.0  # scipy has no number for values that are all equal
    found = stats.kruskal(*groups)
    return float(found.statistic), float(found.pvalue)
