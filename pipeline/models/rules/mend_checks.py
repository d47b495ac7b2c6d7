"""Ways to mend checks.py, best first: one function at a time, the others stay as they are."""

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.models.rules import source, writer
from pipeline.models.rules.aims import read
from pipeline.models.rules.diagnosis import Fault

Mend = tuple[str, str]
"""A new source and one sentence on what changed."""

WORDS = [
    "position", "size", "top", "bottom", "radius", "yaw", "tilt", "height", "volume", "container", "name", "shape",
    "colour", "mass", "reward", "rewards", "times", "solved", "why", "start", "end", "path", "moved", "touching",
    "grasps", "events", "at_rest", "goals", "objects", "zones", "scene", "rollout", "reward_at_start", "state",
]  # fmt: skip
"""What the kit's objects and runs can be asked for."""
LARGEST = 0.06
"""The largest length a check's tolerance may be widened to, in metres."""
MATCH = {"is_solved": "solved", "final_reward": "reward", "pos": "position", "xyz": "position", "color": "colour"}


def mends(data: Mapping[str, Any], fault: Fault) -> Iterator[Mend]:
    """Ways to repair checks.py after that fault, the likeliest first; `data` is what the question holds."""
    checks = data["checks"]
    tree = source.parse(checks)
    fresh = _fresh(data)
    if tree is None:
        yield writer.checks_source(_aims(data)), "checks.py could not be read and is written anew"
        return
    if fault.kind in ("unreadable", "crash", "timeout"):
        yield from _broken(checks, tree, data, fault, fresh)
    elif fault.kind == "contradiction":
        for name in fault.checks:
            line = next((c.get("line") for c in data["report"]["checks"] if c["name"] == name), None)
            yield from _contradiction(checks, tree, name, line, fresh)
        yield from _foreign(checks, tree, data, fault, fresh)
    elif fault.kind == "lax_checks":
        yield from _asking(checks, tree, data)
    yield from _telling(checks, tree)
    if "check_oracle_solves_it" not in source.functions(tree):
        yield _with(checks, fresh["check_oracle_solves_it"]), "a check now asks that the oracle reaches every goal"
    if fault.kind in ("unreadable", "crash"):
        yield writer.checks_source(_aims(data)), "checks.py is written anew from the goals"


def _aims(data: Mapping[str, Any]):
    return source.aims(data["simulation"]) or read(data["task"].get("goals") or ()) or ()


def _fresh(data: Mapping[str, Any]) -> dict[str, str]:
    """The functions the rules would write for the goals of this simulation, by name."""
    return {name: text.strip("\n") + "\n" for name, text in writer.checks(_aims(data)).items()}


def _broken(
    checks: str, tree: ast.Module, data: Mapping[str, Any], fault: Fault, fresh: dict[str, str]
) -> Iterator[Mend]:
    functions = source.functions(tree)
    line = next((int(n) for n in re.findall(r"checks\.py:(\d+)", fault.reason)), None)
    name = next(iter(fault.checks), None) or _function_at(tree, line)
    yield from _misspelt(checks, tree, data, fault.reason, line)
    if missing := re.search(r"name '(math|numpy|np|kit)' is not defined", fault.reason):
        module = "import numpy as np" if missing[1] == "np" else f"import {missing[1]}"
        yield f"{module}\n\n{checks}", f"checks.py now says {module}"
    if name in functions and name in fresh and _text(checks, functions[name]) != fresh[name].strip():
        yield _swapped(checks, functions[name], fresh[name]), f"{name} is written anew: {fault.reason}"
    gone = _gone(data)
    for function in functions.values():
        if lost := gone & {str(s.value) for s in source.strings(function)}:
            again = fresh.get(function.name)
            if again and not any(f'"{n}"' in again for n in lost):
                yield (
                    _swapped(checks, function, again),
                    f"{function.name} no longer asks for {', '.join(sorted(lost))}, which is left out",
                )
            else:
                yield (
                    _swapped(checks, function, ""),
                    f"{function.name} goes: {', '.join(sorted(lost))} is left out of the simulation",
                )
    if fault.kind == "timeout" and name in functions and len(functions) > 1:
        yield _swapped(checks, functions[name], ""), f"{name} goes: {fault.reason}"
    if fault.kind == "unreadable":
        if line and (statement := _statement_at(tree, line)) is not None:
            yield (
                source.replaced(checks, [(statement, "pass")] if _inside(tree, statement) else [(statement, "")]),
                f"line {line} goes: {fault.reason}",
            )
        if name in functions and len(functions) > 1:
            yield _swapped(checks, functions[name], ""), f"{name} goes: {fault.reason}"


def _misspelt(checks: str, tree: ast.Module, data: Mapping[str, Any], crash: str, line: int | None) -> Iterator[Mend]:
    known = [o["name"] for o in data["scene"]["objects"]]
    if missing := re.search(r"there is no (?:object|zone) '(\w+)'; there are: ([\w, ]+)", crash):
        near = difflib.get_close_matches(missing[1], [n for n in re.split(r", ", missing[2]) if n], 1, 0.6)
        spots = [s for s in source.strings(tree) if s.value == missing[1]]
        if near and spots and missing[1] not in known:
            yield (
                source.replaced(checks, [(s, f'"{near[0]}"') for s in spots]),
                f"{missing[1]} is called {near[0]} here",
            )
    if missing := re.search(r"has no attribute '(\w+)'", crash):
        near = [MATCH[missing[1]]] if missing[1] in MATCH else difflib.get_close_matches(missing[1], WORDS, 1, 0.6)
        spots = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == missing[1]]
        if near and spots:
            edits = [(n, f"{ast.get_source_segment(checks, n.value)}.{near[0]}") for n in spots]
            yield source.replaced(checks, edits), f".{missing[1]} is called .{near[0]}"
    if missing := re.search(r"name '(\w+)' is not defined", crash):
        function = next(
            (f for f in source.functions(tree).values() if line and f.lineno <= line <= (f.end_lineno or 0)), tree
        )
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for n in ast.walk(function) if isinstance(n, ast.FunctionDef) for a in n.args.args}
        near = difflib.get_close_matches(missing[1], sorted(stored), 1, 0.5)
        spots = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == missing[1]]
        if near and spots:
            yield source.replaced(checks, [(n, near[0]) for n in spots]), f"{missing[1]} is called {near[0]}"


def _contradiction(checks: str, tree: ast.Module, name: str, line: int | None, fresh: dict[str, str]) -> Iterator[Mend]:
    function = source.functions(tree).get(name)
    if function is None:
        return
    if name in fresh and _text(checks, function) != fresh[name].strip():
        yield _swapped(checks, function, fresh[name]), f"{name} contradicts the goals, which hold, and is written anew"
        return
    asserts = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Assert) and (line is None or n.lineno <= line <= (n.end_lineno or n.lineno))
    ]
    for node in asserts:
        yield from _flipped(checks, node, name, ("reward", "solved", "met", "touching", "at_rest", "contains"))
        yield from _widened(checks, node, name)


def _foreign(
    checks: str, tree: ast.Module, data: Mapping[str, Any], fault: Fault, fresh: dict[str, str]
) -> Iterator[Mend]:
    """A check that the task does not ask for, and that fails where all it asks for holds, goes.

    Only where the simulation's goals are the task's, and every check that these ask for is there and passes.
    """
    meant, functions = read(data["task"].get("goals") or ()), source.functions(tree)
    passed = {c["name"] for c in data["report"]["checks"] if c["passed"]}
    if not meant or set(meant) != set(source.aims(data["simulation"])) or not set(fresh) <= passed:
        return
    for name in fault.checks:
        if name in functions and name not in fresh:
            yield _swapped(checks, functions[name], ""), f"{name} goes: the task does not ask for it ({fault.reason})"


def _flipped(checks: str, node: ast.Assert, name: str, words: tuple[str, ...]) -> Iterator[Mend]:
    """Asks for what holds, where an assertion asks for the opposite of the goals."""
    asked = {n.attr for n in ast.walk(node.test) if isinstance(n, ast.Attribute)}
    test = node.test
    if not asked & set(words):
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        text = ast.get_source_segment(checks, test.operand) or ""
        yield source.replaced(checks, [(test, text)]), f"{name} asked for the opposite of the goals: its `not` is gone"
    turned = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<=", ast.Eq: "!=", ast.NotEq: "=="}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in turned:
        left, right = (ast.get_source_segment(checks, n) or "" for n in (test.left, test.comparators[0]))
        text = f"{left} {turned[type(test.ops[0])]} {right}"
        yield (
            source.replaced(checks, [(test, text)]),
            f"{name} asked for the opposite of the goals: it now asks `{text}`",
        )


def _widened(checks: str, node: ast.Assert, name: str) -> Iterator[Mend]:
    """A small number on the smaller side of a comparison, three times as large."""
    for compare in [n for n in ast.walk(node.test) if isinstance(n, ast.Compare) and len(n.ops) == 1]:
        small = compare.comparators[0] if isinstance(compare.ops[0], ast.Lt | ast.LtE) else compare.left
        number = source.value(small)
        if isinstance(number, int | float) and 0 <= number < LARGEST:
            wide = min(LARGEST, max(3 * number, 0.01))
            yield (
                source.replaced(checks, [(small, f"{wide:.3g}")]),
                f"{name} allows {wide * 100:.1f} cm instead of {number * 100:.2g} cm",
            )


def _asking(checks: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Mend]:
    """Every check that the goals ask for and that is not there."""
    wanted = writer.checks(read(data["task"].get("goals") or ()) or _aims(data))
    missing = {name: text for name, text in wanted.items() if name not in source.functions(tree)}
    if missing:
        more = "\n\n\n".join(text.strip() for text in missing.values())
        done = checks.rstrip("\n") + f"\n\n\n{more}\n"
        done = f"import math\n\n\n{done}" if "math." in more and not re.search(r"^import math", done, re.M) else done
        yield done, "what the goals mean is now measured: " + ", ".join(missing)


def _telling(checks: str, tree: ast.Module) -> Iterator[Mend]:
    """Every bare assertion about the run says what the oracle says."""
    edits: list[tuple[ast.AST, str]] = []
    for function in source.functions(tree).values():
        made = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
        rolled = [n for n in made if isinstance(n.value, ast.Call) and source.verb(n.value) == "rollout"]
        runs = [t.id for n in rolled for t in n.targets if isinstance(t, ast.Name)]
        sim = function.args.args[0].arg if function.args.args else "sim"
        run = next(iter(runs), f"{sim}.rollout()")
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and node.msg is None:
                test = ast.get_source_segment(checks, node.test) or ""
                edits.append((node, f'assert {test}, f"reward {{{run}.reward:.2f}}: {{{run}.why}}"'))
    if edits:
        yield source.replaced(checks, edits), "assertions that said nothing now say what the oracle says"


def _gone(data: Mapping[str, Any]) -> set[str]:
    """Objects of the photograph that the simulation leaves out."""
    tree = source.parse(data["simulation"])
    every = {o["name"] for o in data["scene"]["objects"]}
    if tree is None:
        return set()
    kept = [set(source.names(c)) for c in source.calls(tree, "keep")]
    removed = {n for c in source.calls(tree, "remove") for n in source.names(c)}
    return removed | (every - set.intersection(*kept) if kept else set())


def _function_at(tree: ast.Module, line: int | None) -> str:
    return next((n for n, f in source.functions(tree).items() if line and f.lineno <= line <= (f.end_lineno or 0)), "")


def _statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    simple = (ast.Expr, ast.Assign, ast.Import, ast.ImportFrom, ast.AugAssign, ast.Global, ast.Nonlocal)
    return next((n for n in ast.walk(tree) if isinstance(n, simple) and n.lineno == line), None)


def _inside(tree: ast.Module, node: ast.AST) -> bool:
    return node not in tree.body


def _text(checks: str, function: ast.FunctionDef) -> str:
    return (ast.get_source_segment(checks, function) or "").strip()


def _swapped(checks: str, function: ast.FunctionDef, text: str) -> str:
    """The source with one function exchanged, or gone."""
    done = source.replaced(checks, [(function, text.strip())])
    done = re.sub(r"\n{4,}", "\n\n\n", done).strip("\n") + "\n"
    if "math." in text and not re.search(r"^import math", done, re.M):
        done = "import math\n\n\n" + done
    return done


def _with(checks: str, function: str) -> str:
    return checks.rstrip("\n") + "\n\n\n" + function
