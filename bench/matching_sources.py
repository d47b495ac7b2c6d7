"""`python -m bench.matching_sources --library DIR ... [--frames DIR --truth FILE]`: matching over sources.

Collects the questions of matching_tables.py (rendered tables of each library under six lights, cameras and depth
sensors, and real frames), or reads those that an earlier run wrote into --questions FILE. Prints accuracy by source
and the calibration of the confidence with weights that were fitted without the source it is measured on: expected
calibration error (Guo et al. 2017, 10 bins) with bootstrap intervals by source. --picture draws the reliability plot.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
from scipy.optimize import minimize

from bench.matching_tables import MatchQuestion, collect, from_json, to_json
from bench.measurement import grouped_interval
from pipeline.assets import Library
from pipeline.assets.appearance.encoder import load_encoder
from pipeline.evaluation.match_scores import MatchOutcome, score
from pipeline.matching.calibration import CONFIDENCE, variant_log_odds
from pipeline.matching.measured import MIN_CONFIDENCE, MIN_PRINT_MATCHES, MIN_PROBABILITY
from pipeline.matching.retrieval import rest_prior

BINS, SHORTLIST, CANDIDATES = 10, 16, 8
RIDGE = 1e-4


@dataclass(frozen=True)
class Judged:
    """The first candidate of a question, and whether it is right by category."""

    source: str
    terms: tuple[float, float, float]
    """Logarithm of the odds of its category, logarithm of one plus the rivals' odds, and 1."""
    probability: float
    """Of its category against "no match", as it decides what is accepted."""
    right: bool
    exact: bool | None
    """Whether it is the same product; None if the library lacks that."""
    colour: bool
    """Whether it differs from its like in colour only."""
    outcome: MatchOutcome
    """With the first candidate as the chosen one."""
    proved: bool
    """Whether the first candidate's print proves it."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, action="append", default=[])
    parser.add_argument("--frames", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--tables", type=int, default=6, help="rendered tables of each source")
    parser.add_argument("--questions", type=Path, help="file of the collected questions, read if it exists")
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    questions = read_questions(arguments)
    judged = [one for question in questions if (one := judge(question)) is not None]
    sources = sorted({one.source for one in judged})
    held_out = np.zeros(len(judged))
    for source in sources:
        own = np.array([one.source == source for one in judged])
        weights = fit([one for one in judged if one.source != source])
        held_out[own] = confidences(judged, weights)[own]
    print(*table(judged, held_out, sources), sep="\n")
    print(*acceptance(judged, held_out), sep="\n")
    print("fitted on all sources:", np.round(fit(judged), 2), "shipped:", CONFIDENCE)
    if arguments.picture:
        before = np.array([one.probability for one in judged])
        right = np.array([one.right for one in judged])
        cv2.imwrite(str(arguments.picture), plot(before, held_out, right))
    return 0


def read_questions(arguments: argparse.Namespace) -> list[MatchQuestion]:
    """Return the collected questions, or collect them."""
    file = arguments.questions
    if file and file.exists():
        return [from_json(line) for line in file.read_text(encoding="utf-8").splitlines()]
    encoder = load_encoder("embedded")
    if encoder is None or not arguments.library:
        raise SystemExit("It takes --library DIR (twice for two libraries) and the embedded encoder.")
    libraries = [Library.open([path]) for path in arguments.library]
    found = []
    for question in collect(libraries, Library.open(), encoder, arguments.tables, arguments.frames, arguments.truth):
        found.append(question)
        print(f"\r{len(found)} questions, {question.source}", end="", file=sys.stderr, flush=True)
    if file:
        file.write_text("\n".join(map(to_json, found)) + "\n", encoding="utf-8")
    return found


def judge(question: MatchQuestion) -> Judged | None:
    """Return the first candidate as the studio ranks it; None if it is debatable."""
    ranked = sorted(question.candidates, key=lambda one: -one["score"])[:SHORTLIST]
    ranked = _by_colour(ranked)[:CANDIDATES]
    if not ranked or ranked[0]["id"] in question.either:
        return None
    first, odds = ranked[0], [one["score"] / (1 - min(one["score"], 1 - 1e-4)) for one in ranked]
    stands_in = first["hollow"] or not first["printed"]
    alike = [k == 0 or (stands_in and one["category"] == first["category"]) for k, one in enumerate(ranked)]
    own = sum(value for value, same in zip(odds, alike, strict=True) if same)
    rivals = sum(value for value, same in zip(odds, alike, strict=True) if not same)
    right = {*question.exact, *question.category}
    exact = first["id"] in question.exact if question.exact else None
    answers = (frozenset(ids) for ids in (question.exact, question.category, question.either))
    outcome = MatchOutcome(question.source, *answers, first["id"], tuple(one["id"] for one in ranked))
    proved = first["inliers"] >= MIN_PRINT_MATCHES
    terms = (float(np.log(np.clip(own, 1e-4, 1e4))), float(np.log1p(rivals)), 1.0)
    return Judged(
        question.source, terms, own / (1 + own), first["id"] in right, exact, first["hollow"], outcome, proved
    )


def _by_colour(ranked: list[dict]) -> list[dict]:
    """Return the candidates as `reorder_colour_variants` ranks them; scores stay at their ranks."""
    if not ranked or not ranked[0]["hollow"]:
        return ranked
    like = [k for k, one in enumerate(ranked) if one["category"] == ranked[0]["category"]]
    rest = [float(rest_prior(np.array([ranked[k]["up"]]), np.array([ranked[k]["extents"]]))[0]) for k in like]
    odds = [variant_log_odds(ranked[k], one) for k, one in zip(like, rest, strict=True)]
    result = list(ranked)
    for rank, k in zip(like, np.argsort(-np.array(odds), kind="stable"), strict=True):
        result[rank] = ranked[like[int(k)]] | {"score": ranked[rank]["score"]}
    return result


def fit(judged: Sequence[Judged]) -> np.ndarray:
    """Return the weights of the terms by maximum likelihood, of shape (3,)."""
    x, y = np.array([one.terms for one in judged]), np.array([one.right for one in judged], float)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        p = 1 / (1 + np.exp(-x @ w))
        likelihood = y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9)
        return float(-likelihood.mean() + RIDGE * w @ w), x.T @ (p - y) / len(y) + 2 * RIDGE * w

    return minimize(loss, np.zeros(3), jac=True, method="L-BFGS-B").x


def confidences(judged: Sequence[Judged], weights: np.ndarray) -> np.ndarray:
    """Return the confidence in each first candidate, of shape (N,)."""
    return 1 / (1 + np.exp(-np.array([one.terms for one in judged]) @ weights))


def calibration_error(probability: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error: mean distance of probability and share right over the bins."""
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    gaps = [(bins == k).mean() * abs(probability[bins == k].mean() - right[bins == k].mean()) for k in np.unique(bins)]
    return float(sum(gaps))


def table(judged: Sequence[Judged], held_out: np.ndarray, sources: Sequence[str]) -> list[str]:
    """Return the lines of a Markdown table by source, and of all with intervals."""
    before, right = np.array([one.probability for one in judged]), np.array([one.right for one in judged], float)
    rows = {source: np.array([k for k, one in enumerate(judged) if one.source == source]) for source in sources}
    lines = [
        "| source | questions | right first | score: mean / error | confidence: mean / error | right |",
        "| --- " * 6 + "|",
    ]
    for source, own in rows.items():
        exact = [judged[k].exact for k in own if judged[k].exact is not None]
        errors = [calibration_error(values[own], right[own]) for values in (before, held_out)]
        lines.append(
            f"| {source} | {len(own)} | {np.mean(exact):.2f} | {before[own].mean():.2f} / {errors[0]:.2f} "
            f"| {held_out[own].mean():.2f} / {errors[1]:.2f} | {right[own].mean():.2f} |"
        )
    random = np.random.default_rng(0)
    draws = [
        np.concatenate([rows[sources[k]] for k in random.integers(0, len(sources), len(sources))]) for _ in range(500)
    ]
    for name, values in (("score", before), ("confidence", held_out)):
        low, high = np.percentile([calibration_error(values[own], right[own]) for own in draws], (2.5, 97.5))
        lines.append(f"{name}: calibration error {calibration_error(values, right):.3f} ({low:.3f} to {high:.3f})")
    for name, hollow in (("all", None), ("hollow", True)):
        groups = [[float(judged[k].exact or False) for k in own
                   if judged[k].exact is not None and hollow in (None, judged[k].colour)]
                  for own in rows.values()]  # fmt: skip
        low, high = grouped_interval(groups)
        lines.append(f"right first, {name}: {np.mean(np.concatenate(groups)):.3f} ({low:.3f} to {high:.3f})")
    return lines


def acceptance(judged: Sequence[Judged], held_out: np.ndarray) -> list[str]:
    """Return a line for each rule of acceptance: F1 with its interval by source, and verdicts."""
    before = np.array([one.probability for one in judged])
    lines = []
    for name, values, least in (
        ("score", before, MIN_PROBABILITY),
        ("confidence", held_out, MIN_CONFIDENCE),
        ("confidence", held_out, 0.5),
    ):
        accepted = [p >= least or one.proved for p, one in zip(values, judged, strict=True)]
        outcomes = [
            one.outcome if keep else replace(one.outcome, chosen=None)
            for keep, one in zip(accepted, judged, strict=True)
        ]
        f1 = [score(outcomes, criterion) for criterion in ("exact", "category")]
        numbers = ", ".join(f"{one.f1:.3f} ({one.low:.3f} to {one.high:.3f})" for one in f1)
        lines.append(f"accepted by {name} >= {least}: exact and category F1 {numbers}; none kept {f1[0].null_kept:.2f}")
    return lines


def plot(before: np.ndarray, after: np.ndarray, right: np.ndarray, side: int = 300) -> np.ndarray:
    """Return the reliability plot (H, W, 3), uint8, BGR: share right against the stated probability."""
    margin, picture = 46, np.full((side + 70, side + 70, 3), 255, np.uint8)

    def at(x: float, y: float) -> tuple[int, int]:
        return int(margin + x * side), int(14 + (1 - y) * side)

    for k in range(6):
        cv2.line(picture, at(k / 5, 0), at(k / 5, 1), (228, 228, 228), 1)
        cv2.line(picture, at(0, k / 5), at(1, k / 5), (228, 228, 228), 1)
        cv2.putText(picture, f"{k / 5:.1f}", (at(k / 5, 0)[0] - 10, side + 30), 0, 0.36, (60, 60, 60), 1, cv2.LINE_AA)
        cv2.putText(picture, f"{k / 5:.1f}", (18, at(0, k / 5)[1] + 4), 0, 0.36, (60, 60, 60), 1, cv2.LINE_AA)
    cv2.line(picture, at(0, 0), at(1, 1), (170, 170, 170), 1, cv2.LINE_AA)
    for row, (name, values, colour) in enumerate(
        (("score before", before, (60, 110, 220)), ("confidence, source left out", after, (150, 90, 20)))
    ):
        bins = np.minimum((values * BINS).astype(int), BINS - 1)
        points = [(values[bins == k].mean(), right[bins == k].mean(), (bins == k).sum()) for k in np.unique(bins)]
        corners = np.array([at(x, y) for x, y, _ in points], np.int32)
        cv2.polylines(picture, [corners], False, colour, 2, cv2.LINE_AA)
        for (_, _, count), corner in zip(points, corners.tolist(), strict=True):
            cv2.circle(picture, corner, int(2 + np.sqrt(count) / 4), colour, -1, cv2.LINE_AA)
        cv2.putText(picture, name, (margin + 8, 30 + 16 * row), 0, 0.4, colour, 1, cv2.LINE_AA)
    cv2.putText(picture, "stated probability", (margin + 90, side + 52), 0, 0.4, (60, 60, 60), 1, cv2.LINE_AA)
    cv2.putText(picture, "share right", (2, 10), 0, 0.36, (60, 60, 60), 1, cv2.LINE_AA)
    return picture


if __name__ == "__main__":
    sys.exit(main())
