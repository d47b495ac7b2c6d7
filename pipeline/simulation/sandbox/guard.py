"""Static guard: inspect a program's source before it runs and report forbidden constructs with their line.

A finding is a failed check like any other and goes to the router. The guard is no protection (the sandbox is); it keeps
programs from passing by mocking the kit, re-implementing the oracle, or checking nothing.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from pipeline.simulation.misspelled_names import misspelled_names
from pipeline.simulation.program import CheckResult, Program

ALLOWED_IMPORTS = ("kit", "math", "numpy")
FORBIDDEN_NAMES = frozenset(
    (
        *("exec", "eval", "compile", "open", "input", "breakpoint", "getattr", "setattr", "delattr", "hasattr"),
        *("globals", "locals", "vars", "dir", "type", "object", "memoryview", "exit", "quit"),
    )
)
FRAME_ATTRIBUTES = re.compile(r"^(f|tb|gi|cr|ag|co)_(frame|globals|locals|builtins|code|back|next)$")
NUMPY_FILE_FUNCTIONS = frozenset(
    ("load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "genfromtxt", "fromfile", "tofile", "memmap")
)
RESERVED_NAMES = re.compile(r"(^|_)(rollout|oracle|reward|Simulation|Scene|Run|Goal)($|_)")
ARRANGING_METHODS = frozenset(
    ("keep", "remove", "copy", "move", "resize", "scatter", "add_zone", "add_container", "goal", "free_spot")
)

Finding = tuple[int | None, str]
"""Line number, and the rest of a sentence that starts with the file name."""


def guard(program: Program) -> tuple[CheckResult, ...]:
    """Return the static findings of a program as failed checks; empty if there are none."""
    sources = (
        ("simulation.py", program.simulation, _simulation_findings),
        ("checks.py", program.checks, _checks_findings),
    )
    return tuple(
        CheckResult(f"guard {file}", False, f"{file}{f':{line}' if line else ''} {problem}", line=line)
        for file, source, rules in sources
        for line, problem in sorted(set(_findings(source, rules)), key=lambda finding: finding[0] or 0)
    )


def _findings(source: str, rules) -> Iterator[Finding]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        yield getattr(error, "lineno", None), f"cannot be read: {getattr(error, 'msg', error)}"
        return
    for node in ast.walk(tree):
        yield from _forbidden(node)
    yield from rules(tree)


def _forbidden(node: ast.AST) -> Iterator[Finding]:
    line = getattr(node, "lineno", None)
    match node:
        case ast.Import(names=names):
            for name in names:
                yield from _forbidden_import(line, name.name, name.asname)
        case ast.ImportFrom(module=module, level=level, names=names):
            yield from _forbidden_import(line, "its own folder" if level else module or "", None)
            for name in names:
                if (module or "").startswith("numpy") and name.name in NUMPY_FILE_FUNCTIONS:
                    yield line, f"takes numpy.{name.name}, which reads or writes files"
        case ast.Name(id=name):
            if name in FORBIDDEN_NAMES or _is_dunder(name):
                yield line, f"uses {name}, which is not available"
            if name == "kit" and not isinstance(node.ctx, ast.Load):
                yield line, "assigns another value to the name kit"
        case ast.Attribute(attr=name):
            yield from _forbidden_attribute(line, node, name)
        case ast.Constant(value=str(text)) if re.search(r"\{[^}]*\.__\w+__", text):
            yield line, "accesses Python internals in a format string"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            if RESERVED_NAMES.search(name) and not name.startswith("check_"):
                yield line, f"defines {name}; the oracle, rollouts and rewards are the kit's, use sim.rollout()"
            if isinstance(node, ast.ClassDef) and any(_root_name(base) == "kit" for base in node.bases):
                yield line, f"derives {name} from the kit; goals and simulations are composed, not derived"
        case ast.Global() | ast.Nonlocal():
            yield line, "shares variables between functions; pass them as arguments"
        case ast.Call(func=ast.Attribute(attr="default_rng"), args=[], keywords=[]):
            yield line, "draws random numbers that do not depend on the seed; use numpy.random.default_rng(seed)"


def _forbidden_import(line: int | None, name: str, alias: str | None) -> Iterator[Finding]:
    if name.split(".")[0] not in ALLOWED_IMPORTS:
        yield line, f"imports {name}; only {', '.join(ALLOWED_IMPORTS)} are available"
    if alias == "kit" and name != "kit":
        yield line, f"imports {name} as kit"


def _forbidden_attribute(line: int | None, node: ast.Attribute, name: str) -> Iterator[Finding]:
    if name.startswith("_") or FRAME_ATTRIBUTES.match(name):
        yield line, f"accesses .{name}; only what the kit's text names may be used"
    if name in NUMPY_FILE_FUNCTIONS and _root_name(node) in ("np", "numpy"):
        yield line, f"uses numpy.{name}, which reads or writes files"
    if not isinstance(node.ctx, ast.Load) and _root_name(node) != "self":
        yield line, f"assigns to {ast.unparse(node)}; the kit, the scene and measurements cannot be changed"


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name != "__name__"


def _root_name(node: ast.AST) -> str:
    """Return the name that a chain of attributes, subscripts and calls starts with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _has_call(tree: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
        for node in ast.walk(tree)
    )


def _simulation_findings(tree: ast.Module) -> Iterator[Finding]:
    build = _functions(tree).get("build")
    if build is None:
        yield None, "defines no build(scene, seed)"
        return
    if len(build.args.args) != 2:
        yield build.lineno, "defines build with other arguments than (scene, seed)"
    if not any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(build)):
        yield build.lineno, "never returns the simulation it builds"
    misspelled = [
        (node.lineno, f"uses {ast.unparse(node)}, which there is not; is {name} meant?")
        for node, name in misspelled_names(tree)
    ]
    yield from misspelled
    if not (misspelled or _has_call(tree, "goal")):
        yield build.lineno, "sets no goal; call sim.goal(...) at least once"
    yield from _unreachable(tree)


def _checks_findings(tree: ast.Module) -> Iterator[Finding]:
    checks = [check for name, check in _functions(tree).items() if name.startswith("check_")]
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield None, f"defines {name} twice; only the last one would run"
    if not checks:
        yield None, "defines no check_*(sim)"
    elif not _has_call(tree, "rollout"):
        yield None, "never rolls out the oracle; call sim.rollout() in at least one check"
    yield from _unreachable(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _nested_checks(node)
        elif isinstance(node, ast.Try):
            yield from _swallowed_errors(node)
        elif isinstance(node, ast.Assert):
            yield from _decided_assertion(node)
    asserting = {name for name, function in _functions(tree).items() if _assertions(function)}
    for check in checks:
        yield from _check_findings(check, asserting)


def _assertions(function: ast.FunctionDef) -> list[ast.Assert]:
    return [node for node in ast.walk(function) if isinstance(node, ast.Assert)]


def _check_findings(check: ast.FunctionDef, asserting: set[str]) -> Iterator[Finding]:
    """Yield the findings of one check; `asserting` are the functions of checks.py that contain an assert."""
    if len(check.args.args) != 1:
        yield check.lineno, f"defines {check.name} with other arguments than (sim)"
        return
    sim = check.args.args[0].arg
    asserts = _assertions(check)
    measured = _measured_names(check, sim)
    calls = [node for node in ast.walk(check) if isinstance(node, ast.Call) and _root_name(node.func) in asserting]
    if not asserts and not calls:
        yield check.lineno, f"{check.name} asserts nothing"
    elif not any(_names(node) & measured for node in [*(statement.test for statement in asserts), *calls]):
        yield check.lineno, f"{check.name} asserts nothing about what happened in the simulation"
    for node in ast.walk(check):
        if isinstance(node, ast.Return) and any(node.lineno < other.lineno for other in asserts):
            yield node.lineno, f"returns from {check.name} before its last assertion"
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)) if (
                owner == sim and method in ARRANGING_METHODS
            ):
                yield node.lineno, f"changes the simulation it checks ({sim}.{method})"


def _nested_checks(outer: ast.FunctionDef) -> Iterator[Finding]:
    for inner in ast.walk(outer):
        if isinstance(inner, ast.FunctionDef) and inner is not outer and inner.name.startswith("check_"):
            yield inner.lineno, f"defines {inner.name} inside {outer.name}, where it never runs; remove its indentation"


def _measured_names(check: ast.FunctionDef, sim: str) -> set[str]:
    """Return the names in a check whose values come from the simulation."""
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
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def _decided_assertion(node: ast.Assert) -> Iterator[Finding]:
    test = node.test
    same = isinstance(test, ast.Compare) and ast.dump(test.left) == ast.dump(test.comparators[0])
    or_true = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) and any(map(_is_constant, test.values))
    if _is_constant(test) or same or or_true or (isinstance(test, ast.Tuple) and test.elts):
        yield node.lineno, f"asserts what does not depend on the run ({ast.unparse(test)[:60]})"


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression contains no name, so that no measurement can change it."""
    return not any(isinstance(child, (ast.Name, ast.Call)) for child in ast.walk(node))


def _swallowed_errors(node: ast.Try) -> Iterator[Finding]:
    for handler in node.handlers:
        caught = {"everything"} if handler.type is None else _names(handler.type)
        raises = any(isinstance(child, ast.Raise) for child in ast.walk(handler))
        if caught & {"everything", "AssertionError", "Exception", "BaseException"} and not raises:
            yield handler.lineno, f"catches {', '.join(sorted(caught))}; do not catch failed assertions"


def _unreachable(tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            lines = getattr(node, block, None)
            if not isinstance(lines, list):
                continue
            for before, after in pairwise(lines):
                if isinstance(before, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                    yield after.lineno, "is never reached"
        if isinstance(node, (ast.If, ast.While)) and _is_constant(node.test) and not _is_endless_loop(node):
            yield node.lineno, f"branches on a constant ({ast.unparse(node.test)[:60]})"


def _is_endless_loop(node: ast.If | ast.While) -> bool:
    """Whether a statement is `while True`, a loop; `while False` and `if 0` are ways to hide a check."""
    return isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
