"""A person's edits of subtasks: weights, terms and success conditions. Each gives new rows for subtasks.json.

An edit is kept as a decision {task, rows, former, change}: the rows after it and before it. Undo and redo are followed
by `followed`, which needs nothing but the file and the decisions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.learning.subtask import LearningError, Subtask, WeightedTerm, why_unusable
from pipeline.learning.terms.others_still import OthersStill
from pipeline.learning.terms.term import RewardTerm, args_to_json, reward_terms, term_from_json
from pipeline.simulation.goals.goal import Goal
from pipeline.simulation.goals.hand import HandNear, Held
from pipeline.simulation.objects import KitError, Object
from pipeline.simulation.recipe import from_json, to_json

MAX_WEIGHT = 100.0
Rows = list[dict[str, Any]]


def with_weight(subtask: Subtask, index: int, weight: float) -> Subtask:
    """Return the subtask with another weight of a term. Raises LearningError."""
    if not 0 < weight <= MAX_WEIGHT:
        raise LearningError(f"a weight is above 0 and at most {MAX_WEIGHT:g}; delete the term to leave it out")
    terms = list(subtask.reward)
    _checked(index, terms)
    terms[index] = replace(terms[index], weight=float(weight))
    return replace(subtask, reward=tuple(terms), source="human")


def without_term(subtask: Subtask, index: int) -> Subtask:
    """Return the subtask without a term. Raises LearningError for its last one."""
    terms = list(subtask.reward)
    if len(terms) == 1:
        raise LearningError("a reward needs at least one term; add another one first")
    del terms[_checked(index, terms)]
    return replace(subtask, reward=tuple(terms), source="human")


def with_term(subtask: Subtask, term: RewardTerm, weight: float = 1.0) -> Subtask:
    """Return the subtask with one more term. Raises LearningError if it has it already."""
    if any(one.term == term for one in subtask.reward):
        raise LearningError("the reward has this term already; change its weight")
    return replace(subtask, reward=(*subtask.reward, WeightedTerm(term, weight)), source="human")


def without_goal(subtask: Subtask, index: int) -> Subtask:
    """Return the subtask without a success condition. Raises LearningError for its last one."""
    goals = list(subtask.success)
    if len(goals) == 1:
        raise LearningError("a subtask needs at least one success condition; add another one first")
    del goals[_checked(index, goals)]
    return replace(subtask, success=tuple(goals), source="human")


def with_goal(subtask: Subtask, goal: Goal) -> Subtask:
    """Return the subtask with one more success condition. Raises LearningError if it has it already."""
    if goal in subtask.success:
        raise LearningError("the subtask has this success condition already")
    return replace(subtask, success=(*subtask.success, goal), source="human")


def edited(subtasks: Sequence[Subtask], name: str, edit: Mapping[str, Any]) -> tuple[Subtask, ...]:
    """Return the subtasks after an edit of one, as a page sends it. Raises LearningError.

    {change: "weight", index, weight}, {change: "remove_term" | "remove_goal", index}, {change: "add_term", row: {term,
    args, weight}}, {change: "add_goal", row: {goal, ...}}.
    """
    found = next((one for one in subtasks if one.name == name), None)
    if found is None:
        raise LearningError(f"there is no subtask {name!r}; there are: {', '.join(one.name for one in subtasks)}")
    changed = _changed(found, edit)
    return tuple(changed if one is found else one for one in subtasks)


def _changed(subtask: Subtask, edit: Mapping[str, Any]) -> Subtask:
    try:
        match edit.get("change"):
            case "weight":
                return with_weight(subtask, int(edit["index"]), float(edit["weight"]))
            case "remove_term":
                return without_term(subtask, int(edit["index"]))
            case "remove_goal":
                return without_goal(subtask, int(edit["index"]))
            case "add_term":
                row = edit["row"]
                return with_term(subtask, term_from_json(row["term"], row["args"]), float(row.get("weight", 1.0)))
            case "add_goal":
                goal = from_json(edit["row"])
                if isinstance(goal, Goal):
                    return with_goal(subtask, goal)
    except KitError as error:
        raise LearningError(str(error)) from None
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    raise LearningError("this edit of a subtask cannot be read; reload the page")


def _checked(index: int, values: Sequence[Any]) -> int:
    if not 0 <= index < len(values):
        raise LearningError(f"there is no number {index}; there are {len(values)}")
    return index


# ---------------------------------------------------------------------- what can be added


def possible_terms(subtask: Subtask, objects: Mapping[str, Object], zones: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows {term, args, weight} of the terms that could be added, about what the subtask measures."""
    names = [name for name in subtask.objects if name in objects]
    rows, has = [], {one.term for one in subtask.reward}
    for term in _candidates(subtask, names, objects):
        with_it = replace(subtask, reward=(*subtask.reward, WeightedTerm(term)))
        if term not in has and not _unusable(with_it, objects, zones):
            rows.append({"term": term.term, "args": args_to_json(term), "weight": 1.0})
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
    kinds = reward_terms()
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
    for kind in kinds:
        if kind == "energy":
            yield term_from_json(kind, {})


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
