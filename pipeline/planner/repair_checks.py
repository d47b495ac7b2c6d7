"""Repairs of checks.py, likeliest first: one function at a time, the others stay as they are."""

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.planner import program_writer, source_edits
from pipeline.planner.diagnosis import Diagnosis, is_confirmed, leaves_the_order_open
from pipeline.planner.goals import stated_goals
from pipeline.planner.source_edits import Repair
from pipeline.simulation.goals.spec import PlannedGoal

ATTRIBUTES = [
    "position", "size", "top", "bottom", "radius", "yaw", "tilt", "height", "volume", "container", "name", "shape",
    "colour", "mass", "reward", "rewards", "times", "solved", "why", "start", "end", "path", "moved", "touching",
    "grasps", "events", "at_rest", "goals", "objects", "zones", "scene", "rollout", "reward_at_start", "state",
]  # fmt: skip
"""Attributes of the kit's objects, runs and simulations."""
MAX_TOLERANCE = 0.06
"""Largest length to which a check's tolerance may be widened, in metres."""
USUAL_NAMES = {"is_solved": "solved", "final_reward": "reward", "pos": "position", "xyz": "position", "color": "colour"}
"""Attributes of other simulators, and what the kit calls them."""


def repairs(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of checks.py, likeliest first; `data` is the content of the question."""
    checks = data["checks"]
    tree = source_edits.parse(checks)
    expected = _expected_checks(data)
    if tree is None:
        yield program_writer.checks_source(_goals(data)), "checks.py could not be read and is written again"
        return
    if diagnosis.kind in ("unreadable", "crash", "timeout"):
        yield from _after_crash(checks, tree, data, diagnosis, expected)
    elif diagnosis.kind == "contradiction":
        for name in diagnosis.checks:
            line = next((c.get("line") for c in data["report"]["checks"] if c["name"] == name), None)
            yield from _resolve_contradiction(checks, tree, name, line, expected)
        yield from _remove_unrelated(checks, tree, data, diagnosis, expected)
    elif diagnosis.kind == "lax_checks":
        yield from _add_missing(checks, tree, data)
        yield from _replace_lax(checks, tree, data)
    yield from _add_messages(checks, tree)
    if "check_oracle_solves_it" not in source_edits.functions(tree):
        yield (
            _appended(checks, expected["check_oracle_solves_it"]),
            "a check now requires that the oracle reaches every goal",
        )
    if diagnosis.kind in ("unreadable", "crash", "lax_checks") or is_confirmed(data["report"]):
        yield program_writer.checks_source(_goals(data)), "checks.py is written again from the goals"


def _goals(data: Mapping[str, Any]) -> tuple[PlannedGoal, ...]:
    """Return the goals of the simulation, else of the task; the task's where the simulation does what it asks.

    Where the task's words leave an order open, it is the simulation's.
    """
    sources = source_edits.planned_goals(data["simulation"]), stated_goals(data)
    report = data["report"]
    return next(
        filter(None, reversed(sources) if is_confirmed(report) and not leaves_the_order_open(report) else sources), ()
    )


def _expected_checks(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the functions that the planner would write for the goals of this simulation, by name."""
    return {name: text.strip("\n") + "\n" for name, text in program_writer.check_functions(_goals(data)).items()}


def _after_crash(
    checks: str, tree: ast.Module, data: Mapping[str, Any], diagnosis: Diagnosis, expected: dict[str, str]
) -> Iterator[Repair]:
    functions = source_edits.functions(tree)
    line = next((int(n) for n in re.findall(r"checks\.py:(\d+)", diagnosis.reason)), None)
    name = next(iter(diagnosis.checks), None) or _function_at(tree, line)
    yield from _correct_names(checks, tree, data, diagnosis.reason, line)
    if missing := re.search(r"name '(math|numpy|np|kit)' is not defined", diagnosis.reason):
        module = "import numpy as np" if missing[1] == "np" else f"import {missing[1]}"
        yield f"{module}\n\n{checks}", f"checks.py now says {module}"
    if name in functions and name in expected and _text(checks, functions[name]) != expected[name].strip():
        yield _exchanged(checks, functions[name], expected[name]), f"{name} is written again: {diagnosis.reason}"
    left_out = _left_out(data)
    for function in functions.values():
        if lacking := left_out & {str(s.value) for s in source_edits.strings(function)}:
            replacement = expected.get(function.name)
            if replacement and not any(f'"{n}"' in replacement for n in lacking):
                yield (
                    _exchanged(checks, function, replacement),
                    f"{function.name} no longer needs {', '.join(sorted(lacking))}, which is left out",
                )
            else:
                yield (
                    _exchanged(checks, function, ""),
                    f"{function.name} is removed: {', '.join(sorted(lacking))} is left out of the simulation",
                )
    if diagnosis.kind == "timeout" and name in functions and len(functions) > 1:
        yield _exchanged(checks, functions[name], ""), f"{name} is removed: {diagnosis.reason}"
    if diagnosis.kind == "unreadable":
        if line and (statement := _statement_at(tree, line)) is not None:
            yield (
                source_edits.replaced(
                    checks, [(statement, "pass")] if _is_nested(tree, statement) else [(statement, "")]
                ),
                f"line {line} is removed: {diagnosis.reason}",
            )
        if name in functions and len(functions) > 1:
            yield _exchanged(checks, functions[name], ""), f"{name} is removed: {diagnosis.reason}"


def _correct_names(
    checks: str, tree: ast.Module, data: Mapping[str, Any], crash: str, line: int | None
) -> Iterator[Repair]:
    present = [o["name"] for o in data["scene"]["objects"]]
    if missing := re.search(r"there is no (?:object|zone) '(\w+)'; there are: ([\w, ]+)", crash):
        close = difflib.get_close_matches(missing[1], [n for n in re.split(r", ", missing[2]) if n], 1, 0.6)
        uses = [s for s in source_edits.strings(tree) if s.value == missing[1]]
        if close and uses and missing[1] not in present:
            yield (
                source_edits.replaced(checks, [(s, f'"{close[0]}"') for s in uses]),
                f"{missing[1]} is called {close[0]} here",
            )
    if missing := re.search(r"has no attribute '(\w+)'", crash):
        close = (
            [USUAL_NAMES[missing[1]]]
            if missing[1] in USUAL_NAMES
            else difflib.get_close_matches(missing[1], ATTRIBUTES, 1, 0.6)
        )
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == missing[1]]
        if close and uses:
            edits = [(n, f"{ast.get_source_segment(checks, n.value)}.{close[0]}") for n in uses]
            yield source_edits.replaced(checks, edits), f".{missing[1]} is called .{close[0]}"
    if missing := re.search(r"name '(\w+)' is not defined", crash):
        function = next(
            (f for f in source_edits.functions(tree).values() if line and f.lineno <= line <= (f.end_lineno or 0)), tree
        )
        stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for n in ast.walk(function) if isinstance(n, ast.FunctionDef) for a in n.args.args}
        close = difflib.get_close_matches(missing[1], sorted(stored), 1, 0.5)
        uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == missing[1]]
        if close and uses:
            yield source_edits.replaced(checks, [(n, close[0]) for n in uses]), f"{missing[1]} is called {close[0]}"


def _resolve_contradiction(
    checks: str, tree: ast.Module, name: str, line: int | None, expected: dict[str, str]
) -> Iterator[Repair]:
    function = source_edits.functions(tree).get(name)
    if function is None:
        return
    if name in expected and _text(checks, function) != expected[name].strip():
        yield (
            _exchanged(checks, function, expected[name]),
            f"{name} contradicts the goals, which hold, and is written again",
        )
        return
    asserts = [
        n
        for n in ast.walk(function)
        if isinstance(n, ast.Assert) and (line is None or n.lineno <= line <= (n.end_lineno or n.lineno))
    ]
    for node in asserts:
        yield from _reverse(checks, node, name, ("reward", "solved", "met", "touching", "at_rest", "contains"))
        yield from _widen(checks, node, name)


def _remove_unrelated(
    checks: str, tree: ast.Module, data: Mapping[str, Any], diagnosis: Diagnosis, expected: dict[str, str]
) -> Iterator[Repair]:
    """Remove a failing check that the task does not need.

    Only where the simulation's goals are the task's, and every check that these need is there and passes.
    """
    wanted, functions = stated_goals(data), source_edits.functions(tree)
    passed = {c["name"] for c in data["report"]["checks"] if c["passed"]}
    same = is_confirmed(data["report"]) or set(wanted or ()) == set(source_edits.planned_goals(data["simulation"]))
    if not wanted or not same or not set(expected) <= passed:
        return
    for name in diagnosis.checks:
        if name in functions and name not in expected:
            yield (
                _exchanged(checks, functions[name], ""),
                f"{name} is removed: the task does not need it ({diagnosis.reason})",
            )


def _reverse(checks: str, node: ast.Assert, name: str, words: tuple[str, ...]) -> Iterator[Repair]:
    """Reverse an assertion that contradicts the goals."""
    attributes = {n.attr for n in ast.walk(node.test) if isinstance(n, ast.Attribute)}
    test = node.test
    if not attributes & set(words):
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        text = ast.get_source_segment(checks, test.operand) or ""
        yield (
            source_edits.replaced(checks, [(test, text)]),
            f"{name} asserted the opposite of the goals: its `not` is removed",
        )
    reversed_operators = {ast.Lt: ">", ast.LtE: ">=", ast.Gt: "<", ast.GtE: "<=", ast.Eq: "!=", ast.NotEq: "=="}
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in reversed_operators:
        left, right = (ast.get_source_segment(checks, n) or "" for n in (test.left, test.comparators[0]))
        text = f"{left} {reversed_operators[type(test.ops[0])]} {right}"
        yield (
            source_edits.replaced(checks, [(test, text)]),
            f"{name} asserted the opposite of the goals: it now asserts `{text}`",
        )


def _widen(checks: str, node: ast.Assert, name: str) -> Iterator[Repair]:
    """Make a small number on the smaller side of a comparison three times as large."""
    for compare in [n for n in ast.walk(node.test) if isinstance(n, ast.Compare) and len(n.ops) == 1]:
        small = compare.comparators[0] if isinstance(compare.ops[0], ast.Lt | ast.LtE) else compare.left
        number = source_edits.value(small)
        if isinstance(number, int | float) and 0 <= number < MAX_TOLERANCE:
            wide = min(MAX_TOLERANCE, max(3 * number, 0.01))
            yield (
                source_edits.replaced(checks, [(small, f"{wide:.3g}")]),
                f"{name} allows {wide * 100:.1f} cm instead of {number * 100:.2g} cm",
            )


def _add_missing(checks: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Append every check that the goals need and that is not there."""
    wanted = program_writer.check_functions(stated_goals(data) or _goals(data))
    missing = {name: text for name, text in wanted.items() if name not in source_edits.functions(tree)}
    if missing:
        more = "\n\n\n".join(text.strip() for text in missing.values())
        source = _with_math(checks.rstrip("\n") + f"\n\n\n{more}\n")
        yield source, "the goals are now measured: " + ", ".join(missing)


def _replace_lax(checks: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Write every check again that bears the name of one of the task's goals and measures something else."""
    wanted = program_writer.check_functions(stated_goals(data) or _goals(data))
    differing = {
        name: function
        for name, function in source_edits.functions(tree).items()
        if name in wanted and _text(checks, function) != wanted[name].strip()
    }
    if differing:
        source = source_edits.replaced(
            checks, [(function, wanted[name].strip()) for name, function in differing.items()]
        )
        source = _with_math(source)
        yield source, "these pass although the goals are missed, and are written again: " + ", ".join(differing)


def _add_messages(checks: str, tree: ast.Module) -> Iterator[Repair]:
    """Give every assertion without a message the oracle's reason."""
    edits: list[tuple[ast.AST, str]] = []
    for function in source_edits.functions(tree).values():
        assignments = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)]
        rolled = [
            n for n in assignments if isinstance(n.value, ast.Call) and source_edits.method_name(n.value) == "rollout"
        ]
        runs = [t.id for n in rolled for t in n.targets if isinstance(t, ast.Name)]
        sim = function.args.args[0].arg if function.args.args else "sim"
        run = next(iter(runs), f"{sim}.rollout()")
        for node in ast.walk(function):
            if isinstance(node, ast.Assert) and node.msg is None:
                test = ast.get_source_segment(checks, node.test) or ""
                edits.append((node, f'assert {test}, f"reward {{{run}.reward:.2f}}: {{{run}.why}}"'))
    if edits:
        yield source_edits.replaced(checks, edits), "assertions without a message now give the oracle's reason"


def _left_out(data: Mapping[str, Any]) -> set[str]:
    """Return the objects of the photograph that the simulation leaves out."""
    tree = source_edits.parse(data["simulation"])
    every = {o["name"] for o in data["scene"]["objects"]}
    if tree is None:
        return set()
    keep_calls = [set(source_edits.text_arguments(c)) for c in source_edits.calls(tree, "keep")]
    removed = {n for c in source_edits.calls(tree, "remove") for n in source_edits.text_arguments(c)}
    return removed | (every - set.intersection(*keep_calls) if keep_calls else set())


def _function_at(tree: ast.Module, line: int | None) -> str:
    return next(
        (n for n, f in source_edits.functions(tree).items() if line and f.lineno <= line <= (f.end_lineno or 0)), ""
    )


def _statement_at(tree: ast.Module, line: int) -> ast.stmt | None:
    simple = (ast.Expr, ast.Assign, ast.Import, ast.ImportFrom, ast.AugAssign, ast.Global, ast.Nonlocal)
    return next((n for n in ast.walk(tree) if isinstance(n, simple) and n.lineno == line), None)


def _is_nested(tree: ast.Module, node: ast.AST) -> bool:
    return node not in tree.body


def _text(checks: str, function: ast.FunctionDef) -> str:
    return (ast.get_source_segment(checks, function) or "").strip()


def _exchanged(checks: str, function: ast.FunctionDef, text: str) -> str:
    """Return the source with one function exchanged, or removed where the text is empty."""
    source = source_edits.replaced(checks, [(function, text.strip())])
    return _with_math(re.sub(r"\n{4,}", "\n\n\n", source).strip("\n") + "\n")


def _with_math(source: str) -> str:
    """Return the source with the module math imported, where it is used."""
    return source if "math." not in source or re.search(r"^import math", source, re.M) else f"import math\n\n\n{source}"


def _appended(checks: str, function: str) -> str:
    return checks.rstrip("\n") + "\n\n\n" + function
