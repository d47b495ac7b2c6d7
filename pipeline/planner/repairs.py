"""Repairs of a program: its side is written again from the task, a tolerance widened, what is in the way left out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pipeline.planner import program_source, program_writer
from pipeline.planner.diagnosis import Diagnosis, is_confirmed, leaves_the_order_open
from pipeline.simulation.goals.sentences import named_objects, stated_goals
from pipeline.simulation.goals.spec import PlannedGoal
from pipeline.simulation.misspelled_names import with_names_corrected

Repair = tuple[str, str]
"""A source, and what was changed, as a sentence."""


def repair_simulation(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of simulation.py, likeliest first; `data` is the content of the question."""
    goals, scene = stated_goals(data), data["scene"]
    if not goals:
        return
    corrected, changes = with_names_corrected(data["simulation"])
    if changes:
        yield corrected, f"misspelled names are corrected: {', '.join(changes)}"
    write = partial(program_writer.simulation_source, data["task"].get("instruction", ""), goals, scene)
    yield write(), f"simulation.py is written again from the task: {diagnosis.reason}"
    for goal, miss, wide in _wider_tolerances(goals, data):
        reason = f"{goal.kind} was missed by {miss * 100:.1f} cm: its tolerance is wider"
        yield write(tolerances={goal: wide}), reason
    yield write(alone=True), f"only {', '.join(named_objects(goals))} are kept: the others are in the way"


def repair_checks(data: Mapping[str, Any], diagnosis: Diagnosis) -> Iterator[Repair]:
    """Yield repairs of checks.py: they are written again from the goals of the simulation, then of the task.

    The task's come first where the simulation does what the task asks, unless its words leave an order open.
    """
    corrected, changes = with_names_corrected(data["checks"])
    if changes:
        yield corrected, f"misspelled names are corrected: {', '.join(changes)}"
    sources = [program_source.planned_goals(data["simulation"]), stated_goals(data)]
    if is_confirmed(data["report"]) and not leaves_the_order_open(data["report"]):
        sources.reverse()
    for goals in filter(None, sources):
        yield program_writer.checks_source(goals), f"checks.py is written again from the goals: {diagnosis.reason}"


def _wider_tolerances(
    goals: Sequence[PlannedGoal], data: Mapping[str, Any]
) -> Iterator[tuple[PlannedGoal, float, float]]:
    """Yield goals that are missed by little, each with its miss and a tolerance (m) within what it still means."""
    entries = (data["report"].get("evidence") or {}).get("goals") or []
    now = {(kind, names): number for kind, names, number in program_source.tolerances(data["simulation"])}
    for goal in goals:
        tolerance, named = goal.spec.tolerance, set(goal.names)
        unmet = [e for e in entries if not e.get("met") and named & set(re.findall(r"\w+", str(e.get("name"))))]
        misses = [
            m for e in unmet for m in (e.get("miss"), e.get("nearest_miss")) if isinstance(m, int | float) and m > 0
        ]
        if tolerance is None or tolerance.widest is None or tolerance.radians or not misses:
            continue
        wide = now.get((goal.kind, goal.names), tolerance.default) + min(misses) * 1.3 + 0.004
        if wide <= tolerance.widest:
            yield goal, min(misses), wide
