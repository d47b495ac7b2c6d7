"""Table 1 as people and programs read it: Markdown, CSV, JSON."""

import csv
import io
import math
from dataclasses import asdict, replace
from typing import Any

from pipeline.evaluation.matching import KIND_OF, Figures, Line, Table
from pipeline.matching.table import Row


def head(table: Table) -> str:
    """What the table is about, in a line."""
    model = f", model {table.model}" if table.model else ", no model"
    masks = "true masks" if table.masks == "true" else f"masks by {table.masks}"
    numbers = {"frame": table.frames, "object": table.objects, "asset": table.assets}
    counted = ", ".join(f"{number} {word}{'s' * (number != 1)}" for word, number in numbers.items())
    return f"{counted}, {masks}, encoder {table.encoder}{model}; 95 % intervals over frames"


def markdown(table: Table) -> list[str]:
    """Lines of a Markdown table, one for each matcher, under its head."""
    lines = [
        head(table),
        "",
        "| matcher | exact F1 | first / among five | category F1 | first / among five | no match kept | s | calls |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in table.lines:
        if one.unavailable or not (one.exact and one.category):
            lines.append(f"| {one.matcher} | not measured: it {one.unavailable} | | | | | | |")
            continue
        cells = [cell for figures in (one.exact, one.category) for cell in _cells(figures)]
        kept = "-" if math.isnan(one.exact.f1.null_kept) else f"{one.exact.f1.null_kept:.2f}"
        lines.append(f"| {' | '.join([one.matcher, *cells, kept, f'{one.seconds:.2f}', asked(one)])} |")
    return lines


def asked(line: Line) -> str:
    """ "50 calls, $0.12, 2 failed"; empty where no model was asked."""
    if line.matcher not in KIND_OF:
        return "-"
    parts = [f"{line.calls} calls", f"${line.usd:.2f}" if line.usd is not None else "cost unknown"]
    return ", ".join(parts + [f"{line.failed} failed: no match"] * bool(line.failed))


def _cells(figures: Figures) -> tuple[str, str]:
    one = figures.f1
    return f"{one.f1:.2f} ({one.low:.2f}-{one.high:.2f})", f"{figures.first:.2f} / {figures.five:.2f}"


def to_json(table: Table) -> dict[str, Any]:
    """All of it, every object's row included; what cannot be counted is null."""
    said = asdict(replace(table, rows={}))
    said["rows"] = {
        matcher: [_row(one) for one in rows] for matcher, rows in table.rows.items()
    }  # fmt: skip
    return _plain(said)


def _row(one: Row) -> dict[str, Any]:
    return {
        "frame": one.frame, "chosen": one.chosen, "ranked": list(one.ranked[:5]), "exact": sorted(one.exact),
        "verdict": one.verdict("exact"), "verdict_category": one.verdict("category"),
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def to_csv(table: Table) -> str:
    """One line for each matcher and way to count."""
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
