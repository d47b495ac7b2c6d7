"""Reading of programs: the goals, tolerances and functions in their source."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.simulation.goals.spec import PlannedGoal, goal_functions, goal_specs


def parsed(source: str) -> ast.Module:
    """Return the tree of a source; an empty one where it is not Python."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def calls(tree: ast.AST, *methods: str) -> Iterator[ast.Call]:
    """Yield the calls of methods by these names (`sim.scatter(...)`, `kit.on(...)`), in order of their place."""
    every = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    chosen = [n for n in every if isinstance(n.func, ast.Attribute) and n.func.attr in methods]
    yield from sorted(chosen, key=lambda n: (n.lineno, n.col_offset))


def method_name(call: ast.Call) -> str:
    """Return `keep` of `sim.keep(...)`; empty for a call of a plain name."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def receiver(call: ast.Call) -> str:
    """Return `sim` of `sim.keep(...)`; empty where there is no such name."""
    return call.func.value.id if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) else ""


def goals(tree: ast.AST) -> list[ast.Call]:
    """Return the calls of the kit's goals, in order."""
    return [c for c in calls(tree, *goal_functions()) if receiver(c) == "kit"]


def strings(node: ast.AST) -> list[ast.Constant]:
    """Return all text constants below a node."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def text_arguments(call: ast.Call) -> tuple[str, ...]:
    """Return the texts among a call's arguments: the objects and zones that it names."""
    return tuple(str(n.value) for arg in call.args for n in strings(arg))


def argument(call: ast.Call, name: str, index: int | None = None) -> ast.expr | None:
    """Return the argument passed by keyword, or at that position; None where it is not passed."""
    by_name = next((k.value for k in call.keywords if k.arg == name), None)
    return by_name or (call.args[index] if index is not None and index < len(call.args) else None)


def value(node: ast.AST | None) -> Any:
    """Return the value of a literal; None for anything else."""
    try:
        return ast.literal_eval(node) if node is not None else None  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError):
        return None


def functions(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    """Return all functions by name."""
    return {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def tolerances(simulation: str) -> list[tuple[str, tuple[str, ...], float]]:
    """Return the tolerances (m) that a program states, each with its goal's kind and the names in it."""
    calls_with = [(call, value(argument(call, "tolerance"))) for call in goals(parsed(simulation))]
    return [(method_name(c), text_arguments(c), float(n)) for c, n in calls_with if isinstance(n, int | float)]


def planned_goals(simulation: str) -> tuple[PlannedGoal, ...]:
    """Return the goals of a program whose names are written out; each call of goal() is a stage."""
    tree = parsed(simulation)
    assigned = {
        t.id: n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)
    }
    added = {name for call in calls(tree, "add_container") for name in text_arguments(call)[:1]}
    mirrored = next((text_arguments(call) for call in calls(tree, "mirrored")), ())
    found: list[PlannedGoal] = []
    for stage, stage_call in enumerate(calls(tree, "goal")):
        for call in goals(stage_call):
            if method_name(call) == "at":
                goal = _planned_place(call, assigned, mirrored, stage)
            else:
                goal = _planned_goal(call, added, stage)
            if goal and (goal not in found or goal.kind != "mirrored"):
                found.append(goal)
    return tuple(found)


def _planned_goal(call: ast.Call, added: set[str], stage: int) -> PlannedGoal | None:
    """Return the goal of a call of the kit; `added` are the names of added containers."""
    kind, names = method_name(call), text_arguments(call)
    spec = goal_specs()[kind]
    if any(value(argument) is None for argument in call.args):
        return None
    along = ""
    if names and any(form.along for form in spec.forms):
        along = str(value(argument(call, "along", 1)) or "right")
        names = tuple(str(text.value) for text in strings(call.args[0]))
    new_container = any(form.new_container for form in spec.forms) and bool(names) and names[-1] in added
    return PlannedGoal(kind, names, along, new_container, stage) if names else None


def _planned_place(
    call: ast.Call, assigned: Mapping[str, ast.expr], mirrored: tuple[str, ...], stage: int
) -> PlannedGoal | None:
    """Return the goal of a call of kit.at: at coordinates, where another object stood, or at a mirror image."""
    names = text_arguments(call)[:1]
    place = call.args[1] if len(call.args) > 1 else None
    place = assigned.get(place.id) if isinstance(place, ast.Name) else place
    other = [str(text.value) for text in strings(place)] if place is not None else []
    xy = value(place)
    if isinstance(xy, tuple) and len(xy) == 2:
        return PlannedGoal("at", names, stage=stage, xy=(float(xy[0]), float(xy[1])))
    if not other:
        return None
    if other[0] == names[0] and names[0] in mirrored:
        return PlannedGoal("mirrored", mirrored, stage=stage)
    return PlannedGoal("where", (names[0], other[0]), stage=stage)
