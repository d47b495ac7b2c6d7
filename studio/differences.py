"""What differs between two texts, and between two programs, as the two columns of a diff."""

import difflib

from pipeline.simulation import Program


def changes(before: Program, after: Program) -> dict[str, list]:
    """Per file that differs: rows of [kind, left number, left, right number, right] for the two columns of a diff."""
    pairs = {"simulation.py": (before.simulation, after.simulation), "checks.py": (before.checks, after.checks)}
    lines = {file: (left.splitlines(), right.splitlines()) for file, (left, right) in pairs.items()}
    return {file: diff(left, right) for file, (left, right) in lines.items() if left != right}


def diff(left: list[str], right: list[str], context: int = 3) -> list:
    """Only what changed and `context` lines around it; a row "gap" stands for what is left out."""
    rows: list = []
    for group in difflib.SequenceMatcher(None, left, right, autojunk=False).get_grouped_opcodes(context):
        rows.append(["gap", None, f"line {group[0][3] + 1}", None, ""])
        for kind, a0, a1, b0, b1 in group:
            for i in range(max(a1 - a0, b1 - b0)):
                a, b = (a0 + i if a0 + i < a1 else None), (b0 + i if b0 + i < b1 else None)
                texts = (None if a is None else left[a]), (None if b is None else right[b])
                numbers = (None if a is None else a + 1), (None if b is None else b + 1)
                same = "same" if kind == "equal" else "change"
                rows.append([same, numbers[0], texts[0], numbers[1], texts[1]])
    return rows
