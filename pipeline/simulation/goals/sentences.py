"""Sentences of a task's goals: written from planned goals, and read back as the same values."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipeline.simulation.goals.spec import PlannedGoal, goal_specs


def sentence(goal: PlannedGoal) -> str:
    """Return a goal in plain words; "then" in front marks a later stage."""
    forms = goal.spec.forms
    form = next(f for f in forms if (f.along, f.new_container) == (goal.along, goal.new_container))
    return f"then {form.write(goal)}" if goal.stage else form.write(goal)


def sentences(goals: Sequence[PlannedGoal]) -> tuple[str, ...]:
    """Return the sentences of goals in order; the first goal of each later stage begins with "then"."""
    first = {goal.stage: index for index, goal in reversed(list(enumerate(goals)))}
    return tuple(
        sentence(replace(goal, stage=int(bool(goal.stage) and first[goal.stage] == i))) for i, goal in enumerate(goals)
    )


def read_sentences(texts: Sequence[str]) -> tuple[PlannedGoal, ...] | None:
    """Return the goals that sentences state, or None where one has no known form. Inverse of `sentences`."""
    goals: list[PlannedGoal] = []
    stage = 0
    for text in texts:
        text = text.strip()
        if text.startswith("then "):
            stage, text = stage + 1, text[5:]
        goal = _read_sentence(text)
        if goal is None:
            return None
        goals.append(replace(goal, stage=stage))
    return tuple(goals) or None


def _read_sentence(text: str) -> PlannedGoal | None:
    readings = (form.read(spec.kind, text) for spec in goal_specs().values() for form in spec.forms)
    return next((goal for goal in readings if goal), None)


def planned_to_json(goals: Sequence[PlannedGoal]) -> list[list[dict[str, Any]]]:
    """Return goals as data, one list a stage: [[{"goal": "on", "names": ["a", "b"]}], ...]."""
    stages: list[list[dict[str, Any]]] = [[] for _ in range(1 + max((goal.stage for goal in goals), default=-1))]
    for goal in goals:
        more = {"along": goal.along, "new_container": goal.new_container, "xy": goal.xy and list(goal.xy)}
        row = {"goal": goal.kind, "names": list(goal.names)} | {key: value for key, value in more.items() if value}
        stages[goal.stage].append(row)
    return stages


def planned_from_json(stages: Any) -> tuple[PlannedGoal, ...]:
    """Inverse of `planned_to_json`; empty for what is no list of known goals."""
    try:
        goals = tuple(_goal_from_json(row, stage) for stage, rows in enumerate(stages) for row in rows)
    except (TypeError, KeyError, ValueError, AttributeError):
        return ()
    return goals if all(goal.kind in goal_specs() for goal in goals) else ()


def _goal_from_json(row: Mapping[str, Any], stage: int) -> PlannedGoal:
    x, y = row.get("xy") or (0.0, 0.0)
    along, added = str(row.get("along", "")), bool(row.get("new_container"))
    xy = (float(x), float(y)) if row.get("xy") else None
    return PlannedGoal(str(row["goal"]), tuple(map(str, row["names"])), along, added, stage, xy)


def stated_goals(data: Mapping[str, Any]) -> tuple[PlannedGoal, ...] | None:
    """Return the goals of a question's task: its data, else what its sentences state; None where these have no form."""
    return planned_from_json(data.get("planned") or ()) or read_sentences(data["task"].get("goals") or ())


def named_objects(goals: Sequence[PlannedGoal]) -> tuple[str, ...]:
    """Return every object of the photograph that a goal names, once, in order."""
    return tuple(dict.fromkeys(name for goal in goals for name in goal.objects))
