"""Reading and editing programs in place: what a person wrote stays, but for the few characters that change."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.models.rules.aims import Aim

ROLES = {"on", "stacked", "inside", "in_row", "in_zone", "near", "away", "left_of", "right_of", "in_front_of", "behind"}
ROLES |= {"upright", "on_table", "at", "outside", "sorted_by", "count", "opened", "closed", "inside_part"}


def parse(source: str) -> ast.Module | None:
    """The program's tree; None where it is no Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None


def replaced(source: str, edits: Iterable[tuple[ast.AST, str]]) -> str:
    """The source with each node's text exchanged; nodes must not overlap."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    text = source.encode()
    spans = [(*_span(node, starts), new) for node, new in edits]
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new.encode() + text[end:]
    return text.decode()


def _span(node: ast.AST, starts: list[int]) -> tuple[int, int]:
    """First byte and the byte after the last."""
    first, last, column, end = (getattr(node, key) for key in ("lineno", "end_lineno", "col_offset", "end_col_offset"))
    return starts[first - 1] + column, starts[last - 1] + end


def calls(tree: ast.AST, *verbs: str) -> Iterator[ast.Call]:
    """Calls of methods by these names (`sim.scatter(...)`, `kit.on(...)`), in order."""
    made = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    found = [n for n in made if isinstance(n.func, ast.Attribute) and n.func.attr in verbs]
    yield from sorted(found, key=lambda n: (n.lineno, n.col_offset))


def verb(call: ast.Call) -> str:
    """`keep` of `sim.keep(...)`; empty for a call of a plain name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def owner(call: ast.Call) -> str:
    """`sim` of `sim.keep(...)`."""
    return call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""


def goals(tree: ast.AST) -> list[ast.Call]:
    """Every goal of the kit that the program makes, in order."""
    return [c for c in calls(tree, *ROLES) if owner(c) == "kit"]


def strings(node: ast.AST) -> list[ast.Constant]:
    """All texts that are written out below a node."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def names(call: ast.Call) -> tuple[str, ...]:
    """The texts among a call's arguments: the objects and zones it names."""
    return tuple(str(n.value) for arg in call.args for n in strings(arg))


def argument(call: ast.Call, name: str, index: int | None = None) -> ast.expr | None:
    """The argument passed by keyword, or at that position."""
    by_name = next((k.value for k in call.keywords if k.arg == name), None)
    return by_name or (call.args[index] if index is not None and index < len(call.args) else None)


def value(node: ast.AST | None) -> Any:
    """Of a literal, or None."""
    try:
        return ast.literal_eval(node) if node is not None else None  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError):
        return None


def with_argument(source: str, call: ast.Call, name: str, text: str, index: int | None = None) -> str:
    """The source with that argument set to `text`, put in as a keyword where it was not there."""
    now = argument(call, name, index)
    if now is not None:
        return replaced(source, [(now, text)])
    whole = ast.get_source_segment(source, call) or ""
    inside = whole[:-1].rstrip()
    joint = "" if inside.endswith("(") else " " if inside.endswith(",") else ", "
    return replaced(source, [(call, f"{inside}{joint}{name}={text})")])


def build(tree: ast.AST) -> ast.FunctionDef | None:
    """The function that makes the simulation."""
    return next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "build"), None)


def simulation_name(tree: ast.AST) -> str:
    """What the program calls its kit.Simulation."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and verb(node.value) == "Simulation":
            return node.targets[0].id if isinstance(node.targets[0], ast.Name) else "sim"
    return "sim"


def inserted(source: str, after: int, line: str) -> str:
    """The source with a line put after line number `after`, indented like it."""
    lines = source.splitlines(keepends=True)
    indent = lines[after - 1][: len(lines[after - 1]) - len(lines[after - 1].lstrip())]
    return "".join([*lines[:after], f"{indent}{line}\n", *lines[after:]])


def after_start(source: str, tree: ast.AST) -> int:
    """The line on which the simulation is made."""
    made = next(calls(tree, "Simulation"), None)
    return (made.end_lineno or made.lineno) if made else len(source.splitlines())


def without_statement(source: str, node: ast.AST, tree: ast.AST) -> str:
    """The source without the whole statement that holds a node."""
    holder = next(n for n in ast.walk(tree) if isinstance(n, ast.Expr | ast.Assign) and node in ast.walk(n))
    lines = source.splitlines(keepends=True)
    return "".join(lines[: holder.lineno - 1] + lines[(holder.end_lineno or holder.lineno) :])


def functions(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """By their names."""
    return {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def aims(simulation: str) -> tuple[Aim, ...]:
    """The goals of a program whose names are written out; stages by the calls of goal()."""
    tree = parse(simulation)
    if tree is None:
        return ()
    places = {
        t.id: n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    }
    made = {name for c in calls(tree, "add_container") for name in names(c)[:1]}
    found: list[Aim] = []
    mirrored = next((names(c) for c in calls(tree, "mirrored")), ())
    for stage, stage_call in enumerate(calls(tree, "goal")):
        for call in goals(stage_call):
            said, what = names(call), verb(call)
            if what == "at":
                spot = call.args[1] if len(call.args) > 1 else None
                spot = places.get(spot.id) if isinstance(spot, ast.Name) else spot
                other = [str(s.value) for s in strings(spot)] if spot is not None else []
                place = value(spot)
                image = bool(other) and other[0] == said[0] and said[0] in mirrored
                what, said = ("where", (*said[:1], *other[:1])) if other else ("", said)
                what, said = ("mirrored", mirrored) if image else (what, said)
                if isinstance(place, tuple) and len(place) == 2:
                    found.append(Aim("at", names(call)[:1], stage=stage, xy=(float(place[0]), float(place[1]))))
            if what and said:
                along = str(value(argument(call, "along", 1)) or "right") if what == "in_row" else ""
                if what == "in_row":
                    said = tuple(str(s.value) for s in strings(call.args[0]))
                aim = Aim(what, said, along, what == "inside" and said[-1] in made, stage)
                found += [aim] if aim not in found or what != "mirrored" else []
    return tuple(found)
