"""The ablation as a table in Markdown, HTML and CSV, with intervals, tests and an interactive chart."""

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pipeline.evaluation.ablation import ROWS, AblationStep, AblationTrial, JudgedProposal
from pipeline.evaluation.significance import GroupTest, compare_groups, mean_interval
from pipeline.report import Plot, Table, Text, report_page

HEADS = (
    "row", "tasks", "done", "crashed", "reward, crashed left out", "reward, crashed count 0", "repairs of simulation",
    "repairs of checks", "scene found by the judge", "GRS (GPT-4o)",
)  # fmt: skip
SERIES = {"crashed runs left out": "reward_without_crashed", "crashed runs count 0": "reward_with_crashed"}


def summary(steps: Sequence[AblationStep]) -> list[dict[str, Any]]:
    """Return one row for each mode: rewards both ways with 95 % intervals, mean number of repairs, the judge's share.

    Shares and rewards without any value are None.
    """
    trials = [one for one in steps if isinstance(one, AblationTrial)]
    judged = [one for one in steps if isinstance(one, JudgedProposal)]
    modes = [name for name in ROWS if any(one.mode == name for one in trials)]
    return [_row(mode, [t for t in trials if t.mode == mode], judged) for mode in modes]


def significance(steps: Sequence[AblationStep]) -> GroupTest | None:
    """Return the tests whether the rows' rewards differ, crashed runs counted as 0."""
    groups: dict[str, list[float]] = {}
    for one in steps:
        if isinstance(one, AblationTrial):
            groups.setdefault(one.mode, []).append(0.0 if one.crashed else one.reward)
    return compare_groups(groups)


def write_ablation(steps: Sequence[AblationStep], folder: Path, source: str, note: str = "") -> list[dict[str, Any]]:
    """Write ablation.csv (the table), trials.csv, .json, .md and .html (table and chart); return the table's rows.

    `note` is a sentence for below the table, such as the cost.
    """
    rows, tests = summary(steps), significance(steps)
    trials = [asdict(one) for one in steps if isinstance(one, AblationTrial)]
    folder.mkdir(parents=True, exist_ok=True)
    _write_csv(folder / "ablation.csv", rows)
    _write_csv(folder / "trials.csv", trials)
    report = {"source": source, "summary": rows, "significance": tests and asdict(tests), "note": note}
    report |= {"trials": trials, "judged": [asdict(one) for one in steps if isinstance(one, JudgedProposal)]}
    (folder / "ablation.json").write_text(json.dumps(report, indent=1, ensure_ascii=False), "utf-8")
    below = [sentence for sentence in (tests.sentence if tests else "", note) if sentence]
    text = "\n\n".join([f"Programs by {source}.", markdown(rows), *below])
    (folder / "ablation.md").write_text(text + "\n", "utf-8")
    (folder / "ablation.html").write_text(_page(rows, source, below), "utf-8")
    return rows


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the summary as a Markdown table, with the rewards of the paper."""
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
    return "\n".join(lines + ["| " + " | ".join(table_cells(row)) + " |" for row in rows])


def table_cells(row: Mapping[str, Any]) -> list[str]:
    """Return a row of the summary as texts, in the order of HEADS."""
    cells = [ROWS[row["mode"]].title, str(row["tasks"]), f"{row['done']:.0%}", str(row["crashed"])]
    cells += [_with_interval(row, key) for key in SERIES.values()]
    cells += [f"{row[key]:.2f}" for key in ("of_simulation", "of_checks")]
    judge = "-" if row["judged"] is None else f"{row['judged']:.0%} of {row['judged_tasks']}"
    paper = ROWS[row["mode"]].paper
    return [*cells, judge, "" if paper is None else f"{paper:.2f}"]


def _with_interval(row: Mapping[str, Any], key: str) -> str:
    return "-" if row[key] is None else f"{row[key]:.2f} ({row[f'{key}_low']:.2f}-{row[f'{key}_high']:.2f})"


def _page(rows: Sequence[Mapping[str, Any]], source: str, below: Sequence[str]) -> str:
    """Return a page with table and chart that needs no network."""
    blocks = [Text(f"Programs by {source}."), Table(HEADS, [table_cells(row) for row in rows]), *map(Text, below)]
    return report_page("Ablation of the router", [*blocks, Plot([bar_chart(rows, source)])])


def bar_chart(rows: Sequence[Mapping[str, Any]], source: str) -> go.Figure:
    """Return a figure with a group of bars for each row: the reward counted both ways, with its 95 % interval."""
    figure, titles = go.Figure(), [ROWS[row["mode"]].title for row in rows]
    for label, key in SERIES.items():
        mean, low, high = (np.array([row[f"{key}{end}"] for row in rows], float) for end in ("", "_low", "_high"))
        errors = {"type": "data", "symmetric": False, "array": high - mean, "arrayminus": mean - low}
        figure.add_bar(name=label, x=titles, y=mean, texttemplate="%{y:.2f}", textposition="outside", error_y=errors)
    title = f"Mean oracle reward with 95 % intervals, programs by {source}"
    figure.update_layout(title=title, barmode="group", template="plotly_white", legend={"orientation": "h"})
    figure.update_yaxes(range=[0, 1.1])
    return figure


def _row(mode: str, trials: Sequence[AblationTrial], judged: Sequence[JudgedProposal]) -> dict[str, Any]:
    has_blind = any(not one.pictures for one in judged)
    pictures = ROWS[mode].pictures or not has_blind
    verdicts = [float(one.found) for one in judged if one.pictures == pictures]
    return {
        "mode": mode,
        "tasks": len(trials),
        "done": _mean([float(t.done) for t in trials]),
        "crashed": sum(t.crashed for t in trials),
        **_score("reward_without_crashed", [t.reward for t in trials if not t.crashed]),
        **_score("reward_with_crashed", [0.0 if t.crashed else t.reward for t in trials]),
        "of_simulation": _mean([float(t.of_simulation) for t in trials]),
        "of_checks": _mean([float(t.of_checks) for t in trials]),
        "seconds": _mean([t.seconds for t in trials]),
        "judged": _mean(verdicts),
        "judged_tasks": len(verdicts),
    }


def _score(name: str, values: Sequence[float]) -> dict[str, float | None]:
    low, high = mean_interval(values) if values else (None, None)
    return {name: _mean(values), f"{name}_low": low, f"{name}_high": high}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _write_csv(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as opened:
        table = csv.DictWriter(opened, fieldnames=list(rows[0]) if rows else ["mode"])
        table.writeheader()
        table.writerows(rows)
