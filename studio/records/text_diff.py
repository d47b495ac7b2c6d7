"""Differences of two texts, and of two programs, as the rows of a diff in two columns."""

import difflib

from pipeline.simulation import Program
from studio.texts import t


def program_diff(before: Program, after: Program) -> dict[str, list]:
    """Return the rows of `diff_rows` for each file that differs, by file name."""
    pairs = {"simulation.py": (before.simulation, after.simulation), "checks.py": (before.checks, after.checks)}
    lines = {file: (left.splitlines(), right.splitlines()) for file, (left, right) in pairs.items()}
    return {file: diff_rows(left, right) for file, (left, right) in lines.items() if left != right}


def diff_rows(left: list[str], right: list[str], context: int = 3) -> list:
    """Return rows [kind, left number, left line, right number, right line] of the changes and the lines around them.

    kind is "change", "same", or "gap" for lines that are left out.
    """
    rows: list = []
    for group in difflib.SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(context):
        rows.append(["gap", None, t("line {number}", number=group[0][3] + 1), None, ""])
        for kind, a0, a1, b0, b1 in group:
            for i in range(max(a1 - a0, b1 - b0)):
                row_kind = "same" if kind == "equal" else "change"
                rows.append([row_kind, *_numbered(left, a0 + i, a1), *_numbered(right, b0 + i, b1)])
    return rows


def _numbered(lines: list[str], index: int, end: int) -> tuple[int | None, str | None]:
    """Return the line's number, from 1, and the line; None for both at or behind `end`."""
    return (index + 1, lines[index]) if index < end else (None, None)
