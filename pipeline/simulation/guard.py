"""Reads a program before it runs: what honest code never does is found here, with its line.

A finding is a failed check like any other and goes to the router. Nothing here protects anyone (the sandbox does);
it keeps programs from passing by mocking the kit, by re-inventing the oracle, or by checking nothing.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pipeline.simulation.program import CheckResult, Program

IMPORTS = ("kit", "math", "numpy")
NOT_THERE = frozenset(
    (
        *("exec", "eval", "compile", "open", "input", "breakpoint", "getattr", "setattr", "delattr", "hasattr"),
        *("globals", "locals", "vars", "dir", "type", "object", "memoryview", "exit", "quit"),
    )
)
FRAMES = re.compile(r"^(f|tb|gi|cr|ag|co)_(frame|globals|locals|builtins|code|back|next)$")
FILES = frozenset(
    ("load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "memmap")
)
OURS = re.compile(r"(^|_)(rollout|oracle|reward|Simulation|Scene|Run|Goal)($|_)")
CHANGES = frozenset(
    ("keep", "remove", "copy", "move", "resize", "scatter", "add_zone", "add_container", "goal", "free_spot")
)

Finding = tuple[int | None, str]
"""A line and a sentence that goes on from the side's name."""


def guard(program: Program) -> tuple[CheckResult, ...]:
    """What is wrong with a program by reading alone; empty where nothing is."""
    sides = (("simulation.py", program.simulation, _simulation), ("checks.py", program.checks, _checks))
    return tuple(
        CheckResult(f"guard {side}", False, f"{side}{f':{line}' if line else ''} {what}", line=line)
        for side, source, rules in sides
        for line, what in sorted(set(_findings(source, rules)), key=lambda finding: finding[0] or 0)
    )


def _findings(source: str, rules) -> Iterator[Finding]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield getattr(error, "lineno", None), f"cannot be read: {getattr(error, 'msg', error)}"
        return
    for node in ast.walk(tree):
        yield from _anywhere(node)
    yield from rules(tree)


def _anywhere(node: ast.AST) -> Iterator[Finding]:
    line = getattr(node, "lineno", None)
    match node:
        case ast.Import(names=names):
            for name in names:
                yield from _import(line, name.name, name.asname)
        case ast.ImportFrom(module=module, level=level, names=names):
            yield from _import(line, "its own folder" if level else module or "", None)
            for name in names:
                if (module or "").startswith("numpy") and name.name in FILES:
                    yield line, f"takes numpy.{name.name}, which reads or writes files"
        case ast.Name(id=name):
            if name in NOT_THERE or _hidden(name):
                yield line, f"uses {name}, which is not there"
            if name == "kit" and not isinstance(node.ctx, ast.Load):
                yield line, "gives the name kit to something else"
        case ast.Attribute(attr=name):
            yield from _attribute(line, node, name)
        case ast.Constant(value=str(text)) if re.search(r"\{[^}]*\.__\w+__", text):
            yield line, "reaches for Python's insides in a format string"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if OURS.search(name) and not name.startswith("check_"):
                yield line, f"defines {name}; the oracle, rollouts and rewards are the kit's, use sim.rollout()"
            if isinstance(node, ast.ClassDef) and any(_root(base) == "kit" for base in node.bases):
                yield line, f"derives {name} from the kit; goals and simulations are composed, not derived"
        case ast.Global() | ast.Nonlocal():
            yield line, "shares names between functions; hand them on as arguments"
        case ast.Call(func=ast.Attribute(attr="default_rng"), args=[], keywords=[]):
            yield line, "draws numbers that the seed does not decide; use numpy.random.default_rng(seed)"


def _import(line: int | None, name: str, alias: str | None) -> Iterator[Finding]:
    if name.split(".")[0] not in IMPORTS:
        yield line, f"imports {name}; only {', '.join(IMPORTS)} are there"
    if alias == "kit" and name != "kit":
        yield line, f"calls {name} kit"


def _attribute(line: int | None, node: ast.Attribute, name: str) -> Iterator[Finding]:
    if name.startswith("_") or FRAMES.match(name):
        yield line, f"reaches for .{name}; only what the kit's text names may be used"
    if name in FILES and _root(node) in ("np", "numpy"):
        yield line, f"uses numpy.{name}, which reads or writes files"
    if not isinstance(node.ctx, ast.Load) and _root(node) != "self":
        yield line, f"assigns to {ast.unparse(node)}; the kit, the scene and what was measured cannot be changed"


def _hidden(name: str) -> bool:
    return name.startswith("__") and name != "__name__"


def _root(node: ast.AST) -> str:
    """The name that a chain of attributes, subscripts and calls starts with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _calls(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
        for node in ast.walk(tree)
    )


def _simulation(tree: ast.Module) -> Iterator[Finding]:
    build = _functions(tree).get("build")
    if build is None:
        yield None, "defines no build(scene, seed)"
        return
    if len(build.args.args) != 2:
        yield build.lineno, "defines build with other arguments than (scene, seed)"
    if not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(build)):
        yield build.lineno, "never returns the simulation it builds"
    if not _calls(tree, "goal"):
        yield build.lineno, "sets no goal; call sim.goal(...) at least once"
    yield from _unreachable(tree)


def _checks(tree: ast.Module) -> Iterator[Finding]:
    checks = [check for name, check in _functions(tree).items() if name.startswith("check_")]
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield None, f"defines {name} twice; only the last one would run"
    if not checks:
        yield None, "defines no check_*(sim)"
    elif not _calls(tree, "rollout"):
        yield None, "never looks at the oracle; at least one check calls sim.rollout()"
    yield from _unreachable(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _inside(node)
        elif isinstance(node, ast.Try):
            yield from _swallowed(node)
        elif isinstance(node, ast.Assert):
            yield from _always(node)
    asserting = {name for name, function in _functions(tree).items() if _asserts(function)}
    for check in checks:
        yield from _check(check, asserting)


def _asserts(function: ast.FunctionDef) -> list[ast.Assert]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Assert)]


def _check(check: ast.FunctionDef, asserting: set[str]) -> Iterator[Finding]:
    """`asserting`: functions of checks.py that assert, and may do so on a check's behalf."""
    if len(check.args.args) != 1:
        yield check.lineno, f"defines {check.name} with other arguments than (sim)"
        return
    sim = check.args.args[0].arg
    asserts = _asserts(check)
    measured = _measured(check, sim)
    calls = [node for node in ast.walk(check) if isinstance(node, ast.Call) and _root(node.func) in asserting]
    if not asserts and not calls:
        yield check.lineno, f"{check.name} asserts nothing"
    elif not any(_names(node) & measured for node in [*(each.test for each in asserts), *calls]):
        yield check.lineno, f"{check.name} asserts nothing about what happened in the simulation"
    for node in ast.walk(check):
        if isinstance(node, ast.Return) and any(node.lineno < other.lineno for other in asserts):
            yield node.lineno, f"leaves {check.name} before it has asserted anything more; a check passes or fails"
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=verb)) if owner == sim and verb in CHANGES:
                yield node.lineno, f"changes the simulation it checks ({sim}.{verb})"


def _inside(outer: ast.FunctionDef) -> Iterator[Finding]:
    for inner in ast.walk(outer):
        if isinstance(inner, ast.FunctionDef) and inner is not outer and inner.name.startswith("check_"):
            yield inner.lineno, f"has {inner.name} inside {outer.name}, where it never runs; begin its line at the left"


def _measured(check: ast.FunctionDef, sim: str) -> set[str]:
    """The names in a check whose values come from the simulation."""
    known: set[str] = {sim}
    bindings = [pair for node in ast.walk(check) for pair in _bindings(node)]
    for _ in bindings:
        known |= {name for target, value in bindings if _names(value) & known for name in _names(target)}
    return known


def _bindings(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
            yield target, value
        case ast.NamedExpr(target=target, value=value):
            yield target, value
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            yield target, value
        case ast.Call(func=ast.Attribute(attr="append" | "add" | "update" | "extend", value=target), args=[value, *_]):
            yield target, value


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _always(node: ast.Assert) -> Iterator[Finding]:
    test = node.test
    same = isinstance(test, ast.Compare) and ast.dump(test.left) == ast.dump(test.comparators[0])
    or_true = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and any(map(_constant, test.values))
    if _constant(test) or same or or_true or (isinstance(test, ast.Tuple) and test.elts):
        yield node.lineno, f"asserts what is decided before anything runs ({ast.unparse(test)[:60]})"


def _constant(node: ast.expr) -> bool:
    """Whether an expression names nothing, so that nothing measured can change it."""
    return not any(isinstance(part, (ast.Name, ast.Call)) for part in ast.walk(node))


def _swallowed(node: ast.Try) -> Iterator[Finding]:
    for handler in node.handlers:
        caught = {"everything"} if handler.type is None else _names(handler.type)
        raises = any(isinstance(part, ast.Raise) for part in ast.walk(handler))
        if caught & {"everything", "AssertionError", "Exception", "BaseException"} and not raises:
            yield handler.lineno, f"swallows {', '.join(sorted(caught))}; let failed assertions through"


def _unreachable(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            lines = getattr(node, block, None)
            if not isinstance(lines, list):
                continue
            for before, after in pairwise(lines):
                if isinstance(before, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                    yield after.lineno, "is never reached"
        if isinstance(node, (ast.If, ast.While)) and _constant(node.test) and not _endless(node):
            yield node.lineno, f"decides by a constant ({ast.unparse(node.test)[:60]})"


def _endless(node: ast.If | ast.While) -> bool:
    """`while True` is a way to write a loop; `while False` and `if 0` are ways to hide a check."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
