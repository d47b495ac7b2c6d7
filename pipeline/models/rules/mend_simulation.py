"""Ways to mend simulation.py, best first: names, room, tolerances, targets, order, and last fewer objects."""

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.models.rules import source, writer
from pipeline.models.rules.aims import PARTS, Aim, read
from pipeline.models.rules.diagnosis import WIDEST, Fault
from pipeline.models.rules.plans import tower
from pipeline.models.rules.things import diagonal, things

Mend = tuple[str, str]
"""A new source and one sentence on what changed."""
CROWDED = re.compile(r"room|way|free place|blocked|crowd|touch|hit|reach|collid|came down|cannot set|no place", re.I)

NEARLY = 0.06
"""Metres by which a target may be missed for its size to be the fault."""


def mends(data: Mapping[str, Any], fault: Fault) -> Iterator[Mend]:
    """Ways to repair simulation.py after that fault, the likeliest first; `data` is what the question holds."""
    text = data["simulation"]
    tree = source.parse(text)
    aims = read(data["task"].get("goals") or ())
    again = writer.simulation(data["task"].get("instruction", ""), aims, data["scene"]) if aims else ""
    if tree is None or source.build(tree) is None:
        yield again, "simulation.py could not be read and is written anew from the task"
        return
    if fault.kind in ("crash", "unreadable", "timeout"):
        yield from _crashed(text, tree, data, fault)
        yield again, f"simulation.py is written anew from the task: {fault.reason}"
        return
    if fault.kind in ("wrong_objects", "wrong_goals"):
        yield from _renamed(text, tree, data)
        yield from _regoaled(text, tree, aims, data)
        yield again, "simulation.py is written anew from the task's goals"
    elif fault.kind == "lax_goal":
        yield from _strict(text, tree)
    elif fault.kind == "solved_at_start":
        yield from _moved_at_start(text, tree, data)
        yield again, "simulation.py is written anew: its goals held before anything moved"
    elif fault.kind == "side_effect":
        yield from _uncluttered(text, tree, data)
        yield from _moved_at_start(text, tree, data)
    elif fault.kind == "off_table":
        yield again, f"simulation.py is written anew from the task: {fault.reason}"
    else:
        yield from _simplified(text, tree, data, fault, again)


def _crashed(text: str, tree: ast.Module, data: Mapping[str, Any], fault: Fault) -> Iterator[Mend]:
    crash = fault.reason
    if missing := re.search(r"there is no (?:object|zone) '(\w+)'; there are: ([\w, ]+)", crash):
        near = difflib.get_close_matches(missing[1], missing[2].split(", "), 1, 0.5)
        wanted = [n for n in data["task"].get("objects", ()) if n not in text and n in missing[2].split(", ")]
        spots = [s for s in source.strings(tree) if s.value == missing[1]]
        for name in dict.fromkeys([*near, *wanted]):
            yield source.replaced(text, [(s, f'"{name}"') for s in spots]), f"{missing[1]} is called {name} here"
    if missing := re.search(r"(\w+) has no part '(\w+)'; it has: ([\w, ]+)", crash):
        near = difflib.get_close_matches(missing[2], missing[3].split(", "), 1, 0.3)
        spots = [s for s in source.strings(tree) if s.value == missing[2]]
        for name in near:
            yield source.replaced(text, [(s, f'"{name}"') for s in spots]), f"{missing[1]} calls it {name}"
    if missing := re.search(r"name '(\w+)' is not defined", crash):
        module = {"kit": "import kit", "np": "import numpy as np", "math": "import math", "numpy": "import numpy"}.get(
            missing[1]
        )
        if module:
            yield f"{module}\n{text}", f"simulation.py now says {module}"
        stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        stored |= {a.arg for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for a in n.args.args} | {"kit"}
        near = difflib.get_close_matches(missing[1], sorted(stored), 1, 0.5)
        spots = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == missing[1]]
        if near and spots:
            yield source.replaced(text, [(n, near[0]) for n in spots]), f"{missing[1]} is called {near[0]}"
    if missing := re.search(r"has no attribute '(\w+)'", crash):
        own = [
            "keep", "remove", "copy", "move", "resize", "scatter",
            "add_zone", "add_container", "goal", "free_spot", "set_open", "Simulation", "position",
        ]  # fmt: skip
        verbs = sorted({*source.ROLES, *own})
        near = difflib.get_close_matches(missing[1], verbs, 1, 0.5)
        spots = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr == missing[1]]
        if near and spots:
            edits = [(n, f"{ast.get_source_segment(text, n.value)}.{near[0]}") for n in spots]
            yield source.replaced(text, edits), f"the kit says {near[0]}, not {missing[1]}"
    if "free place" in crash:
        yield from _uncluttered(text, tree, data)
        yield from _unscattered(text, tree)
    line = next((int(n) for n in re.findall(r"simulation\.py:(\d+)", crash)), None)
    statement = next(
        (
            n
            for n in ast.walk(tree)
            if isinstance(n, ast.Expr | ast.Assign | ast.Import | ast.ImportFrom) and n.lineno == line
        ),
        None,
    )
    if fault.kind == "unreadable" and statement is not None:
        rest = "pass" if statement not in tree.body else ""
        yield source.replaced(text, [(statement, rest)]).replace("    pass\n", "", 1), f"line {line} goes: {crash}"
    returns = [n for n in ast.walk(source.build(tree) or tree) if isinstance(n, ast.Return) and n.value is not None]
    if not returns:
        yield (
            text.rstrip() + f"\n    return {source.simulation_name(tree)}\n",
            "build now returns the simulation it made",
        )


def _renamed(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Mend]:
    """The wrong object in the goals exchanged for the task's own."""
    wanted = [n for n in data["task"].get("objects", ())]
    every = {o["name"] for o in data["scene"]["objects"]}
    goals = source.goals(tree)
    used = {str(s.value) for call in goals for s in source.strings(call)} & every
    missing, strange = [n for n in wanted if n not in used], [n for n in used if n not in wanted]
    if len(missing) == 1 and len(strange) == 1:
        spots = [s for s in source.strings(tree) if s.value == strange[0]]
        others = [s for s in source.strings(tree) if s.value == missing[0]]
        edits = [(s, f'"{missing[0]}"') for s in spots]
        if not others or all(s not in [x for c in goals for x in source.strings(c)] for s in others):
            yield source.replaced(text, edits), f"the task is about {missing[0]}, not {strange[0]}"


def _regoaled(text: str, tree: ast.Module, aims: tuple[Aim, ...] | None, data: Mapping[str, Any]) -> Iterator[Mend]:
    """The task's goals in place of the program's; zones and containers stay."""
    made = {n for c in source.calls(tree, "add_zone", "add_container") for n in source.names(c)[:1]}
    calls = list(source.calls(tree, "goal"))
    plain = all(
        a.verb not in ("where", "mirrored", "outside", "closed")
        and a.stage == 0
        and (not (a.new or a.verb == "in_zone") or a.names[1] in made)
        for a in aims or ()
    )
    if aims and plain and len(calls) == 1:
        known = {t.name: t for t in things(data["scene"])}
        goals = ", ".join(writer.expression(aim, known) for aim in aims)
        yield (
            source.replaced(text, [(calls[0], f"{source.owner(calls[0])}.goal({goals})")]),
            "its goals are now the task's",
        )


def _strict(text: str, tree: ast.Module) -> Iterator[Mend]:
    for call in source.goals(tree):
        widest = WIDEST.get(source.verb(call))
        tolerance = source.argument(call, "tolerance")
        number = source.value(tolerance)
        if widest and tolerance is not None and isinstance(number, int | float) and number > 2 * widest:
            yield (
                source.replaced(text, [(tolerance, f"{widest / 2:g}")]),
                f"kit.{source.verb(call)} now means what it says: within {widest * 50:.0f} cm",
            )


def _moved_at_start(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Mend]:
    """What is where it should be starts somewhere else."""
    sim = source.simulation_name(tree)
    sizes = {t.name: diagonal(t) / 2 for t in things(data["scene"])}
    goals = source.goals(tree)
    first = next(source.calls(tree, "goal"), None)
    if not goals or first is None:
        return
    carried = [c for c in goals if source.verb(c) not in PARTS]
    movable = [n for n in dict.fromkeys(n for c in carried for n in source.names(c)[:1]) if n in sizes]
    for name in movable:
        line = f'{sim}.move("{name}", xy={sim}.free_spot({sizes[name] + 0.02:.2f}))'
        if line not in text:
            yield (
                source.inserted(text, first.lineno - 1, line),
                f"{name} starts somewhere else: it was where it should go",
            )


def _uncluttered(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Mend]:
    """All objects that no goal names are left out: more room."""
    every = {o["name"] for o in data["scene"]["objects"]}
    named = [str(s.value) for s in source.strings(tree)]
    used = [n for n in dict.fromkeys(named) if n in every]
    if len(used) < len(every) and used and not list(source.calls(tree, "keep")):
        sim = source.simulation_name(tree)
        line = f"{sim}.keep({writer.quoted(used)})"
        yield (
            source.inserted(text, source.after_start(text, tree), line),
            f"only {', '.join(used)} are kept: the others are in the way",
        )


def _unscattered(text: str, tree: ast.Module) -> Iterator[Mend]:
    for call in source.calls(tree, "scatter"):
        if len(call.args) > 1:
            first = ast.get_source_segment(text, call.args[0]) or ""
            yield (
                source.replaced(text, [(call, f"{source.owner(call)}.scatter({first})")]),
                f"only {source.value(call.args[0])} is scattered, the others start as photographed",
            )
        yield source.without_statement(text, call, tree), "everything starts as photographed"


def _simplified(text: str, tree: ast.Module, data: Mapping[str, Any], fault: Fault, again: str) -> Iterator[Mend]:
    """More room, then wider tolerances, larger targets, another order, a calmer start, fewer objects."""
    evidence = data["report"].get("evidence") or {}
    goals = source.goals(tree)
    unmet = [(call, said) for call, said in _told(goals, evidence.get("goals") or []) if not said.get("met")]
    crowded = bool(CROWDED.search(str(evidence.get("why") or "")))
    meant, now = read(data["task"].get("goals") or ()), source.aims(text)
    rest = source.parse(again)
    departs = rest is not None and _marks(tree) != _marks(rest)
    odd = any(aim not in (meant or ()) for aim in now) or len(now) != len(goals)
    if meant and odd and not list(source.calls(tree, "remove")):
        yield from _regoaled(text, tree, meant, data)
    yield from _defaults(text, unmet)
    if crowded:
        yield from _uncluttered(text, tree, data)
    yield from _wider(text, unmet)
    yield from _larger(text, tree, unmet, data)
    if departs:
        yield again, f"simulation.py is written anew from the task: {fault.reason}"
    yield from _reordered(text, unmet, data)
    if not crowded:
        yield from _uncluttered(text, tree, data)
    rewards = data["report"]["reward"]
    if (rewards and rewards[0] > 0.99) or len(rewards) < 2:
        yield from _unscattered(text, tree)
    yield from _spaced(text, tree)
    if data["task"].get("source") != "human":
        yield from _fewer(text, tree, goals, unmet, data)


def _marks(tree: ast.AST) -> list[str]:
    """What a program sets out on the table, and its goals, as text."""
    return [ast.unparse(call) for call in [*source.calls(tree, "add_zone", "add_container"), *source.goals(tree)]]


def _told(goals: list[ast.Call], told: list[Mapping[str, Any]]) -> list[tuple[ast.Call, Mapping[str, Any]]]:
    """Each goal of the source with what was measured of it: in order, or by the objects named."""
    if len(goals) == len(told):
        return list(zip(goals, told, strict=True))
    pairs = []
    for call in goals:
        said = [t for t in told if set(re.findall(r"\w+", str(t.get("name")))) & set(source.names(call))]
        worst = min(said, key=lambda t: (bool(t.get("met")), -(t.get("miss") or 0)), default={"met": True})
        pairs.append((call, worst))
    return pairs


def _defaults(text: str, unmet: list[tuple[ast.Call, Mapping[str, Any]]]) -> Iterator[Mend]:
    """A tolerance tighter than the kit's own goes first."""
    own = {"on": 0.02, "stacked": 0.02, "inside": 0.01, "in_row": 0.03, "at": 0.03}
    for call, _ in unmet:
        verb, tolerance = source.verb(call), source.argument(call, "tolerance")
        number = source.value(tolerance)
        if verb in own and tolerance is not None and isinstance(number, int | float) and number < own[verb]:
            yield (
                source.replaced(text, [(tolerance, f"{own[verb]:g}")]),
                f"{number * 100:.2g} cm was too tight for kit.{verb}: {own[verb] * 100:.0f} cm",
            )


def _wider(text: str, unmet: list[tuple[ast.Call, Mapping[str, Any]]]) -> Iterator[Mend]:
    """A goal that is missed by little becomes a little wider, within what it still means."""
    own = {"on": 0.02, "stacked": 0.02, "inside": 0.01, "in_row": 0.03, "in_zone": 0.0, "at": 0.03}
    for call, said in unmet:
        verb = source.verb(call)
        misses = [m for m in (said.get("miss"), said.get("nearest_miss")) if isinstance(m, int | float) and m > 0]
        if verb not in own or not misses:
            continue
        now = source.value(source.argument(call, "tolerance")) or own[verb]
        wide = now + min(misses) * 1.3 + 0.004
        if wide <= WIDEST[verb]:
            yield (
                source.with_argument(text, call, "tolerance", f"{wide:.3f}"),
                f"kit.{verb} was missed by {min(misses) * 100:.1f} cm: it now allows {wide * 100:.1f} cm",
            )
    for call, _ in unmet:
        distance = source.argument(call, "distance", 2)
        number = source.value(distance)
        if source.verb(call) in ("near", "away") and isinstance(number, int | float):
            wide = number * (1.3 if source.verb(call) == "near" else 0.8)
            if 0.1 < wide < 0.4 and distance is not None:
                yield (
                    source.replaced(text, [(distance, f"{wide:.2f}")]),
                    f"{source.verb(call)} now means {wide * 100:.0f} cm",
                )


def _larger(
    text: str, tree: ast.Module, unmet: list[tuple[ast.Call, Mapping[str, Any]]], data: Mapping[str, Any]
) -> Iterator[Mend]:
    """Zones and containers too small for a thing, or missed by little, grow: never so that they come to the object."""
    wide = {t.name: diagonal(t) for t in things(data["scene"])}
    near = [call for call, said in unmet if min(said.get("miss") or 0, said.get("nearest_miss") or 0) < NEARLY]
    targets = {n for call in near for n in source.names(call)}
    for made in source.calls(tree, "add_zone", "add_container"):
        name = source.value(source.argument(made, "name", 0))
        size = source.argument(made, "size", 2)
        now = source.value(size)
        if size is None or now is None:
            continue
        sides = [float(s) for s in (now if isinstance(now, tuple | list) else [now])]
        missed = [n for call, _ in unmet if name in source.names(call) for n in source.names(call)[:1]]
        if name not in targets and not any(wide.get(n, 0) + 0.02 > min(sides) for n in missed):
            continue
        if max(sides) * 1.35 > 0.7:
            continue
        grown = ", ".join(f"{s * 1.35:.2f}" for s in sides)
        yield source.replaced(text, [(size, f"({grown})" if len(sides) > 1 else grown)]), f"{name} is a third larger"


def _reordered(text: str, unmet: list[tuple[ast.Call, Mapping[str, Any]]], data: Mapping[str, Any]) -> Iterator[Mend]:
    """A tower that fell is built broad below narrow, unless a person said the order."""
    known = {t.name: t for t in things(data["scene"])}
    for call, _ in unmet:
        said = source.names(call)
        if (
            source.verb(call) == "stacked"
            and call.args
            and all(n in known for n in said)
            and "order" not in data["task"].get("instruction", "")
        ):
            best = [t.name for t in tower([known[n] for n in said])]
            if best != list(said):
                yield (
                    source.replaced(text, [(call.args[0], f"[{writer.quoted(best)}]")]),
                    f"the tower fell: {best[0]} goes to the bottom, the narrower above",
                )


def _spaced(text: str, tree: ast.Module) -> Iterator[Mend]:
    for call in source.calls(tree, "scatter"):
        gap = source.value(source.argument(call, "gap")) or 0.03
        if gap < 0.06:
            yield source.with_argument(text, call, "gap", "0.06"), "the start is laid out with more room between things"
    for call in [c for c in source.goals(tree) if source.verb(c) == "in_row"]:
        if isinstance(source.value(source.argument(call, "spacing", 2)), int | float):
            yield source.with_argument(text, call, "spacing", "None", 2), "the row's spacing is left to the oracle"


def _fewer(
    text: str,
    tree: ast.Module,
    goals: list[ast.Call],
    unmet: list[tuple[ast.Call, Mapping[str, Any]]],
    data: Mapping[str, Any],
) -> Iterator[Mend]:
    """One object less, where at least two goals or two objects remain. Never of a person's own task."""
    why = str((data["report"].get("evidence") or {}).get("why") or "")
    wanted = list(data["task"].get("objects", ()))
    sim = source.simulation_name(tree)
    for call, _ in unmet:
        said = [n for n in source.names(call) if n in wanted]
        verb = source.verb(call)
        several = verb in ("stacked", "in_row") and len(said) > 2
        if not several and (len(goals) < 2 or verb not in ("inside", "in_zone", "near", "away", "on_table", "at")):
            continue
        if verb == "at":
            continue
        options = said if several else said[:1]
        for name in sorted(options, key=lambda n: n not in why):
            edits: list[tuple[ast.AST, str]] = []
            if several:
                listing = [e for e in getattr(call.args[0], "elts", []) if source.value(e) != name]
                edits.append(
                    (call.args[0], "[" + ", ".join(ast.get_source_segment(text, e) or "" for e in listing) + "]")
                )
            else:
                holder = next((g for g in source.calls(tree, "goal") if call in g.args), None)
                if holder is None or len(holder.args) < 2:
                    continue
                rest = ", ".join(ast.get_source_segment(text, a) or "" for a in holder.args if a is not call)
                edits.append((holder, f"{source.owner(holder)}.goal({rest})"))
            for other in source.calls(tree, "scatter", "keep"):
                if name in source.names(other):
                    rest = ", ".join(
                        ast.get_source_segment(text, a) or "" for a in other.args if source.value(a) != name
                    )
                    edits.append((other, f"{source.owner(other)}.{source.verb(other)}({rest})"))
            done = source.replaced(text, edits)
            again = source.parse(done)
            if again is not None and name in {str(s.value) for s in source.strings(again)}:
                continue
            if again is not None and not list(source.calls(again, "keep")):
                done = source.inserted(done, source.after_start(done, again), f'{sim}.remove("{name}")')
            yield done, f"simpler: without {name}" + (f" ({why})" if why else "")
