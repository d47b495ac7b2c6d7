"""Repairs of simulation.py that ask for less of an unmet goal: tolerances, distances, larger targets, another order."""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.planner import source_edits
from pipeline.planner.plans import stacking_order
from pipeline.planner.scene_objects import scene_objects
from pipeline.planner.source_edits import Repair
from pipeline.simulation.goals.spec import goal_specs, quoted

SMALL_MISS = 0.06
"""Metres by which a target may be missed for its size to be the cause."""
GROWTH = 1.35
"""Factor by which a target grows."""
UnmetGoals = list[tuple[ast.Call, Mapping[str, Any]]]
"""Calls of the kit's goals with the report's entry of each."""


def goals_with_results(calls: list[ast.Call], entries: list[Mapping[str, Any]]) -> UnmetGoals:
    """Pair each goal of the source with the report's entry on it: in order, or by the objects named."""
    if len(calls) == len(entries):
        return list(zip(calls, entries, strict=True))
    pairs = []
    for call in calls:
        named = set(source_edits.text_arguments(call))
        related = [entry for entry in entries if set(re.findall(r"\w+", str(entry.get("name")))) & named]
        worst = min(
            related, key=lambda entry: (bool(entry.get("met")), -(entry.get("miss") or 0)), default={"met": True}
        )
        pairs.append((call, worst))
    return pairs


def _metric_tolerance(call: ast.Call) -> tuple[float, float] | None:
    """Return the default and the widest tolerance of a goal in metres; None for goals without them."""
    tolerance = goal_specs()[source_edits.method_name(call)].tolerance
    if tolerance is None or tolerance.widest is None or tolerance.radians:
        return None
    return tolerance.default, tolerance.widest


def restore_tolerances(text: str, unmet: UnmetGoals) -> Iterator[Repair]:
    """Set a tolerance that is tighter than the kit's default to the default."""
    for call, _ in unmet:
        allowed, argument = _metric_tolerance(call), source_edits.argument(call, "tolerance")
        number = source_edits.value(argument)
        if allowed and argument is not None and isinstance(number, int | float) and number < allowed[0]:
            kind = source_edits.method_name(call)
            reason = f"{number * 100:.2g} cm was too tight for kit.{kind}: {allowed[0] * 100:.0f} cm"
            yield source_edits.replaced(text, [(argument, f"{allowed[0]:g}")]), reason


def widen_tolerances(text: str, unmet: UnmetGoals) -> Iterator[Repair]:
    """Widen the tolerance of a goal that is missed by little, within what it still means."""
    for call, entry in unmet:
        allowed = _metric_tolerance(call)
        misses = [m for m in (entry.get("miss"), entry.get("nearest_miss")) if isinstance(m, int | float) and m > 0]
        if not allowed or not misses:
            continue
        default, widest = allowed
        now = source_edits.value(source_edits.argument(call, "tolerance")) or default
        wide = now + min(misses) * 1.3 + 0.004
        if wide <= widest:
            kind, missed = source_edits.method_name(call), min(misses) * 100
            reason = f"kit.{kind} was missed by {missed:.1f} cm: it now allows {wide * 100:.1f} cm"
            yield source_edits.with_argument(text, call, "tolerance", f"{wide:.3f}"), reason


def relax_distances(text: str, unmet: UnmetGoals) -> Iterator[Repair]:
    """Make the distance of a goal easier to meet."""
    for call, _ in unmet:
        kind, distance = source_edits.method_name(call), source_edits.argument(call, "distance", 2)
        number, factor = source_edits.value(distance), goal_specs()[kind].distance_factor
        if factor and distance is not None and isinstance(number, int | float):
            relaxed = number * factor
            if 0.1 < relaxed < 0.4:
                done = source_edits.replaced(text, [(distance, f"{relaxed:.2f}")])
                yield done, f"{kind} now means {relaxed * 100:.0f} cm"


def enlarge_targets(text: str, tree: ast.Module, unmet: UnmetGoals, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Enlarge zones and containers that are too small for an object, or that were missed by little.

    None grows so much that it would reach the object where it starts.
    """
    widths = {o.name: o.diagonal for o in scene_objects(data["scene"])}
    close = [call for call, entry in unmet if min(entry.get("miss") or 0, entry.get("nearest_miss") or 0) < SMALL_MISS]
    targets = {n for call in close for n in source_edits.text_arguments(call)}
    for added in source_edits.calls(tree, "add_zone", "add_container"):
        name = source_edits.value(source_edits.argument(added, "name", 0))
        size = source_edits.argument(added, "size", 2)
        now = source_edits.value(size)
        if size is None or now is None:
            continue
        sides = [float(s) for s in (now if isinstance(now, tuple | list) else [now])]
        arguments = [source_edits.text_arguments(call) for call, _ in unmet]
        missed = [n for names in arguments if name in names for n in names[:1]]
        if name not in targets and not any(widths.get(n, 0) + 0.02 > min(sides) for n in missed):
            continue
        if max(sides) * GROWTH > 0.7:
            continue
        grown = ", ".join(f"{s * GROWTH:.2f}" for s in sides)
        done = source_edits.replaced(text, [(size, f"({grown})" if len(sides) > 1 else grown)])
        yield done, f"{name} is a third larger"


def reorder_towers(text: str, unmet: UnmetGoals, data: Mapping[str, Any]) -> Iterator[Repair]:
    """Build a tower that fell broad below narrow, unless a person gave the order."""
    known = {o.name: o for o in scene_objects(data["scene"])}
    if "order" in data["task"].get("instruction", ""):
        return
    for call, _ in unmet:
        names = source_edits.text_arguments(call)
        if source_edits.method_name(call) == "stacked" and call.args and all(n in known for n in names):
            best = [o.name for o in stacking_order([known[n] for n in names])]
            if best != list(names):
                done = source_edits.replaced(text, [(call.args[0], f"[{quoted(best)}]")])
                yield done, f"the tower fell: {best[0]} goes to the bottom, the narrower above"
