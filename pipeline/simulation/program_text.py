"""Programs as text: compare two, and find the line that a message names."""

import ast
import re

from pipeline.simulation.program import Program


def same_program(one: Program, other: Program) -> bool:
    """Return whether two programs are equal apart from comments and layout."""
    pairs = ((one.simulation, other.simulation), (one.checks, other.checks))
    return all(_syntax_tree(a) == _syntax_tree(b) for a, b in pairs)


def source_line(program: Program, place: str) -> str:
    """Return the line that a message names ("simulation.py:12 NameError ..."); empty where it names none."""
    found = re.search(r"(simulation|checks)\.py:(\d+)", place)
    lines = getattr(program, found[1]).splitlines() if found else []
    number = int(found[2]) if found else 0
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _syntax_tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
