"""What a recipe changes of the photograph, and the same recipe with every photographed object where and as it was."""

from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.recipe import Recipe, RecipeCall

CHANGES_ONE = ("move", "resize", "set_open")
"""Verbs that change the object that they name first."""
LEAVES_OUT = ("remove", "keep")
ADDS = ("add_zone", "add_container")
MOVED_M = 0.01
"""Sizes and places are measured to about 1 cm; a smaller change is none."""


def as_photographed(recipe: Recipe, photographed: frozenset[str], first: Recipe | None = None) -> Recipe:
    """Return the recipe without the calls that move, resize, open or leave out photographed objects.

    Goals, zones, containers and copies stay, with the values that the program gave them. Another layout keeps the
    places that the seed draws, on the whole table, and has the zones and containers of the `first` one.
    """
    calls = [kept for call in recipe.calls if (kept := _without(call, photographed))]
    added = {_named(call): call for call in first.calls if call.verb in ADDS} if first else {}
    calls = [added.get(_named(call), call) if call.verb in ADDS else call for call in calls]
    return recipe.model_copy(update={"calls": calls})


def _without(call: RecipeCall, photographed: frozenset[str]) -> RecipeCall | None:
    if call.verb in LEAVES_OUT:
        others = [name for name in call.arguments if name not in photographed]
        return call.model_copy(update={"arguments": others}) if call.verb == "remove" and others else None
    if call.verb == "scatter":
        return call.model_copy(update={"named": {k: v for k, v in call.named.items() if k != "within"}})
    return None if call.verb in CHANGES_ONE and _named(call) in photographed else call


def _named(call: RecipeCall) -> str:
    """Return the object, zone or container that a call names first."""
    return str(call.arguments[0] if call.arguments else call.named.get("name"))


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


def compare_starts(layouts: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> dict[str, Any]:
    """Return how layouts start, as arranged and as photographed (`start_of`), as one value of the report's evidence.

    It is the first layout's start, its goals with "photographed": the miss where nothing is changed. "others" has for
    each other layout the sum of the misses as arranged and as photographed, in metres; "resized_others" the factors.
    """
    (arranged, photographed), *rest = layouts
    if refused := photographed.get("refused"):
        return {"refused": refused}
    others = [(one, photographed if before.get("refused") else before) for one, before in rest if "refused" not in one]
    pairs = zip(arranged["goals"], photographed["goals"], strict=True)
    names = {name for one, _ in others for name in one["resized"]}
    return {
        **arranged,
        "goals": [goal | {"photographed": before["miss"]} for goal, before in pairs],
        "others": [[sum(goal["miss"] or 0.0 for goal in start["goals"]) for start in pair] for pair in others],
        "resized_others": {name: [one["resized"].get(name, 1.0) for one, _ in others] for name in sorted(names)},
    }


def _distance(placed: Any, before: Any) -> float:
    """Return the distance on the ground, in metres, or how much higher or lower the object stands."""
    across = placed.position[:2] - before.position[:2]
    return float(max(abs(placed.bottom - before.bottom), (across @ across) ** 0.5))


def _goal(goal: Goal, state: Any) -> dict[str, Any]:
    facts = {"name": goal.name, "objects": goal.objects, "carried": goal.carried}
    return facts | {"miss": goal.miss(state), "clear": goal.clear_miss}
