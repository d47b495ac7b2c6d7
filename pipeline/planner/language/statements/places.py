"""Goals about places on the table: a side, the outermost place, between two objects."""

from collections.abc import Sequence

from pipeline.planner.language.errors import RefusedClause, UnclearPhrase
from pipeline.planner.language.phrases.noun_phrases import Modifier, NounPhrases
from pipeline.planner.language.tokens import Token, text_of
from pipeline.planner.plans import already_met
from pipeline.planner.scene_objects import SceneObject
from pipeline.simulation.goals.spec import PlannedGoal

Goals = tuple[str, list[PlannedGoal]]
"""Kind of task, and its goals."""


def placed(phrases: NounPhrases, objects: Sequence[SceneObject], place: str) -> Goals:
    """Return the goals of moving objects to a side of the table."""
    start = phrases.start
    if place in ("other", "aside"):
        right, _ = start.side(objects[0])
        is_left = right < 0.5
        place = ("right" if is_left else "left") if place == "other" else ("left" if is_left else "right")
    if place.endswith("most"):
        return _outermost(phrases, objects, place.removesuffix("most"))
    return "move_to", [PlannedGoal("in_zone", (o.name, f"{place}_zone" if place else "zone")) for o in objects]


def _outermost(phrases: NounPhrases, objects: Sequence[SceneObject], side: str) -> Goals:
    """Return the goals of making one object the outermost on a side."""
    if len(objects) != 1:
        return placed(phrases, objects, side)
    (moved,) = objects
    key, sign, relation = {
        "left": ("right", -1, "left_of"), "right": ("right", 1, "right_of"),
        "near": ("away", -1, "in_front_of"), "far": ("away", 1, "behind"),
    }[side]  # fmt: skip
    start = phrases.start
    others = sorted((o for o in phrases.objects if o != moved), key=lambda o: -sign * start.measure(o, key))
    if not others:
        raise UnclearPhrase(f"{phrases.called(moved)} is the only object: it is the outermost already")
    edge = start.measure(others[0], key)
    at_edge = [o for o in others if abs(start.measure(o, key) - edge) < 0.03]
    return "place_beside", [PlannedGoal(relation, (moved.name, o.name)) for o in at_edge]


def between(
    phrases: NounPhrases, objects: Sequence[SceneObject], target: Sequence[Token], after: Sequence[Modifier]
) -> Goals:
    ends = phrases.select(target, after).objects
    if len(ends) != 2 or len(objects) != 1:
        raise UnclearPhrase(f'"between {text_of(target)}" needs one object and two others', text_of(target))
    moved, start = objects[0], phrases.start
    if moved in ends:
        raise UnclearPhrase(f"{phrases.called(moved)} cannot be put between itself and another object")
    if start.is_between(moved, *ends):
        raise UnclearPhrase(f"{phrases.called(moved)} is between {phrases.list_of(ends)} already")
    spread = {k: abs(start.measure(ends[0], k) - start.measure(ends[1], k)) for k in ("right", "away")}
    key = max(spread, key=lambda k: spread[k])
    low, high = start.ranked(ends, key)
    place = start.place_between(moved, low, high)
    if place is not None:
        return "place_beside", [PlannedGoal("at", (moved.name,), xy=place)]
    table = phrases.start.table
    after_low, before_high = ("right_of", "left_of") if key == "right" else ("behind", "in_front_of")
    sides = (PlannedGoal(after_low, (moved.name, low.name)), PlannedGoal(before_high, (moved.name, high.name)))
    ends_of = {low.name: low, high.name: high}
    if all(already_met(goal, [moved, ends_of[goal.names[1]]], table) for goal in sides):
        raise RefusedClause(
            f"{phrases.called(moved)} stands between {phrases.list_of(ends)} already, "
            "and nearer to the line between them there is no room"
        )
    return "place_beside", list(sides)
