"""Scores of matches against labelled photographs, with F1 and its confidence interval (table 1 of GRS).

A segment belongs to the labelled object that it overlaps with an IoU of at least one half. By the criterion "exact"
only the same product is right, and another asset of its category is not counted. By "category" any asset of the
category is right. Assets that are labelled "either" are never counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pipeline.errors import StudioError
from pipeline.matching.measured import Match

Criterion = Literal["exact", "category"]
Verdict = Literal["right", "wrong", "missed", "invented", "null kept", "not counted"]
MIN_IOU = 0.5


class EvaluationError(StudioError):
    """Labels cannot be read, or belong to another picture."""


@dataclass(frozen=True)
class MatchOutcome:
    """Match of one labelled object, or of a segment without a labelled object that was matched with an asset."""

    frame: str
    exact: frozenset[str]
    """Ids of the assets that show the same product."""
    category: frozenset[str]
    """Ids of other assets of the object's category."""
    either: frozenset[str]
    """Ids of assets that are neither right nor wrong."""
    chosen: str | None
    ranked: tuple[str, ...]
    """Ids of the candidates, best first."""

    def right(self, criterion: Criterion) -> frozenset[str]:
        """Return the ids of the right assets."""
        return self.exact | self.category if criterion == "category" else self.exact

    def verdict(self, criterion: Criterion) -> Verdict:
        """Return whether the chosen asset, or none, is right. "null kept" is a right "no match"."""
        right = self.right(criterion)
        ignored = self.either if criterion == "category" else self.either | self.category
        if self.chosen is None:
            return "missed" if right else "null kept"
        if self.chosen in right:
            return "right"
        return "not counted" if self.chosen in ignored else "wrong" if right else "invented"


@dataclass(frozen=True)
class F1Score:
    """F1 over all objects, with "no match" as a class of its own."""

    f1: float
    low: float
    high: float
    """Ends of the 95 % interval, by bootstrap over frames."""
    precision: float
    recall: float
    null_kept: float
    """Share of the objects without a right asset that were matched with none."""


def frame_outcomes(
    name: str,
    matches: Sequence[Match],
    masks: Mapping[int, np.ndarray],
    truth: np.ndarray,
    labels: Sequence[Mapping[str, Any]],
    complete: bool,
) -> list[MatchOutcome]:
    """Return the outcomes of one frame.

    `masks` (H, W), bool, by segment id; `truth` (H, W), int, the number of the object at each pixel, 0 for none;
    `labels` of each object as in `MatcherEvaluation.truth`. If they are `complete`, a match of a segment without a
    labelled object counts as wrong.
    """
    by_segment = {match.segment_id: match for match in matches}
    assigned = _assign_segments(masks, truth)
    outcomes = []
    for label in labels:
        match = by_segment.get(assigned.get(int(label["id"]), -1))
        ranked = tuple(c.asset_id for c in match.candidates) if match else ()
        exact, category, either = (frozenset(label.get(key, ())) for key in ("exact", "category", "either"))
        outcomes.append(MatchOutcome(name, exact, category, either, match.asset_id if match else None, ranked))
    spare = [m for s, m in by_segment.items() if s not in assigned.values() and m.asset_id]
    none: frozenset[str] = frozenset()
    return outcomes + [MatchOutcome(name, none, none, none, match.asset_id, ()) for match in spare if complete]


def _assign_segments(masks: Mapping[int, np.ndarray], truth: np.ndarray) -> dict[int, int]:
    """Return the segment of each object, best overlap first, each used once."""
    overlaps = []
    for number in np.unique(truth[truth > 0]):
        labelled = truth == number
        for segment, mask in masks.items():
            overlap = np.count_nonzero(mask & labelled) / max(np.count_nonzero(mask | labelled), 1)
            if overlap >= MIN_IOU:
                overlaps.append((overlap, int(number), segment))
    assigned: dict[int, int] = {}
    for _, number, segment in sorted(overlaps, reverse=True):
        if number not in assigned and segment not in assigned.values():
            assigned[number] = segment
    return assigned


def score(outcomes: Sequence[MatchOutcome], criterion: Criterion, draws: int = 2000) -> F1Score:
    """Return F1 with its confidence interval from `draws` bootstrap samples. NaN if there is nothing to count."""
    counts = _verdict_counts(outcomes, criterion)
    right, wrong, missed, invented, null = counts.sum(axis=0)
    picks = np.random.default_rng(0).integers(0, len(counts), (draws, len(counts)))
    samples = _f1(counts[picks].sum(axis=1))
    low, high = np.nanpercentile(samples, (2.5, 97.5)) if np.isfinite(samples).any() else (np.nan, np.nan)
    return F1Score(
        f1=float(_f1(counts.sum(axis=0)[None])[0]),
        low=float(low),
        high=float(high),
        precision=_share(right, right + wrong + invented),
        recall=_share(right, right + wrong + missed),
        null_kept=_share(null, null + invented),
    )


def frame_scores(outcomes: Sequence[MatchOutcome], criterion: Criterion) -> list[float]:
    """Return F1 of each frame, in the order of their names; NaN for a frame with nothing to count."""
    return [float(one) for one in _f1(_verdict_counts(outcomes, criterion))]


def _verdict_counts(outcomes: Sequence[MatchOutcome], criterion: Criterion) -> np.ndarray:
    """Return how often each frame has each verdict that counts, (frames, 5)."""
    frames = sorted({outcome.frame for outcome in outcomes})
    kinds = ("right", "wrong", "missed", "invented", "null kept")
    counts = np.zeros((len(frames), len(kinds)))
    for outcome in outcomes:
        verdict = outcome.verdict(criterion)
        if verdict in kinds:
            counts[frames.index(outcome.frame), kinds.index(verdict)] += 1
    return counts


def recall_at(outcomes: Sequence[MatchOutcome], criterion: Criterion, count: int) -> float:
    """Return the share of the objects with a right asset that have one among their first `count` candidates."""
    known = [(right, outcome.ranked) for outcome in outcomes if (right := outcome.right(criterion))]
    return _share(sum(bool(right & set(ranked[:count])) for right, ranked in known), len(known))


def _f1(counts: np.ndarray) -> np.ndarray:
    """Return F1 (N,) of the counts of each verdict (N, 5)."""
    right, wrong, missed, invented = counts[:, :4].T
    total = 2 * right + 2 * wrong + missed + invented
    return np.where(total > 0, 2 * right / np.maximum(total, 1), np.nan)


def _share(part: float, total: float) -> float:
    return float(part / total) if total else float("nan")
