"""Repairs of a program: its side is written again from the task, a tolerance widened, what is in the way left out."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.planner import program_writer, source_edits
from pipeline.planner.diagnosis import Diagnosis, is_confirmed, leaves_the_order_open
from pipeline.simulation.goals.sentences import stated_goals
from pipeline.simulation.goals.spec import goal_specs, quoted

Repair = tuple[str, str]
"""A source, and what was changed, as a sentence."""


def repair_simulation(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of simulation.py, likeliest first; `data` is the content of the question."""
    text, goals = data["simulation"], stated_goals(data)
    if goals:
        rewritten = program_writer.simulation_source(data["task"].get("instruction", ""), goals, data["scene"])
        yield rewritten, f"simulation.py is written again from the task: {diagnosis.reason}"
    tree = source_edits.parse(text)
    if tree is not None and source_edits.build(tree) is not None:
        yield from _widen_a_tolerance(text, tree, data)
        yield from _leave_out_others(text, tree, data)


def repair_checks(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of checks.py: they are written again from the goals of the simulation, then of the task.

    The task's come first where the simulation does what the task asks, unless its words leave an order open.
    """
    sources = [source_edits.planned_goals(data["simulation"]), stated_goals(data)]
    if is_confirmed(data["report"]) and not leaves_the_order_open(data["report"]):
        sources.reverse()
    for goals in filter(None, sources):
        yield program_writer.checks_source(goals), f"checks.py is written again from the goals: {diagnosis.reason}"


def _widen_a_tolerance(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Widen the tolerance of a goal that is missed by little, within what it still means."""
    entries = (data["report"].get("evidence") or {}).get("goals") or []
    for call in source_edits.goals(tree):
        tolerance = goal_specs()[source_edits.method_name(call)].tolerance
        named = set(source_edits.text_arguments(call))
        unmet = [e for e in entries if not e.get("met") and named & set(re.findall(r"\w+", str(e.get("name"))))]
        misses = [
            m for e in unmet for m in (e.get("miss"), e.get("nearest_miss")) if isinstance(m, int | float) and m > 0
        ]
        if tolerance is None or tolerance.widest is None or tolerance.radians or not misses:
            continue
        now = source_edits.value(source_edits.argument(call, "tolerance"))
        wide = (now if isinstance(now, int | float) else tolerance.default) + min(misses) * 1.3 + 0.004
        if wide <= tolerance.widest:
            reason = f"{source_edits.method_name(call)} was missed by {min(misses) * 100:.1f} cm"
            yield (
                source_edits.with_argument(text, call, "tolerance", f"{wide:.3f}"),
                f"{reason}: its tolerance is wider",
            )


def _leave_out_others(text: str, tree: ast.Module, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Leave out all objects that the program does not name, for more room."""
    present = {o["name"] for o in data["scene"]["objects"]}
    used = [n for n in dict.fromkeys(str(s.value) for s in source_edits.strings(tree)) if n in present]
    if len(used) < len(present) and used and not list(source_edits.calls(tree, "keep")):
        line = f"{source_edits.simulation_name(tree)}.keep({quoted(used)})"
        done = source_edits.inserted(text, source_edits.after_start(text, tree), line)
        yield done, f"only {', '.join(used)} are kept: the others are in the way"
