"""What success depends on: shares with Wilson intervals, and effects of factors by logistic regression.

Factors are drawn independently, so each is regressed alone: the others cannot confound it. Whether any factor matters
is tested by permutations of the outcome with the largest statistic of all factors (Westfall and Young 1993), which
keeps the chance of one false alarm among all factors at ALARM however many there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

ALARM = 0.03
"""Adjusted probability below which a factor is called a cause."""
PERMUTATIONS = 2000
Z95 = 1.959964


@dataclass(frozen=True)
class Share:
    """A share of successes."""

    successes: int
    count: int
    low: float
    """Ends of the 95 % Wilson interval."""
    high: float

    @property
    def value(self) -> float:
        return self.successes / self.count if self.count else float("nan")


@dataclass(frozen=True)
class Effect:
    """How the probability of success changes with one factor."""

    factor: str
    low_value: float
    """10 % and 90 % quantile of the factor, in its unit."""
    high_value: float
    low_success: float
    """Probability of success there, by logistic regression on the factor and its square."""
    high_success: float
    change: float
    """Probability at the high value minus that at the low one; with 95 % interval."""
    change_low: float
    change_high: float
    p: float
    """Probability of so large an effect of any factor by chance: adjusted for their number."""
    curved: bool
    """Whether success depends on the distance from the middle rather than on the direction."""

    @property
    def matters(self) -> bool:
        return self.p < ALARM


def wilson(successes: int, count: int) -> Share:
    """Return a share with its 95 % interval (Wilson 1927); [0, 1] for no trial."""
    if not count:
        return Share(0, 0, 0.0, 1.0)
    from scipy.stats import binomtest  # takes half a second to import

    ends = binomtest(successes, count).proportion_ci(method="wilson")
    return Share(successes, count, float(ends.low), float(ends.high))


def effects(names: Sequence[str], values: np.ndarray, success: np.ndarray, seed: int = 0) -> list[Effect]:
    """Return the effect of each factor, the strongest first. Empty with fewer than 3 successes or failures.

    Args:
        values: of shape (N, F).
        success: of shape (N,), bool.
    """
    varied = [i for i in range(len(names)) if np.ptp(values[:, i]) > 0] if len(values) else []
    success = np.asarray(success, float)
    # Successes and failures below which nothing is tested
    if min(success.sum(), (1 - success).sum()) < 3 or not varied:
        return []
    columns = np.stack([_standardised(values[:, i]) for i in varied], axis=1)
    curves = np.stack([_standardised(_away_from_middle(column)) for column in columns.T], axis=1)
    linear, curved = _statistics(columns, success), _statistics(curves, success)
    strongest = np.maximum(linear, curved)
    random = np.random.default_rng(seed)
    shuffled = random.permuted(np.tile(success, (PERMUTATIONS, 1)), axis=1)
    chance = _statistics(np.hstack((columns, curves)), shuffled).max(axis=-1)
    found = []
    for place, number in enumerate(varied):
        p = float((1 + (chance >= strongest[place] - 1e-12).sum()) / (1 + PERMUTATIONS))
        found.append(
            (strongest[place], _effect(names[number], values[:, number], success, p, curved[place] > linear[place]))
        )
    return [effect for _, effect in sorted(found, key=lambda pair: -pair[0])]


def _standardised(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values, dtype=float)


def _away_from_middle(column: np.ndarray) -> np.ndarray:
    """Return the square of a standardised factor without its correlation with the factor."""
    square = column**2
    return square - column * (column @ square) / max(column @ column, 1e-12)


def _statistics(columns: np.ndarray, success: np.ndarray) -> np.ndarray:
    """Return N r² of outcomes (..., N) with standardised columns (N, F): the score statistics, of shape (..., F)."""
    spread = success.std(axis=-1, keepdims=True)
    y = (success - success.mean(axis=-1, keepdims=True)) / np.maximum(spread, 1e-12)
    return (y @ columns) ** 2 / len(columns)


def _effect(name: str, values: np.ndarray, success: np.ndarray, p: float, curved: bool) -> Effect:
    low, high = (float(np.quantile(values, share)) for share in (0.1, 0.9))
    if low == high:  # a factor that is rarely on
        low, high = float(values.min()), float(values.max())
    if curved:  # the farthest against the middle
        middle = float(values.mean())
        far = low if abs(low - middle) > abs(high - middle) else high
        low, high = middle, far
    centre, spread = values.mean(), values.std()

    def design(v: np.ndarray) -> np.ndarray:
        z = (v - centre) / spread
        return np.stack([np.ones_like(z), z**2 if curved else z], axis=1)

    beta, spread_of_beta = logistic(design(values), success)
    ends = design(np.array([low, high]))
    at = 1 / (1 + np.exp(-ends @ beta))
    gradient = (at * (1 - at))[:, None] * ends
    along = gradient[1] - gradient[0]
    half = Z95 * float(np.sqrt(along @ spread_of_beta @ along))
    change = float(at[1] - at[0])
    ends_of_change = max(-1.0, change - half), min(1.0, change + half)
    return Effect(name, low, high, float(at[0]), float(at[1]), change, *ends_of_change, p, curved)


def logistic(design: np.ndarray, success: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (K,) and covariance (K, K) of logistic regression with Firth's penalty (Firth 1993).

    The penalty keeps the coefficients finite where a factor separates successes from failures.
    """
    beta = np.zeros(design.shape[1])
    information = design.T @ design / 4
    for _ in range(100):
        probability = 1 / (1 + np.exp(-np.clip(design @ beta, -30, 30)))
        weight = probability * (1 - probability)
        information = design.T @ (design * weight[:, None]) + 1e-9 * np.eye(len(beta))
        leverage = weight * np.einsum("ij,jk,ik->i", design, np.linalg.inv(information), design)
        score = design.T @ (success - probability + leverage * (0.5 - probability))
        step = np.linalg.solve(information, score)
        beta = beta + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-8:
            break
    return beta, np.linalg.inv(information)
