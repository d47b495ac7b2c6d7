"""Calibrated score of a view: the probability that it shows the query, rather than no asset of the library.

The score is a logistic regression over the terms of `Similarity`. Weights and thresholds were fitted on rendered tables
(`bench/unseen_matching.py`, development set) by maximum likelihood of the right asset against all others and "no
match", and of "no match" where every asset of the object's category was removed from the library. No photograph was
used.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pipeline.matching.similarity import MAX_SCALE, MIN_SCALE, SIZE_TOLERANCE, Similarity

WEIGHTS = {"size": 0.72, "outline": 1.46, "relief": 4.17, "colour": 1.29, "appearance": 3.41, "rest": 6.39}
EMBEDDING_WEIGHT = 8.19
"""Weight of the encoder's cosine."""
ACCEPT_LOG_ODDS = {"plain": -0.39, "printed": -0.66, "hollow": 0.78}
"""Log odds at which the score is one half, by kind of asset. Prints tell products apart, plain shapes say less."""
CONFIDENCE = {"odds": 1.17, "rivals": -0.54, "bias": -0.96}
"""Weights of `match_confidence`, fitted on 21 sources (`bench/matching_sources.py`). Left out one by one, the
expected calibration error is 0.03; that of the scores, which are against "no match" only, is 0.12."""
WEIGHTS_WITHOUT_ENCODER = {"size": 1.0, "outline": 3.0, "relief": 2.0, "colour": 1.0, "appearance": 0.5}
MIN_HOLLOW_COLOUR, MIN_HOLLOW_COLOUR_WITHOUT_ENCODER = 0.7, 0.45
"""Lower bound of the colour terms of a hollow asset: a grey mug may represent a blue one."""


@dataclass(frozen=True, eq=False)
class ViewPriors:
    """What is known of V views before they are compared with a query, each of shape (V,)."""

    rest: np.ndarray
    """How likely the asset rests in this pose, in (0, 1]."""
    printed: np.ndarray
    """Whether the view's asset has a print, bool."""
    hollow: np.ndarray
    """Whether the view's asset is of a category whose assets differ in colour only, bool."""


def probability(similarity: Similarity, cosine: np.ndarray, priors: ViewPriors) -> np.ndarray:
    """Return the probability of each view, of shape (V,). Above 0.5 it is more likely than no asset.

    `cosine` is the encoder's, of shape (V,).
    """
    weights = dict(WEIGHTS)
    odds = size_log_odds(similarity.scale, weights.pop("size"))
    odds = odds + weights.pop("rest") * np.log(priors.rest) + EMBEDDING_WEIGHT * cosine
    for name, weight in weights.items():
        values = getattr(similarity, name)
        if name in ("colour", "appearance"):
            values = np.where(priors.hollow, np.maximum(values, MIN_HOLLOW_COLOUR), values)
        # 0.25: lower bound of the histogram overlap: coloured light empties all bins of the histogram
        odds = odds + weight * np.log(np.maximum(values, 0.25 if name == "colour" else 1e-3))
    flat = np.where(priors.printed, ACCEPT_LOG_ODDS["printed"], ACCEPT_LOG_ODDS["plain"])
    required = np.where(priors.hollow, ACCEPT_LOG_ODDS["hollow"], flat)
    return 1 / (1 + np.exp(-np.clip(odds - required, -50, 50)))


def variant_log_odds(terms: Mapping[str, float], rest: float) -> float:
    """Return the log odds of one view in which colours count in full. Ranks hollow assets of one category.

    `rest` is how likely the asset rests in this pose, in (0, 1]. An asset that the twin cannot scale to the measured
    size loses one for each SIZE_TOLERANCE that is left, so that colour does not make up for it.
    """
    factor = max(terms["scale"], 1e-3)
    uncorrected = abs(np.log(np.clip(factor, MIN_SCALE, MAX_SCALE) / factor))
    # 0.05: lower bound of the histogram overlap among hollow assets of one category: all of them share the light
    least = {"outline": 1e-3, "relief": 1e-3, "colour": 0.05, "appearance": 1e-3}
    odds = sum(WEIGHTS[name] * np.log(max(terms[name], low)) for name, low in least.items())
    odds += float(size_log_odds(np.array(terms["scale"]))) + WEIGHTS["rest"] * np.log(rest)
    return float(odds + EMBEDDING_WEIGHT * terms["picture"] - uncorrected / SIZE_TOLERANCE)


def match_confidence(odds: float, rival_odds: float) -> float:
    """Return the probability that the first candidate is right, by category.

    Args:
        odds: of the first candidate and its stand-ins against "no match".
        rival_odds: sum of the odds of all other candidates, each against "no match".
    """
    log_odds = CONFIDENCE["odds"] * np.log(np.clip(odds, 1e-4, 1e4)) + CONFIDENCE["rivals"] * np.log1p(rival_odds)
    return float(1 / (1 + np.exp(-log_odds - CONFIDENCE["bias"])))


def size_log_odds(scale: np.ndarray, weight: float = WEIGHTS["size"]) -> np.ndarray:
    """Return the log odds (V,) of views that need these scale factors (V,).

    The penalty has heavy tails, because depth bleeds over edges and toys are scaled.
    """
    return -weight * np.log1p((np.log(np.maximum(scale, 1e-3)) / SIZE_TOLERANCE) ** 2)


def score_without_encoder(similarity: Similarity, priors: ViewPriors, contradicted: np.ndarray) -> np.ndarray:
    """Return a weighted geometric mean of the terms, of shape (V,), in [0, 1], for use without an encoder.

    `contradicted` (V,), bool, marks views of assets whose category contradicts the measured shape.
    """
    total = 0.0
    for name, weight in WEIGHTS_WITHOUT_ENCODER.items():
        values = getattr(similarity, name)
        if name in ("colour", "appearance"):
            values = np.where(priors.hollow, np.maximum(values, MIN_HOLLOW_COLOUR_WITHOUT_ENCODER), values)
        total = total + weight * np.log(np.maximum(values, 1e-6))
    mean = np.exp(total / sum(WEIGHTS_WITHOUT_ENCODER.values()))
    # Factor, without an encoder, for an asset whose category contradicts the measured shape
    return mean * priors.rest * np.where(contradicted, 0.93, 1.0)
