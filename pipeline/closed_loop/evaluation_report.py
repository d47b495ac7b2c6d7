"""evaluation.json and report.html of policies on the same conditions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.closed_loop.episodes import PolicyEpisode
from pipeline.closed_loop.evaluation_words import difference_words, success_words, uncertainty_words
from pipeline.closed_loop.failure import CLASSES
from pipeline.closed_loop.paired import explained_by_twin, paired_difference
from pipeline.report import Heading, Table, Text, report_page
from pipeline.store import write_text
from pipeline.variation import effects, wilson
from pipeline.variation.twin_uncertainty import AS_MEASURED
from pipeline.variation.variation_files import factor_table

MAX_ROWS = 200
"""Of the table of conditions."""


def evaluation_json(episodes: Mapping[str, Sequence[PolicyEpisode]]) -> dict[str, Any]:
    """Return the contents of evaluation.json; the episodes of all policies are in the order of the conditions."""
    solved = {policy: [one.success for one in found] for policy, found in episodes.items()}
    shares = {policy: wilson(sum(found), len(found)) for policy, found in solved.items()}
    paired = asdict(paired_difference(*solved.values())) if len(solved) == 2 else None
    return {
        "policies": [
            {
                "name": policy,
                "success": shares[policy].value,
                "low": shares[policy].low,
                "high": shares[policy].high,
                "rmse": _mean([one.rmse for one in found if one.rmse is not None]),
                "episodes": [_row(one) for one in found],
            }
            | _uncertainty(found)
            for policy, found in episodes.items()
        ],
        "paired": paired,
    }


def _uncertainty(episodes: Sequence[PolicyEpisode]) -> dict[str, Any]:
    found = explained_by_twin({one.condition: one.success for one in episodes})
    return {"uncertainty": asdict(found)} if found else {}


def _row(one: PolicyEpisode) -> dict[str, Any]:
    return {
        "condition": one.condition, "success": one.success, "seconds": one.seconds, "failure": one.failure,
        "share": one.share, "reason": one.reason, "rmse": one.rmse,
    } | ({"answers": one.answers} if one.answers else {})  # fmt: skip


def _answers(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many answers of a server came late, for the summary; empty for a policy of this process."""
    found = [row["answers"] for row in rows if row.get("answers")]
    count, late = (sum(one[name] for one in found) for name in ("count", "late"))
    mean = sum(one["count"] * one["milliseconds"] for one in found) / max(count, 1)
    return f", {late} of {count} answers late ({mean:.1f} ms on average)" if count else ""


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def summary_lines(data: Mapping[str, Any]) -> list[str]:
    """Return the lines that the command prints: one a policy, and one about their difference."""
    lines = []
    for one in data["policies"]:
        solved, count = sum(row["success"] for row in one["episodes"]), len(one["episodes"])
        rmse = "" if one["rmse"] is None else f", RMSE_norm {one['rmse']:.4f}"
        failures = Counter(row["failure"] for row in one["episodes"] if row["failure"])
        why = "".join(f", {name.replace('_', ' ')} {number}" for name, number in failures.most_common())
        lines.append(success_words(one["name"], solved, one, count) + f"{why}{rmse}{_answers(one['episodes'])}")
        if found := one.get("uncertainty"):
            lines.append(uncertainty_words(one["name"], found))
    if pair := data["paired"]:
        first, second = (one["name"] for one in data["policies"])
        lines.append(difference_words(first, second, pair, len(data["policies"][0]["episodes"])))
    return lines


def write_report(data: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write report.html. Raises StoreError."""
    policies = data["policies"]
    blocks: list[Any] = [Text(line, "result") for line in summary_lines(data)]
    blocks.append(
        Text(
            "All policies ran under the same conditions. Intervals: 95 %, Wilson; differences: Agresti and Min; "
            "p: McNemar's exact test, mid-p.",
            "note",
        )
    )
    blocks += [Heading("Failures"), Table(("Class", *(one["name"] for one in policies)), _failure_rows(policies))]
    blocks += [block for one in policies for block in _effect_blocks(one, conditions)]
    rows = [
        (row["id"], *(_outcome(one["episodes"][number]) for one in policies))
        for number, row in enumerate(conditions[:MAX_ROWS])
    ]
    blocks += [Heading("Conditions"), Table(("Id", *(one["name"] for one in policies)), rows)]
    write_text(path, report_page("Policies", blocks))


def _failure_rows(policies: Sequence[Mapping[str, Any]]) -> list[tuple]:
    counts = [Counter(row["failure"] for row in one["episodes"]) for one in policies]
    return [(text, *(count[name] for count in counts)) for name, text in CLASSES.items()]


def _effect_blocks(policy: Mapping[str, Any], conditions: Sequence[Mapping[str, Any]]) -> list[Any]:
    drawn = [number for number, row in enumerate(conditions) if not row["id"].endswith(AS_MEASURED)]
    names, values = factor_table([conditions[number] for number in drawn])
    success = np.array([policy["episodes"][number]["success"] for number in drawn], bool)
    found = effects(names, values, success) if names else []
    causes = [one for one in found if one.matters]
    if not causes:
        return []
    head = ("Factor", "Low", "Success", "High", "Success", "p")
    rows = [(e.factor, e.low_value, e.low_success, e.high_value, e.high_success, e.p) for e in causes]
    return [Heading(f"What the success of {policy['name']} depends on"), Table(head, rows)]


def _outcome(row: Mapping[str, Any]) -> str:
    return (
        f"solved in {row['seconds']:.1f} s" if row["success"] else (row["failure"] or row["reason"]).replace("_", " ")
    )
