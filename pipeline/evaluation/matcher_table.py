"""Table 1 as Markdown, CSV and JSON."""

import csv
import io
import math
from dataclasses import asdict, replace
from typing import Any

from pipeline.evaluation.match_scores import Criterion, MatchOutcome, frame_scores
from pipeline.evaluation.matcher_evaluation import (
    QUESTION_KIND_BY_MATCHER,
    MatcherAccuracy,
    MatcherResult,
    MatcherTable,
)
from pipeline.evaluation.significance import GroupTest, compare_groups


def caption(table: MatcherTable) -> str:
    """Return one line on what the table was evaluated on."""
    model = f", model {table.model}" if table.model else ", no model"
    masks = "true masks" if table.masks == "true" else f"masks by {table.masks}"
    numbers = {"frame": table.frames, "object": table.objects, "asset": table.assets}
    counted = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in numbers.items())
    return f"{counted}, {masks}, encoder {table.encoder}{model}; 95 % intervals over frames"


def markdown(table: MatcherTable) -> list[str]:
    """Return the lines of a Markdown table with one row for each matcher, below its caption."""
    lines = [
        caption(table),
        "",
        "| matcher | exact F1 | first / among five | category F1 | first / among five | no match kept | s | calls |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in table.lines:
        if one.unavailable or not (one.exact and one.category):
            lines.append(f"| {one.matcher} | not measured: it {one.unavailable} | | | | | | |")
            continue
        cells = [cell for figures in (one.exact, one.category) for cell in _cells(figures)]
        null_kept = "-" if math.isnan(one.exact.f1.null_kept) else f"{one.exact.f1.null_kept:.2f}"
        lines.append(f"| {' | '.join([one.matcher, *cells, null_kept, f'{one.seconds:.2f}', calls_text(one)])} |")
    tests = significance(table)
    return lines + [line for name, one in tests.items() for line in ("", f"{name} F1 by frame: {one.sentence}")]


def significance(table: MatcherTable) -> dict[str, GroupTest]:
    """Return the tests whether the matchers' F1 by frame differ, by criterion; none for a single matcher."""
    criteria: tuple[Criterion, ...] = ("exact", "category")
    groups = {one: {name: frame_scores(rows, one) for name, rows in table.rows.items()} for one in criteria}
    return {one: found for one, scores in groups.items() if (found := compare_groups(scores))}


def calls_text(line: MatcherResult) -> str:
    """Return the calls of a matcher, their cost and the share of unusable answers; "-" if it asks no model."""
    if line.matcher not in QUESTION_KIND_BY_MATCHER:
        return "-"
    parts = [f"{line.calls} calls", f"${line.usd:.2f}" if line.usd is not None else "cost unknown"]
    share = line.failed / line.calls if line.calls else 0.0
    return ", ".join([*parts, f"{share:.0%} unusable" + ", counted as no match" * bool(line.failed)])


def _cells(figures: MatcherAccuracy) -> tuple[str, str]:
    one = figures.f1
    return f"{one.f1:.2f} ({one.low:.2f}-{one.high:.2f})", f"{figures.first:.2f} / {figures.five:.2f}"


def to_json(table: MatcherTable) -> dict[str, Any]:
    """Return the table with the outcome of every object. Numbers that are not finite become null."""
    value = asdict(replace(table, rows={}))
    value["significance"] = {criterion: asdict(found) for criterion, found in significance(table).items()}
    value["rows"] = {matcher: [_row(one) for one in rows] for matcher, rows in table.rows.items()}
    return _finite(value)


def _row(one: MatchOutcome) -> dict[str, Any]:
    return {
        "frame": one.frame, "chosen": one.chosen, "ranked": list(one.ranked[:5]), "exact": sorted(one.exact),
        "verdict": one.verdict("exact"), "verdict_category": one.verdict("category"),
    }  # fmt: skip


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_csv(table: MatcherTable) -> str:
    """Return one row for each matcher and criterion."""
    out = io.StringIO()
    file = csv.writer(out, lineterminator="\n")
    file.writerow(
        ["matcher", "counted", "f1", "low", "high", "precision", "recall", "null_kept", "first", "among_five",
         "seconds", "calls", "failed", "usd", "not_measured_because"]
    )  # fmt: skip
    for one in table.lines:
        for name, figures in (("exact", one.exact), ("category", one.category)):
            numbers = [*asdict(figures.f1).values(), figures.first, figures.five] if figures else [""] * 8
            cells = [f"{cell:.4f}" if isinstance(cell, float) and not math.isnan(cell) else "" for cell in numbers]
            usd = "" if one.usd is None else f"{one.usd:.4f}"
            file.writerow(
                [one.matcher, name, *cells, f"{one.seconds:.3f}", one.calls, one.failed, usd, one.unavailable]
            )
    return out.getvalue()
