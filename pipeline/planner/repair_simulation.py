"""Repairs of simulation.py, likeliest first: names, room, tolerances, targets, order, and last fewer objects."""

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.planner import program_writer, relaxations, source_edits
from pipeline.planner.diagnosis import SOLVED, Diagnosis
from pipeline.planner.goals import stated_goals
from pipeline.planner.scene_objects import scene_objects
from pipeline.planner.source_edits import Repair
from pipeline.simulation.goals.spec import PlannedGoal, goal_functions, goal_specs, quoted

CROWDED = re.compile(r"room|way|free place|blocked|crowd|touch|hit|reach|collid|came down|cannot set|no place", re.I)
"""Words of the oracle about too little room."""
SIMULATION_METHODS = (
    "keep", "remove", "copy", "move", "resize", "scatter",
    "add_zone", "add_container", "goal", "free_spot", "set_open", "Simulation", "position",
)  # fmt: skip
"""What may be meant by a misspelt name, beside the kit's goals."""


def repairs(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of simulation.py, likeliest first; `data` is the content of the question."""
    text = data["simulation"]
    tree = source_edits.parse(text)
    goals = stated_goals(data)
    instruction = data["task"].get("instruction", "")
    rewritten = program_writer.simulation_source(instruction, goals, data["scene"]) if goals else ""
    if tree is None or source_edits.build(tree) is None:
        yield rewritten, "simulation.py could not be read and is written again from the task"
        return
    if diagnosis.kind in ("crash", "unreadable", "timeout"):
        yield from _after_crash(text, tree, data, diagnosis)
        yield rewritten, f"simulation.py is written again from the task: {diagnosis.reason}"
        return
    if diagnosis.kind in ("wrong_objects", "wrong_goals"):
        yield from _exchange_object(text, tree, data)
        yield from _exchange_goals(text, tree, goals, data)
        yield rewritten, "simulation.py is written again from the task's goals"
    elif diagnosis.kind == "lax_goal":
        yield from _tighten(text, tree)
    elif diagnosis.kind == "solved_at_start":
        if ((data["report"].get("evidence") or {}).get("reward_at_start") or 0) <= SOLVED:
            yield from _space_out(text, tree)  # draws other layouts; the photographed one stays
        yield from _move_at_start(text, tree, data)
        yield rewritten, "simulation.py is written again: its goals held before anything moved"
    elif diagnosis.kind == "side_effect":
        yield from _remove_others(text, tree, data)
        yield from _move_at_start(text, tree, data)
        yield rewritten, f"simulation.py is written again from the task: {diagnosis.reason}"
    elif diagnosis.kind == "off_table":
        yield rewritten, f"simulation.py is written again from the task: {diagnosis.reason}"
    else:
        yield from _simplify(text, tree, data, diagnosis, rewritten)


def _after_crash(text: str, tree: ast.Module, data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    crash = diagnosis.reason
    yield from _rename_missing(text, tree, data, crash)
    yield from _define_missing(text, tree, crash)
    if "free place" in crash:
        yield from _remove_others(text, tree, data)
        yield from _scatter_less(text, tree)
    line = next((int(n) for n in re.findall(r"simulation\.py:(\d+)", crash)), None)
    simple = ast.Expr | ast.Assign | ast.Import | ast.ImportFrom
    statement = next((n for n in ast.walk(tree) if isinstance(n, simple) and n.lineno == line), None)
    if diagnosis.kind == "unreadable" and statement is not None:
        left = "pass" if statement not in tree.body else ""
        done = source_edits.replaced(text, [(statement, left)]).replace("    pass\n", "", 1)
        yield done, f"line {line} is removed: {crash}"
    build = source_edits.build(tree) or tree
    if not [n for n in ast.walk(build) if isinstance(n, ast.Return) and n.value is not None]:
        done = text.rstrip() + f"\n    return {source_edits.simulation_name(tree)}\n"
        yield done, "build now returns the simulation it made"


def _rename_missing(text: str, tree: ast.Module, data: Mapping[str, Any], crash: str) -> Iterator[Repair]:
    """Exchange the name of an object, zone or part that is not there for the closest that is."""
    if missing := re.search(r"there is no (?:object|zone) '(\w+)'; there are: ([\w, ]+)", crash):
        present = missing[2].split(", ")
        close = difflib.get_close_matches(missing[1], present, 1, 0.5)
        wanted = [n for n in data["task"].get("objects", ()) if n not in text and n in present]
        for name in dict.fromkeys([*close, *wanted]):
            yield source_edits.with_text(text, tree, missing[1], name), f"{missing[1]} is called {name} here"
    if missing := re.search(r"(\w+) has no part '(\w+)'; it has: ([\w, ]+)", crash):
        for name in difflib.get_close_matches(missing[2], missing[3].split(", "), 1, 0.3):
            yield source_edits.with_text(text, tree, missing[2], name), f"{missing[1]} calls it {name}"


def _define_missing(text: str, tree: ast.Module, crash: str) -> Iterator[Repair]:
    """Import a missing module, or exchange an unknown name or attribute for the closest known one."""
    if missing := re.search(r"name '(\w+)' is not defined", crash):
        modules = {"kit": "import kit", "np": "import numpy as np", "math": "import math", "numpy": "import numpy"}
        if module := modules.get(missing[1]):
            yield f"{module}\n{text}", f"simulation.py now says {module}"
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for a in n.args.args} | {"kit"}
        close = difflib.get_close_matches(missing[1], sorted(stored), 1, 0.5)
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == missing[1]]
        if close and uses:
            done = source_edits.replaced(text, [(n, close[0]) for n in uses])
            yield done, f"{missing[1]} is called {close[0]}"
    if missing := re.search(r"has no attribute '(\w+)'", crash):
        known = sorted({*goal_functions(), *SIMULATION_METHODS})
        close = difflib.get_close_matches(missing[1], known, 1, 0.5)
        uses = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == missing[1]]
        if close and uses:
            edits = [(n, f"{ast.get_source_segment(text, n.value)}.{close[0]}") for n in uses]
            yield source_edits.replaced(text, edits), f"the kit says {close[0]}, not {missing[1]}"


def _exchange_object(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Exchange the one wrong object in the goals for the task's own."""
    wanted = list(data["task"].get("objects", ()))
    present = {o["name"] for o in data["scene"]["objects"]}
    goals = source_edits.goals(tree)
    used = {str(s.value) for call in goals for s in source_edits.strings(call)} & present
    missing, wrong = [n for n in wanted if n not in used], [n for n in used if n not in wanted]
    if len(missing) == 1 and len(wrong) == 1:
        others = [s for s in source_edits.strings(tree) if s.value == missing[0]]
        in_goals = [s for call in goals for s in source_edits.strings(call)]
        if not any(s in in_goals for s in others):
            done = source_edits.with_text(text, tree, wrong[0], missing[0])
            yield done, f"the task is about {missing[0]}, not {wrong[0]}"


def _exchange_goals(
    text: str, tree: ast.Module, goals: tuple[PlannedGoal, ...] | None, data: Mapping[str, Any]
) -> Iterator[Repair]:
    """Exchange the program's goals for the task's; zones and containers stay."""
    made = {
        n for c in source_edits.calls(tree, "add_zone", "add_container") for n in source_edits.text_arguments(c)[:1]
    }
    calls = list(source_edits.calls(tree, "goal"))
    plain = all(
        not goal.spec.needs_setup
        and goal.stage == 0
        and (not (goal.new_container or goal.spec.zone == "fill") or goal.names[1] in made)
        for goal in goals or ()
    )
    if goals and plain and len(calls) == 1:
        known = {o.name: o for o in scene_objects(data["scene"])}
        arguments = ", ".join(goal.spec.call(goal, known) for goal in goals)
        stage = f"{source_edits.receiver(calls[0])}.goal({arguments})"
        yield source_edits.replaced(text, [(calls[0], stage)]), "its goals are now the task's"


def _tighten(text: str, tree: ast.Module) -> Iterator[Repair]:
    """Set a tolerance that holds almost anywhere to half of the widest one."""
    for call in source_edits.goals(tree):
        kind, argument = source_edits.method_name(call), source_edits.argument(call, "tolerance")
        number, allowed = source_edits.value(argument), goal_specs()[kind].tolerance
        widest = allowed.widest if allowed else None
        if widest and argument is not None and isinstance(number, int | float) and number > 2 * widest:
            reason = f"kit.{kind} now means what it says: within {widest * 50:.0f} cm"
            yield source_edits.replaced(text, [(argument, f"{widest / 2:g}")]), reason


def _move_at_start(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Start an object elsewhere that is at its target already."""
    sim = source_edits.simulation_name(tree)
    radii = {o.name: o.diagonal / 2 for o in scene_objects(data["scene"])}
    goals = source_edits.goals(tree)
    first = next(source_edits.calls(tree, "goal"), None)
    if not goals or first is None:
        return
    carrying = [call for call in goals if goal_specs()[source_edits.method_name(call)].carried != (0, 0)]
    named = dict.fromkeys(n for call in carrying for n in source_edits.text_arguments(call)[:1])
    for name in [n for n in named if n in radii]:
        line = f'{sim}.move("{name}", xy={sim}.free_spot({radii[name] + 0.02:.2f}))'
        if line not in text:
            done = source_edits.inserted(text, first.lineno - 1, line)
            yield done, f"{name} starts somewhere else: it was where it should go"


def _remove_others(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Leave out all objects that the program does not name, for more room."""
    present = {o["name"] for o in data["scene"]["objects"]}
    named = dict.fromkeys(str(s.value) for s in source_edits.strings(tree))
    used = [n for n in named if n in present]
    if len(used) < len(present) and used and not list(source_edits.calls(tree, "keep")):
        line = f"{source_edits.simulation_name(tree)}.keep({quoted(used)})"
        done = source_edits.inserted(text, source_edits.after_start(text, tree), line)
        yield done, f"only {', '.join(used)} are kept: the others are in the way"


def _scatter_less(text: str, tree: ast.Module) -> Iterator[Repair]:
    for call in source_edits.calls(tree, "scatter"):
        if len(call.args) > 1:
            first = ast.get_source_segment(text, call.args[0]) or ""
            done = source_edits.replaced(text, [(call, f"{source_edits.receiver(call)}.scatter({first})")])
            yield done, f"only {source_edits.value(call.args[0])} is scattered, the others start as photographed"
        yield source_edits.without_statement(text, call, tree), "everything starts as photographed"


def _simplify(
    text: str, tree: ast.Module, data: Mapping[str, Any], diagnosis: Diagnosis, rewritten: str
) -> Iterator[Repair]:
    """Yield more room, then wider tolerances, larger targets, another order, a calmer start, fewer objects."""
    evidence = data["report"].get("evidence") or {}
    calls = source_edits.goals(tree)
    unmet = [
        (call, entry)
        for call, entry in relaxations.goals_with_results(calls, evidence.get("goals") or [])
        if not entry.get("met")
    ]
    crowded = bool(CROWDED.search(str(evidence.get("why") or "")))
    wanted, present = stated_goals(data), source_edits.planned_goals(text)
    rewritten_tree = source_edits.parse(rewritten)
    differs = rewritten_tree is not None and _targets_and_goals(tree) != _targets_and_goals(rewritten_tree)
    foreign = any(goal not in (wanted or ()) for goal in present) or len(present) != len(calls)
    if wanted and foreign and not list(source_edits.calls(tree, "remove")):
        yield from _exchange_goals(text, tree, wanted, data)
    yield from relaxations.restore_tolerances(text, unmet)
    if crowded:
        yield from _remove_others(text, tree, data)
    yield from relaxations.widen_tolerances(text, unmet)
    yield from relaxations.relax_distances(text, unmet)
    yield from relaxations.enlarge_targets(text, tree, unmet, data)
    if differs:
        yield rewritten, f"simulation.py is written again from the task: {diagnosis.reason}"
    yield from relaxations.reorder_towers(text, unmet, data)
    if not crowded:
        yield from _remove_others(text, tree, data)
    rewards = data["report"]["reward"]
    if (rewards and rewards[0] > 0.99) or len(rewards) < 2:
        yield from _scatter_less(text, tree)
    yield from _space_out(text, tree)
    if rewritten:
        yield rewritten, f"simulation.py is written again from the task, as nothing else helped: {diagnosis.reason}"
    if data["task"].get("source") != "human":
        yield from _drop_objects(text, tree, unmet, data)


def _targets_and_goals(tree: ast.AST) -> list[str]:
    """Return the zones and containers that a program adds, and its goals, as text."""
    added = source_edits.calls(tree, "add_zone", "add_container")
    return [ast.unparse(call) for call in [*added, *source_edits.goals(tree)]]


def _space_out(text: str, tree: ast.Module) -> Iterator[Repair]:
    for call in source_edits.calls(tree, "scatter"):
        gap = source_edits.value(source_edits.argument(call, "gap")) or 0.03
        if gap < 0.06:
            done = source_edits.with_argument(text, call, "gap", "0.06")
            yield done, "the start is laid out with more room between things"
    for call in source_edits.goals(tree):
        spacing = source_edits.value(source_edits.argument(call, "spacing", 2))
        if source_edits.method_name(call) == "in_row" and isinstance(spacing, int | float):
            done = source_edits.with_argument(text, call, "spacing", "None", 2)
            yield done, "the row's spacing is left to the oracle"


def _drop_objects(
    text: str, tree: ast.Module, unmet: relaxations.UnmetGoals, data: Mapping[str, Any]
) -> Iterator[Repair]:
    """Leave out one object, where at least two goals or two objects remain. Never for a person's own task."""
    why = str((data["report"].get("evidence") or {}).get("why") or "")
    wanted = list(data["task"].get("objects", ()))
    several_goals = len(source_edits.goals(tree)) > 1
    for call, _ in unmet:
        spec = goal_specs()[source_edits.method_name(call)]
        named = [n for n in source_edits.text_arguments(call) if n in wanted]
        from_list = spec.lists_names and len(named) > 2
        if not from_list and not (several_goals and spec.droppable):
            continue
        for name in sorted(named if from_list else named[:1], key=lambda n: n not in why):
            edits = _without_item(text, call, name) if from_list else _without_goal(text, tree, call)
            if edits is None:
                continue
            done = source_edits.replaced(text, [*edits, *_without_mentions(text, tree, name)])
            done_tree = source_edits.parse(done)
            if done_tree is not None and name in {str(s.value) for s in source_edits.strings(done_tree)}:
                continue
            if done_tree is not None and not list(source_edits.calls(done_tree, "keep")):
                line = f'{source_edits.simulation_name(tree)}.remove("{name}")'
                done = source_edits.inserted(done, source_edits.after_start(done, done_tree), line)
            yield done, f"simpler: without {name}" + (f" ({why})" if why else "")


def _without_item(text: str, call: ast.Call, name: str) -> list[tuple[ast.AST, str]]:
    """Return the edit that takes a name out of a goal's list."""
    items = [e for e in getattr(call.args[0], "elts", []) if source_edits.value(e) != name]
    listing = ", ".join(ast.get_source_segment(text, e) or "" for e in items)
    return [(call.args[0], f"[{listing}]")]


def _without_goal(text: str, tree: ast.Module, call: ast.Call) -> list[tuple[ast.AST, str]] | None:
    """Return the edit that takes a goal out of its stage; None where it is the only one."""
    stage = next((g for g in source_edits.calls(tree, "goal") if call in g.args), None)
    if stage is None or len(stage.args) < 2:
        return None
    rest = ", ".join(ast.get_source_segment(text, a) or "" for a in stage.args if a is not call)
    return [(stage, f"{source_edits.receiver(stage)}.goal({rest})")]


def _without_mentions(text: str, tree: ast.Module, name: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the edits that take a name out of what is scattered and kept."""
    for call in source_edits.calls(tree, "scatter", "keep"):
        if name in source_edits.text_arguments(call):
            others = [a for a in call.args if source_edits.value(a) != name]
            rest = ", ".join(ast.get_source_segment(text, a) or "" for a in others)
            yield call, f"{source_edits.receiver(call)}.{source_edits.method_name(call)}({rest})"
