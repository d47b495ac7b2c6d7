"""Matches scored against labelled photographs: the paper's Table 1, with F1 and its confidence.

A segment stands for the labelled object that it covers with an IoU of at least one half. "exact": right is the same
product, and a stand-in of its kind is neither right nor wrong. "category": right is anything of its kind. What a person
would argue about is never counted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pipeline.matching.matches import Match

Mode = Literal["exact", "category"]
Verdict = Literal["right", "wrong", "missed", "invented", "null kept", "not counted"]
FOUND = 0.5


@dataclass(frozen=True)
class Row:
    """One labelled object, or one segment that is no labelled object but was given an asset."""

    frame: str
    exact: frozenset[str]
    category: frozenset[str]
    either: frozenset[str]
    chosen: str | None
    ranked: tuple[str, ...]

    def verdict(self, mode: Mode) -> Verdict:
        right = self.exact | self.category if mode == "category" else self.exact
        free = self.either if mode == "category" else self.either | self.category
        if self.chosen is None:
            return "missed" if right else "null kept"
        if self.chosen in right:
            return "right"
        return "not counted" if self.chosen in free else "wrong" if right else "invented"


@dataclass(frozen=True)
class Score:
    f1: float
    low: float
    high: float
    """Ends of the 95 % interval, frames drawn with replacement."""
    precision: float
    recall: float
    null_kept: float
    """Share of the things that nothing fits which were left without an asset."""


def frame_rows(
    name: str, matches: Sequence[Match], masks: Mapping[int, np.ndarray], truth: np.ndarray,
    answers: Sequence[Mapping[str, Any]], complete: bool,
) -> list[Row]:  # fmt: skip
    """Rows of one frame. `masks` (H, W), bool, by segment; `truth` (H, W), int, the objects' numbers, 0 for none."""
    by_segment = {match.segment_id: match for match in matches}
    taken = _pairs(masks, truth)
    rows = []
    for answer in answers:
        match = by_segment.get(taken.get(int(answer["id"]), -1))
        ranked = tuple(c.asset_id for c in match.candidates) if match else ()
        exact, category, either = (frozenset(answer.get(key, ())) for key in ("exact", "category", "either"))
        rows.append(Row(name, exact, category, either, match.asset_id if match else None, ranked))
    spare = [m for s, m in by_segment.items() if s not in taken.values() and m.asset_id]
    none: frozenset[str] = frozenset()
    return rows + [Row(name, none, none, none, match.asset_id, ()) for match in spare if complete]


def _pairs(masks: Mapping[int, np.ndarray], truth: np.ndarray) -> dict[int, int]:
    """The segment of each object, best overlap first, each used once."""
    found = []
    for number in np.unique(truth[truth > 0]):
        there = truth == number
        for segment, mask in masks.items():
            overlap = np.count_nonzero(mask & there) / max(np.count_nonzero(mask | there), 1)
            if overlap >= FOUND:
                found.append((overlap, int(number), segment))
    taken: dict[int, int] = {}
    for _, number, segment in sorted(found, reverse=True):
        if number not in taken and segment not in taken.values():
            taken[number] = segment
    return taken


def score(rows: Sequence[Row], mode: Mode, draws: int = 2000) -> Score:
    """F1 with "no match", and how sure it is. NaN where there is nothing to count."""
    frames = sorted({row.frame for row in rows})
    counts = np.zeros((len(frames), 5))
    for row in rows:
        verdict = row.verdict(mode)
        kinds = ("right", "wrong", "missed", "invented", "null kept")
        if verdict in kinds:
            counts[frames.index(row.frame), kinds.index(verdict)] += 1
    right, wrong, missed, invented, kept = counts.sum(axis=0)
    picks = np.random.default_rng(0).integers(0, len(frames), (draws, len(frames)))
    drawn = _f1(counts[picks].sum(axis=1))
    low, high = np.nanpercentile(drawn, (2.5, 97.5)) if np.isfinite(drawn).any() else (np.nan, np.nan)
    return Score(
        float(_f1(counts.sum(axis=0)[None])[0]), float(low), float(high),
        _share(right, right + wrong + invented), _share(right, right + wrong + missed), _share(kept, kept + invented),
    )  # fmt: skip


def among(rows: Sequence[Row], mode: Mode, first: int) -> float:
    """Share of the objects with a right asset that has one among the first so many candidates."""
    right = [(row.exact | row.category if mode == "category" else row.exact, row.ranked) for row in rows]
    asked = [(sets, ranked) for sets, ranked in right if sets]
    return _share(sum(bool(sets & set(ranked[:first])) for sets, ranked in asked), len(asked))


def _f1(counts: np.ndarray) -> np.ndarray:
    """Of right, wrong, missed, invented (N, 5)."""
    right, wrong, missed, invented = counts[:, :4].T
    total = 2 * right + 2 * wrong + missed + invented
    return np.where(total > 0, 2 * right / np.maximum(total, 1), np.nan)


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")
