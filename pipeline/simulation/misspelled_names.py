"""Names of the kit that a program misspells: `sim.gaol`, `kit.onn`."""

import ast
import re
from collections.abc import Iterator
from difflib import get_close_matches

from pipeline.simulation import kit

OWNERS = {
    "kit": frozenset(kit.__all__),
    "sim": frozenset(n for n in dir(kit.Simulation) if n[0] != "_") | {"scene", "seed"},
}
"""What there is of the module `kit`, and of a simulation, which programs call `sim`."""


def misspelled_names(tree: ast.AST) -> Iterator[tuple[ast.Attribute, str]]:
    """Yield the places where a program names what the kit lacks, each with the one name that is close to it."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in OWNERS and name not in OWNERS[owner]:
                if near := get_close_matches(name, sorted(OWNERS[owner]), n=1, cutoff=0.6):
                    yield node, near[0]


def with_names_corrected(source: str) -> tuple[str, list[str]]:
    """Return the source with misspelled names corrected, and a phrase for each; as it is if it cannot be read."""
    try:
        found = list(misspelled_names(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source, []
    lines, changes = re.split(r"(?<=\n)|(?<=\r)(?!\n)", source), []  # as Python counts them
    for node, name in sorted(found, key=lambda one: (one[0].end_lineno or 0, one[0].end_col_offset or 0), reverse=True):
        row, end = (node.end_lineno or 1) - 1, node.end_col_offset or 0
        line = lines[row].encode()  # columns are counted in bytes
        if not line[:end].endswith(node.attr.encode()):  # written with other characters that Python takes for these
            continue
        lines[row] = (line[: end - len(node.attr.encode())] + name.encode() + line[end:]).decode()
        changes.append(f"{ast.unparse(node)} is {name}")
    return "".join(lines), changes[::-1]
