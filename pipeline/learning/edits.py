"""A person's edits of subtasks: weights, terms and success conditions. Each gives new rows for subtasks.json.

An edit is kept as a decision {task, rows, former, change}: the rows after it and before it. Undo and redo are followed
by `followed`, which needs nothing but the file and the decisions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.learning.subtask import LEARN, PLAN, LearningError, Subtask, WeightedTerm, term_row, why_unusable
from pipeline.learning.terms import Energy, OthersStill, RewardTerm, term_from_json
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import HandNear, Held
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.recipe import from_json, to_json

MAX_WEIGHT = 100.0
Rows = list[dict[str, Any]]


def edited(subtasks: Sequence[Subtask], name: str, edit: Mapping[str, Any]) -> tuple[Subtask, ...]:
    """Return the subtasks after an edit of one, as a page sends it. Raises LearningError.

    {change: "weight", index, weight}, {change: "remove_term" | "remove_goal", index}, {change: "add_term", row:
    {term, args, weight}}, {change: "way", way: "learn" | "plan"}, {change: "code", index, source} of a term "code",
    and with no index of a new one, {change: "add_goal", row: {goal, ...}}.
    """
    found = next((one for one in subtasks if one.name == name), None)
    if found is None:
        raise LearningError(f"there is no subtask {name!r}; there are: {', '.join(one.name for one in subtasks)}")
    changed = _changed(found, edit)
    return tuple(changed if one is found else one for one in subtasks)


def _changed(subtask: Subtask, edit: Mapping[str, Any]) -> Subtask:
    terms, goals = list(subtask.reward), list(subtask.success)
    try:
        match edit.get("change"):
            case "weight":
                index, weight = _checked(edit["index"], terms), float(edit["weight"])
                if not 0 < weight <= MAX_WEIGHT:
                    raise LearningError(
                        f"a weight is above 0 and at most {MAX_WEIGHT:g}; delete the term to leave it out"
                    )
                terms[index] = replace(terms[index], weight=weight)
            case "remove_term":
                _require_another(terms, "a reward needs at least one term")
                del terms[_checked(edit["index"], terms)]
            case "remove_goal":
                _require_another(goals, "a subtask needs at least one success condition")
                del goals[_checked(edit["index"], goals)]
            case "add_term":
                row = edit["row"]
                term = term_from_json(row["term"], row["args"])
                if any(one.term == term for one in terms):
                    raise LearningError("the reward has this term already; change its weight")
                terms.append(WeightedTerm(term, float(row.get("weight", 1.0))))
            case "code":
                term = term_from_json("code", {"source": str(edit["source"])})
                if edit.get("index") is None:
                    terms.append(WeightedTerm(term, 1.0))
                else:
                    index = _checked(edit["index"], terms)
                    terms[index] = replace(terms[index], term=term)
            case "way" if edit["way"] in (LEARN, PLAN):
                return replace(subtask, way=edit["way"])
            case "add_goal" if isinstance(goal := from_json(edit["row"]), Goal):
                if goal in goals:
                    raise LearningError("the subtask has this success condition already")
                goals.append(goal)
            case _:
                raise ValueError
    except KitError as error:
        raise LearningError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        raise LearningError("this edit of a subtask cannot be read; reload the page") from None
    return replace(subtask, reward=tuple(terms), success=tuple(goals), source="human")


def _require_another(values: Sequence[Any], why: str) -> None:
    if len(values) == 1:
        raise LearningError(f"{why}; add another one first")


def _checked(index: Any, values: Sequence[Any]) -> int:
    """Return the index of one of the values. Raises LearningError."""
    if not 0 <= int(index) < len(values):
        raise LearningError(f"there is no number {int(index)}; there are {len(values)}")
    return int(index)


# ---------------------------------------------------------------------- what can be added


def possible_terms(subtask: Subtask, objects: Mapping[str, Object], zones: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows {term, args, weight} of the terms that could be added, about what the subtask measures."""
    names = [name for name in subtask.objects if name in objects]
    rows, has = [], {one.term for one in subtask.reward}
    for term in _candidates(subtask, names, objects):
        with_it = replace(subtask, reward=(*subtask.reward, WeightedTerm(term)))
        if term not in has and not _unusable(with_it, objects, zones):
            rows.append(term_row(term))
    return rows


def possible_goals(
    subtask: Subtask, task_goals: Sequence[Goal], objects: Mapping[str, Object], zones: Sequence[str]
) -> list[dict[str, Any]]:
    """Return the rows of the success conditions that could be added: the task's goals, and those about the hand."""
    names = [name for name in subtask.objects if name in objects]
    free = [name for name in names if not objects[name].fixed and not objects[name].parts]
    goals = [*task_goals, *(HandNear(name) for name in names), *(Held(name) for name in free)]
    usable = [
        goal
        for goal in dict.fromkeys(goals)
        if goal not in subtask.success
        and not _unusable(replace(subtask, success=(*subtask.success, goal)), objects, zones)
    ]
    return [to_json(goal) for goal in usable]


def _candidates(subtask: Subtask, names: Sequence[str], objects: Mapping[str, Object]) -> Iterator[RewardTerm]:
    """Yield terms of every kind about the objects, parts and goals that a subtask names."""
    others = tuple(name for name, one in objects.items() if not one.fixed and name not in names[:1])
    for name in names:
        for kind in ("hand_distance", "held", "lifted", "upright"):
            yield term_from_json(kind, {"a": name})
    if names and others:
        yield OthersStill(names[0], others)
    for name, part in subtask.joints:
        yield term_from_json("hand_distance", {"a": name, "part": part})
        yield term_from_json("held", {"a": name, "part": part})
        yield term_from_json("joint_target", {"a": name, "part": part})
    for goal in subtask.success:
        for kind in ("goal_distance", "released", *(("approach",) if goal.rests or goal.fills_zone else ())):
            yield term_from_json(kind, {"goal": to_json(goal)})
    yield Energy()


def _unusable(subtask: Subtask, objects: Mapping[str, Object], zones: Sequence[str]) -> str:
    return why_unusable(replace(subtask, start="reset"), (), objects, zones)


# ---------------------------------------------------------------------- undo and redo


def followed(
    rows: Rows | None, active: Sequence[Mapping[str, Any]], undone: Sequence[Mapping[str, Any]]
) -> Rows | None:
    """Return the rows of subtasks.json after undo and redo: those before each undone edit, those after a redone one.

    Args:
        rows: of the file now.
        active: the data of the edits of this task that hold, in order.
        undone: of those that can be redone, the next one last.
    """
    if rows is None:
        return None
    for edit in undone:  # the one that was undone first comes first
        if rows == edit["rows"]:
            rows = list(edit["former"])
    for edit in active:
        if rows == edit["former"]:
            rows = list(edit["rows"])
    return rows
