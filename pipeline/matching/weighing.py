"""All evidence as one number: the log odds that a view shows what was seen, rather than nothing of the library's.

Weights and thresholds were learnt on rendered tables (`tests/bench/unseen.py`, development) by maximum likelihood of
the right asset against all others and "nothing", and of "nothing" where everything of its kind was taken out of the
library. No photograph was used.
"""

from collections.abc import Mapping

import numpy as np

from pipeline.matching.evidence import Evidence

WEIGHTS = {"size": 0.72, "outline": 1.46, "relief": 4.17, "colour": 1.29, "appearance": 3.41, "rests": 6.39}
PICTURE = 8.19
"""Weight of the encoder's cosine."""
NEEDED = {"plain": -0.39, "printed": -0.66, "hollow": 0.78}
"""Log odds that each kind of asset must reach: prints tell products apart, plain forms say less."""
BLEACHED = 0.05
"""The least that it counts where one form in several colours is told apart: the light is the same for all of them."""
WITHOUT = {"size": 1.0, "outline": 3.0, "relief": 2.0, "colour": 1.0, "appearance": 0.5}
"""Weights where no encoder is at hand."""
FLOOR, FLOOR_WITHOUT = 0.7, 0.45
"""The least that the colours of a hollow asset count: a grey mug may stand for a blue one."""
DOUBT = 0.25
"""The least that a colour histogram counts: a light of another colour empties all its cells."""
AGAINST = 0.93
"""Factor, without an encoder, for an asset whose category the measured shape speaks against."""


def probability(
    evidence: Evidence, picture: np.ndarray, rests: np.ndarray, printed: np.ndarray, hollow: np.ndarray
) -> np.ndarray:
    """Of each view, of shape (V,), in [0, 1]; from 0.5 it is more likely than nothing.

    `picture` is the encoder's cosine; `rests` how likely it lies so; `printed` and `hollow` are the kinds of the views'
    assets, all of shape (V,).
    """
    parts = dict(WEIGHTS)
    odds = size_odds(evidence.scale, parts.pop("size"))
    odds = odds + parts.pop("rests") * np.log(rests) + PICTURE * picture
    for name, weight in parts.items():
        values = getattr(evidence, name)
        if name in ("colour", "appearance"):
            values = np.where(hollow, np.maximum(values, FLOOR), values)
        odds = odds + weight * np.log(np.maximum(values, DOUBT if name == "colour" else 1e-3))
    kind = np.where(hollow, NEEDED["hollow"], np.where(printed, NEEDED["printed"], NEEDED["plain"]))
    return 1 / (1 + np.exp(-np.clip(odds - kind, -50, 50)))


def looks_odds(evidence: Mapping[str, float]) -> float:
    """What its looks alone say for one view, colours in full: for telling assets of one form apart."""
    colours = (
        WEIGHTS[name] * np.log(max(evidence[name], least))
        for name, least in (("colour", BLEACHED), ("appearance", 1e-3))
    )
    return float(sum(colours) + PICTURE * evidence["picture"])


def size_odds(scale: np.ndarray, weight: float = WEIGHTS["size"]) -> np.ndarray:
    """What needing these factors (V,) says against views: softly, for depth bleeds and toys are scaled."""
    return -weight * np.log1p((np.log(np.maximum(scale, 1e-3)) / 0.2) ** 2)


def likeness(evidence: Evidence, rests: np.ndarray, hollow: np.ndarray, against: np.ndarray) -> np.ndarray:
    """Of each view, of shape (V,), in [0, 1], without an encoder: a geometric mean. `against` marks odd categories."""
    total = 0.0
    for name, weight in WITHOUT.items():
        values = getattr(evidence, name)
        if name in ("colour", "appearance"):
            values = np.where(hollow, np.maximum(values, FLOOR_WITHOUT), values)
        total = total + weight * np.log(np.maximum(values, 1e-6))
    return np.exp(total / sum(WITHOUT.values())) * rests * np.where(against, AGAINST, 1.0)
