"""Sentences of a task's goals: written from planned goals, and read back as the same values."""

from collections.abc import Sequence
from dataclasses import replace

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


def named_objects(goals: Sequence[PlannedGoal]) -> tuple[str, ...]:
    """Return every object of the photograph that a goal names, once, in order."""
    return tuple(dict.fromkeys(name for goal in goals for name in goal.objects))
