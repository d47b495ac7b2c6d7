"""Programs as text: whether two are the same, and what stands on a line."""

import ast
import re

from pipeline.simulation.program import Program


def same(one: Program, other: Program) -> bool:
    """Whether two programs say the same, whatever their comments and layout."""
    return _bones(one.simulation) == _bones(other.simulation) and _bones(one.checks) == _bones(other.checks)


def line_of(program: Program, place: str) -> str:
    """The text of the line that a sentence names ("simulation.py:12 NameError ..."); empty where it names none."""
    found = re.search(r"(simulation|checks)\.py:(\d+)", place)
    lines = getattr(program, found[1]).splitlines() if found else []
    number = int(found[2]) if found else 0
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _bones(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
