"""What a recipe changes of the photograph, and the same recipe with every photographed object where it was."""

from collections.abc import Mapping
from typing import Any

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.recipe import Recipe, RecipeCall

CHANGES_ONE = ("move", "resize", "set_open")
"""Verbs that change the object that they name first."""
LEAVES_OUT = ("remove", "keep")
MOVED_M = 0.01
"""Sizes and places are measured to about 1 cm; a smaller change is none."""


def as_photographed(recipe: Recipe, photographed: frozenset[str]) -> Recipe:
    """Return the recipe without the calls that move, resize, open or leave out photographed objects.

    Goals, zones, containers and copies stay, with the values that the program gave them.
    """
    calls = [kept for call in recipe.calls if (kept := _without(call, photographed))]
    return recipe.model_copy(update={"calls": calls})


def _without(call: RecipeCall, photographed: frozenset[str]) -> RecipeCall | None:
    if call.verb in LEAVES_OUT:
        others = [name for name in call.arguments if name not in photographed]
        return call.model_copy(update={"arguments": others}) if call.verb == "remove" and others else None
    named = call.arguments[0] if call.arguments else call.named.get("name")
    return None if call.verb in CHANGES_ONE and str(named) in photographed else call


def start_of(sim: Any) -> dict[str, Any]:
    """Return how a kit.Simulation starts, as JSON values.

    "goals": each goal's name, carried objects, objects, miss in metres and the miss beyond which it is clearly missed;
    "left_out": names; "moved": metres by name; "resized": factors by name; "copies": the source of each; "opened": the
    share by which each part starts open, by "object part".
    """
    state, placed = sim.state(), {o.name: o for o in sim.objects}
    before = {o.name: o for o in sim.scene.objects}
    both = [name for name in before if name in placed]
    distances = {name: _distance(placed[name], before[name]) for name in both}
    factors = {name: float(placed[name].size[0] / before[name].size[0]) for name in both}
    return {
        "goals": [_goal(goal, state) for _, goals in sim.stages for goal in goals],
        "left_out": [name for name in before if name not in placed],
        "moved": {name: metres for name, metres in distances.items() if metres > MOVED_M},
        "resized": {name: factor for name, factor in factors.items() if abs(factor - 1) > 1e-3},
        "copies": {name: origin for name, origin in sim.origins.items() if name in placed and name not in before},
        "opened": {f"{name} {part.name}": part.open for name in both for part in placed[name].parts if part.open > 0},
    }


def compare_starts(
    arranged: Mapping[str, Any], photographed: Mapping[str, Any], *others: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the starts of layouts (`start_of`) as one value of the report's evidence.

    It is the first layout's, its goals with "photographed": the miss if nothing had been changed. "others" has the sum
    of the misses in each other layout, in metres, and "resized_others" the factors there.
    """
    if refused := photographed.get("refused"):
        return {"refused": refused}
    others = tuple(one for one in others if not one.get("refused"))
    pairs = zip(arranged["goals"], photographed["goals"], strict=True)
    names = {name for one in others for name in one.get("resized", {})}
    return {
        **arranged,
        "goals": [goal | {"photographed": before["miss"]} for goal, before in pairs],
        "others": [sum(goal["miss"] or 0.0 for goal in one["goals"]) for one in others],
        "resized_others": {name: [one["resized"].get(name, 1.0) for one in others] for name in sorted(names)},
    }


def _distance(placed: Any, before: Any) -> float:
    """Return the distance on the ground, in metres, or how much higher or lower the object stands."""
    across = placed.position[:2] - before.position[:2]
    return float(max(abs(placed.bottom - before.bottom), (across @ across) ** 0.5))


def _goal(goal: Goal, state: Any) -> dict[str, Any]:
    facts = {"name": goal.name, "objects": goal.objects, "carried": goal.carried}
    return facts | {"miss": goal.miss(state), "clear": goal.clear_miss}
